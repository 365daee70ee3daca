"""Servers whose replies hold odd fields: the run ends, those items are errors, and every page of it opens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from sqlalchemy import text

from opened import start
from proctor.engine.retry import Retry
from proctor.findings import RunResult
from proctor.references import ExamRef
from proctor.service.opening.simulate import known_answers
from proctor.settings import Settings
from proctor.simulator import spawn
from proctor.store import Store
from proctor.types import Cell, Limits, Model, Plan
from programs import csv_of_sums
from served import serving
from simulators import settings
from wire_bodies import BODIES, PATHS, odd_bodies, saying

pytestmark = pytest.mark.slow  # whole runs, and a server on what they left

AT_ONCE = Retry(most=0, first_s=0.0)
COUNTS = ("input_tokens", "output_tokens", "reasoning_tokens")


def between(bodies: Sequence[bytes], whole: bytes) -> Iterator[bytes]:
    """Each body, and a whole one after it: a run that only fails is stopped, as it should be."""
    for body in bodies:
        yield from (body, whole)
    while True:
        yield whole


def test_runs_end_whatever_the_fields_of_their_replies_hold(tmp_path, database_url):
    given = settings(tmp_path, PROCTOR_DATABASE_URL=database_url)
    results = [_asked(shape, tmp_path, given) for shape in sorted(BODIES)]
    with closing(Store.open(database_url)) as store:
        for result in results:
            stored = list(store.latest(result.run.id))
            assert {type(getattr(row, name)) for row in stored for name in COUNTS} <= {int, type(None)}
            assert all(store.payload(result.run.id, row.item_id) for row in stored)
    with serving(tmp_path, "--no-worker", PROCTOR_DATABASE_URL=database_url) as server:
        for result in results:
            for page in ("", "/results", "/diagnosis", "/report"):
                assert server.ask("GET", f"/runs/{result.run.id}{page}").status == 200, (result.run, page)


def _asked(shape: str, home: Path, given: Settings) -> RunResult:
    """A run of as many items as there are odd replies, with a whole one after each."""
    bodies = odd_bodies(shape)[::5]  # each place with another few of what is odd
    n = 2 * len(bodies)
    rows = csv_of_sums(home / f"{shape}.csv", n)
    with saying(between(bodies, orjson.dumps(BODIES[shape]))) as url:
        model = Model(shape, "m", url + PATHS.get(shape, ""))
        cell = Cell(model, ExamRef("file", str(rows), preset="full"), limits=Limits(parallel=1))
        ended = start(Plan((cell,)), given, retry=AT_ONCE)
    (result,) = ended.evaluation.results
    outcomes, errors = dict(result.tally.outcomes), result.tally.errors
    assert ended.error is None and result.run.status == "completed", result.run.error
    assert sum(outcomes.values()) == n and outcomes["error"] == errors["bad-reply"] >= n // 8
    assert result.scores[0].estimate.scored == n - outcomes["error"], "an odd reply is never scored"
    return result


@pytest.mark.parametrize("shape", sorted(BODIES))
def test_items_with_odd_replies_are_errors_and_the_others_are_scored(tmp_path, shape):
    n, home = 60, tmp_path
    rows = csv_of_sums(tmp_path / "sums.csv", n)
    given = settings(home)
    paths = {"openai": "/v1", "grok": "/xai/v1"}
    with spawn(["--odd-rate", "0.3", "--accuracy", "1"], known_answers(given, [rows])) as server:
        model = Model(shape, "sim", server.url + paths.get(shape, ""))
        cell = Cell(model, ExamRef("file", str(rows), preset="full"))
        first = start(Plan((cell,)), given, retry=AT_ONCE).evaluation.results[0]
        again = start(Plan((cell,)), given, retry=Retry(most=30, first_s=0.0)).evaluation.results[0]
    assert first.run.status == "completed" and set(first.tally.outcomes) == {"correct", "error"}
    assert first.tally.errors == {"bad-reply": first.tally.outcomes["error"]}
    assert 5 <= first.tally.outcomes["error"] <= 35
    assert first.scores[0].estimate.value == 1.0 and first.run.partial
    assert dict(again.tally.outcomes) == {"correct": n}, "asked again, an odd reply may be a good one"


def test_a_run_that_an_older_version_kept_text_for_counts_in_still_opens(tmp_path):
    """SQLite takes any value in any column; only there could it happen."""
    home = tmp_path
    rows = csv_of_sums(tmp_path / "sums.csv", 30)
    given = settings(home)
    with spawn([], known_answers(given, [rows])) as server:
        cell = Cell(Model("ollama", "sim", server.url), ExamRef("file", str(rows), preset="full"))
        run = start(Plan((cell,)), given).evaluation.results[0].run
    with closing(Store.open(given.database_url)) as store:
        with store.writing() as connection:
            connection.execute(text("UPDATE run SET summary = NULL"))
            for name in (*COUNTS, "latency_s", "cost_usd"):
                odd = f"UPDATE attempt SET {name} = 'twelve' WHERE position < 15"
                connection.execute(text(odd))
        with store.reading() as connection:
            assert "twelve" in connection.execute(text("SELECT input_tokens FROM attempt")).scalars().all()
        (first, *_) = store.latest(run.id)
        assert (first.input_tokens, first.latency_s, first.cost_usd) == (None, None, None)
    with serving(home, "--no-worker") as server:
        pages = [
            "",
            "?tab=timeline",
            "?tab=config",
            "/results",
            f"/items/{first.item_id}",
            "/report",
            "/live",
        ]
        for page in pages:
            assert server.ask("GET", f"/runs/{run.id}{page}").status == 200, page
        for page in ("/", "/runs", "/leaderboard", f"/api/v1/benchmarking/results/{run.id}"):
            assert server.ask("GET", page).status == 200, page
