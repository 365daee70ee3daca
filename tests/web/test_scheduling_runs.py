"""A run that comes again as it is: from its page to a schedule, whatever it asks; and why some cannot."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from opened import over
from pages import Browser
from proctor.service.runs import schedules
from proctor.service.watch import job_states
from proctor.store import Store
from request_files import lines
from served import Server, serving
from uploads import csv_of, upload

if TYPE_CHECKING:
    from seeded_site import Site

pytestmark = pytest.mark.slow

NIGHTLY = {"name": "again", "every": "weekdays", "at": "06:30"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home, PROCTOR_REQUESTS_PER_MINUTE="100000") as running:
        yield running


def scheduled(server: Server, home: Path, run: str) -> tuple[Any, Any]:
    """The schedule that is made of a run, and the run that it makes when it is started by hand, ended."""
    browser = Browser(server.url)
    form = browser.get(f"/schedules/new?like={run}")
    assert form.status == 200 and "all those of run" in form.words
    (name,) = re.findall(r'id="f-name"[^>]*value="([^"]+)"', form.markup)
    made = browser.post("/schedules", **{**NIGHTLY, "name": name, "like": run})
    assert made.status == 303, made.words[:1000]
    page = browser.get("/schedules")
    assert "Monday to Friday at 06:30" in page.words and "30 6 * * 1-5" in page.words
    number = int(re.findall(r"/schedules/(\d+)/run", page.text)[-1])
    now = browser.post(f"/schedules/{number}/run")
    assert now.status == 303
    began = now.headers["Location"].rpartition("/")[2]
    state = server.ended(began)
    assert state["status"] == "completed", state
    with closing(Store.open(f"sqlite:///{home / 'proctor.db'}")) as store:
        kept = schedules.one(over(store), number)
        assert kept.last_run_id == began and kept.next_at > time.time()
        return kept, job_states.run_of(over(store), began)


def test_an_exam_comes_again_with_all_its_settings(server: Server, home: Path) -> None:
    run = server.submit(
        "simulator",
        "sim",
        suite="superglue",
        data="sample",
        tasks=["rte", "copa"],
        temperature=0.3,
        repeats=2,
        seed=7,
    )
    assert server.ended(run)["status"] == "completed"
    kept, again = scheduled(server, home, run)
    with closing(Store.open(f"sqlite:///{home / 'proctor.db'}")) as store:
        first = job_states.run_of(over(store), run)
    assert kept.cell == first.cell, "what is kept is the run's own cell"
    assert (again.cell.sampling, again.cell.repeats) == (first.cell.sampling, 2)
    assert again.exam == first.exam and again.comparability == first.comparability
    assert "superglue: rte, copa" in Browser(server.url).get("/schedules").words


def test_questions_of_ones_own_come_again(server: Server, home: Path) -> None:
    made = upload(server, ("sums.csv", csv_of(6)), name="sums").body
    run = server.submit("simulator", "sim", suite="sums", data=None)
    assert server.ended(run)["status"] == "completed"
    kept, again = scheduled(server, home, run)
    assert kept.cell.source.content and again.cell.source.content == kept.cell.source.content, made


def test_a_batch_comes_again(server: Server, home: Path) -> None:
    made = upload(server, ("asked.jsonl", lines(4)), at="/admin/datasets/upload")
    assert made.status in (200, 201), made.body
    asked = {"model_id": "simulator/sim", "dataset_id": made.body.get("dataset_id", made.body.get("id"))}
    begun = server.ask("POST", "/admin/benchmarks/run", asked)
    assert begun.status < 300, begun.body
    run = str(begun.body.get("benchmark_id", begun.body.get("id"))).removeprefix("bm_")
    assert server.ended(run)["status"] == "completed"
    kept, again = scheduled(server, home, run)
    assert again.planned == 4 and kept.cell.source.out is None


@pytest.mark.parametrize(
    ("which", "says"),
    [
        ("judged", "a server opens no files by their paths"),
        ("batch", "a server opens no files by their paths"),
        ("best", None),
    ],
)
def test_what_the_seeded_runs_say(site: Site, which: str, says: str | None) -> None:
    run = getattr(site.demo, which)
    page = Browser(site.url).get(f"/schedules/new?like={run}")
    assert page.status == 200
    assert ("cannot be scheduled" in page.words) is (says is not None), page.words[:800]
    assert says is None or says in page.words
    made = Browser(site.url).post("/schedules", **{**NIGHTLY, "like": run})
    assert made.status == (303 if says is None else 400)


def test_a_judging_is_refused_in_words(site: Site) -> None:
    with closing(Store.open(f"sqlite:///{site.demo.home / 'proctor.db'}")) as store:
        (run,) = [each.id for each in store.runs(limit=None) if each.cell.model.name == "judge-95"][:1]
    page = Browser(site.url).get(f"/schedules/new?like={run}")
    assert "cannot be scheduled" in page.words and "grade the very same replies" in page.words
    refused = Browser(site.url).post("/schedules", **{**NIGHTLY, "like": run})
    assert refused.status == 400 and "cannot be scheduled" in refused.words


def test_a_run_that_is_not_there_is_none(site: Site) -> None:
    assert Browser(site.url).get("/schedules/new?like=00000000-0000-0000-0000-000000000000").status == 404
    short = Browser(site.url).get(f"/schedules/new?like={site.demo.best[:8]}")
    assert (short.status, short.headers["Location"]) == (303, f"/schedules/new?like={site.demo.best}")
