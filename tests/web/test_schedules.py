"""The dashboard's schedules: what they say after a night that went wrong."""

from __future__ import annotations

import json
import time
from contextlib import closing
from pathlib import Path

import pytest

from pages import Browser
from proctor.service import schedules
from proctor.service.access import deeds
from proctor.settings import read_settings
from proctor.store import Store, queue
from proctor.store.endings import Verdict, end
from proctor.types import Status
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


def test_a_schedule_says_what_became_of_its_last_run_and_the_audit_trail_names_it(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, "--no-worker") as server:
        look_at_a_night(Browser(server.url), tmp_path)


def look_at_a_night(browser: Browser, home: Path) -> None:
    assert browser.post("/schedules", **NIGHTLY).status == 303
    with closing(Store.open(f"sqlite:///{home / 'proctor.db'}")) as store:
        (kept,) = schedules.listed(store)
        assert kept.cell.model.base_url == "http://127.0.0.1:9/v1"
        schedules.submit_due(store, read_settings({"PROCTOR_HOME": str(home)}), now=kept.next_at)
        run = schedules.last_run(store, schedules.one(store, kept.id))
        assert run is not None and "pending" in browser.get("/schedules").words
        taken = queue.take_next(store, owner="me", now=time.time(), lease_s=60.0, most_running=3)
        assert taken is not None and taken.id == run.id
        lost = Verdict(Status.FAILED, error="nobody answers at that address", error_slug="endpoint-not-found")
        assert end(store, run.id, lost, owner="me", now=time.time())
        page = browser.get("/schedules")
        assert "failed" in page.words and "nobody answers at that address" in page.words
        (told,) = json.loads(browser.get("/api/v1/schedules").text)["schedules"]
        assert (told["last_status"], told["last_error"]) == ("failed", "nobody answers at that address")
        told_to = browser.get(f"/runs/{run.id}").words
        assert "start the server. Then press Restart." in told_to and "proctor resume" not in told_to
        assert browser.post(f"/schedules/{kept.id}/delete").status == 303
        said = {deed.action: deed.detail for deed in reversed(deeds(store))}
        assert (said["create-schedule"], said["delete-schedule"]) == ("nightly: 0 2 * * *", "nightly")
