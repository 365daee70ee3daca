"""The dashboard's schedules: made, switched, deleted and refused, and what they say after a bad night."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from opened import over
from pages import Browser
from proctor.service.admin.access import deeds
from proctor.service.runs import schedules
from proctor.settings import read_settings
from proctor.store import Store
from proctor.store.queue import taking
from proctor.store.queue.endings import Verdict, end
from proctor.store.write.throughput import Progress
from proctor.types import Status
from proctor.web.runs.run import _beats_chart
from served import serving

pytestmark = pytest.mark.slow

NIGHTLY = {
    "name": "nightly",
    "cron": "0 2 * * *",
    "provider": "openai",
    "model": "mine",
    "base_url": "http://127.0.0.1:9/v1",
    "suite": "glue",
    "preset": "quick",
    "rows": "sample",
}


SIMULATED = {"provider": "simulator", "model": "sim", "base_url": "", "project": "1"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with serving(tmp_path_factory.mktemp("home"), "--no-worker") as server:
        yield Browser(server.url)


def test_a_schedule_is_made_switched_and_deleted(browser: Browser) -> None:
    made = browser.post("/schedules", **{**NIGHTLY, **SIMULATED})
    assert (made.status, made.headers["Location"]) == (303, "/schedules")
    page = browser.get("/schedules")
    assert "simulator/sim" in page.words and "glue, quick, sample rows" in page.words
    assert " 02:00" in page.words
    (number,) = re.findall(r"/schedules/(\d+)/switch", page.text)
    assert browser.post(f"/schedules/{number}/switch", enabled="off").status == 303
    off = browser.get("/schedules")
    assert "Switch on" in off.words and "switched off" in off.words
    assert "<time" in page.text and "<time" not in off.text, "a schedule that is off has no next time"
    assert browser.post(f"/schedules/{number}/switch", enabled="on").status == 303
    assert "Switch off" in browser.get("/schedules").words
    assert f'action="/schedules/{number}/delete" data-confirm=' in off.markup
    assert browser.post(f"/schedules/{number}/delete").status == 303
    assert "No schedules yet" in browser.get("/schedules").words
    assert browser.post(f"/schedules/{number}/delete").status == 404


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"cron": "at two"}, "cron"),
        ({"model": " "}, "config.model"),
        ({"provider": "nobody"}, "nobody"),
        ({"provider": "replay"}, "--replies FILE"),
        ({"suite": "unknown"}, "Invalid benchmark suite"),
        ({"preset": "huge"}, "config.preset"),
        ({"rows": "made-up"}, "config.data"),
        ({"name": " "}, "needs a name"),
        ({"project": "x"}, "project_id"),
        ({"project": "999"}, "999"),
    ],
)
def test_a_schedule_that_cannot_be_is_refused(browser: Browser, change: dict[str, str], says: str) -> None:
    page = browser.post("/schedules", **{**NIGHTLY, **SIMULATED, **change})
    assert page.status in (400, 404) and says in page.words
    assert "nightly" not in browser.get("/schedules").words


def test_a_schedule_says_what_became_of_its_last_run_and_the_audit_trail_names_it(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, "--no-worker") as server:
        look_at_a_night(Browser(server.url), tmp_path)


def test_the_lines_of_a_timeline_break_where_no_process_was_at_work() -> None:
    first = Progress(1000.0, 30, 4, 2.5, 10.0, 0, 0)
    died = [first, replace(first, at=1002.0), replace(first, at=1064.0), replace(first, at=1066.0)]
    anew = [replace(first, retries=9), replace(first, at=1010.0, retries=2)]
    for beats, where in ((died, 2), (anew, 1), ([first, replace(first, at=1002.0)], None)):
        for line in _beats_chart(beats)["series"]:
            values = [value for _at, value in line["points"]]
            assert (values.index(None) if None in values else None) == where


def look_at_a_night(browser: Browser, home: Path) -> None:
    assert browser.post("/schedules", **NIGHTLY).status == 303
    with closing(Store.open(f"sqlite:///{home / 'proctor.db'}")) as store:
        (kept,) = schedules.all_schedules(over(store))
        assert kept.cell.model.base_url == "http://127.0.0.1:9/v1"
        schedules.submit_due(over(store, read_settings({"PROCTOR_HOME": str(home)})), now=kept.next_at)
        run = schedules.last_run(over(store), schedules.one(over(store), kept.id))
        assert run is not None and "pending" in browser.get("/schedules").words
        taken = taking.take_next(store, owner="me", now=time.time(), lease_s=60.0, most_running=3)
        assert taken is not None and taken.id == run.id
        later = Verdict(Status.PENDING, error="nobody answers", run_after=time.time() + 60.0)
        assert end(store, run.id, later, owner="me", now=time.time())
        assert "UTC, try 2 of 3: nobody answers" in browser.get("/schedules").words
        again = time.time() + 120.0
        assert taking.take_next(store, owner="me", now=again, lease_s=60.0, most_running=3) is not None
        lost = Verdict(Status.FAILED, error="nobody answers at that address", error_slug="endpoint-not-found")
        assert end(store, run.id, lost, owner="me", now=time.time())
        page = browser.get("/schedules")
        assert "failed" in page.words and "nobody answers at that address" in page.words
        (told,) = json.loads(browser.get("/api/v1/schedules").text)["schedules"]
        assert (told["last_status"], told["last_error"]) == ("failed", "nobody answers at that address")
        told_to = browser.get(f"/runs/{run.id}").words
        assert "2 tries, of which the log tells" in told_to
        assert "start the server." in told_to and "Restart" in told_to and "proctor resume" not in told_to
        assert browser.post(f"/runs/{run.id}/delete").status == 303
        assert schedules.one(over(store), kept.id).last_run_id is None, "no link to what is gone"
        assert browser.post(f"/schedules/{kept.id}/delete").status == 303
        said = {deed.action: deed.detail for deed in reversed(deeds(over(store)))}
        assert (said["create-schedule"], said["delete-schedule"]) == ("nightly: 0 2 * * *", "nightly")
