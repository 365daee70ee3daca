"""What a run looks like as a whole, checked against numpy; and its pulse while a real run is at work."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from opened import over
from proctor.manifest import UNOPENED
from proctor.references import ExamRef
from proctor.service.results.profile import Profile, profile_of, summary_of
from proctor.stats.descriptive.histograms import BINS, GRADES
from proctor.store import AttemptWriter, Store
from proctor.store.core import scores
from proctor.store.core.scores import Figures
from proctor.store.write import throughput
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Failure,
    Gold,
    Grade,
    Item,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
)
from programs import csv_of_sums, proctor_json
from simulators import simulator

pytestmark = pytest.mark.slow


def ended(store: Store, attempts: Sequence[Attempt]) -> Run:
    cell = Cell(Model("openai", "m"), ExamRef("suite", "glue"))
    plan = store.add_plan(Plan((cell,)), now=1.0)
    run = store.add_run(
        plan, cell, source_title="GLUE", planned=len(attempts), manifest=UNOPENED, comparability=None,
        sample=False, now=1.0,
    )  # fmt: skip
    store.claim(run.id, owner="me", now=time.time(), lease_s=600)
    with AttemptWriter(store, run.id, owner="me") as writer:
        for attempt in attempts:
            writer.keep(attempt)
    return store.finish(run.id, Status.COMPLETED, owner="me", now=time.time(), elapsed_s=1.0)


def attempt(
    place: int, *, latency_s: float | None = None, score: float | None = 1.0, task: str = "q"
) -> Attempt:
    item = Item(f"{task}/{place}", task, Chat(), Gold("A"), hash=f"{place:032x}")
    reading = Grade(Outcome.CORRECT if score == 1.0 else Outcome.ANSWERED, score, "A", 1)
    return Attempt(item, place, 0, 0, 1.0, reading, Reply("A", latency_s=latency_s, input_tokens=3))


def profile(store: Store, attempts: Sequence[Attempt]) -> Profile:
    """As the page has it, after it was kept and read back."""
    run = ended(store, attempts)
    counted = profile_of(over(store), run)
    with store.writing() as connection:
        figures = Figures((), summary_of(store, run, store.tally(run.id)))
        scores.put(connection, store.number(run.id), figures)
    assert profile_of(over(store), run) == counted
    return counted


DRAWN = random.Random(1)
LATENCIES = {
    "lognormal": [DRAWN.lognormvariate(-1.0, 1.2) for _ in range(500)],
    "zero among them": [0.0, 0.5, 1.0, 100.0],
    "far apart": [1e-4, 600.0],
}


@pytest.mark.parametrize("kind", LATENCIES)
def test_latencies_are_numpys(store: Store, kind: str) -> None:
    values = LATENCIES[kind]
    found = profile(store, [attempt(n, latency_s=value) for n, value in enumerate(values)])
    wanted = np.quantile(values, [0.5, 0.95, 0.99])
    assert [found.quantiles[name] for name in ("p50", "p95", "p99")] == pytest.approx(list(wanted))
    assert found.latency is not None
    edges, counts = found.latency.edges, found.latency.counts
    assert (len(edges), len(counts)) == (BINS + 1, BINS)
    assert sum(counts) == len(values), "every value is in a bin"
    assert list(edges) == sorted(set(edges))
    assert edges[0] <= max(min(values), 1e-6)
    assert edges[-1] >= max(values)
    assert list(counts) == np.histogram(np.maximum(values, 1e-6), edges)[0].tolist()


@pytest.mark.parametrize("values", [[0.25] * 50, [3.0], [1.0, 1.005]], ids=["all alike", "one", "nearly"])
def test_latencies_that_are_as_good_as_one_have_one_bin(store: Store, values: list[float]) -> None:
    found = profile(store, [attempt(n, latency_s=value) for n, value in enumerate(values)])
    assert found.latency is not None
    assert (found.latency.edges, found.latency.counts) == ((min(values), max(values)), (len(values),))


def test_grades_between_right_and_wrong_are_numpys(store: Store) -> None:
    grades = [DRAWN.random() for _ in range(300)] + [0.0, 1.0]
    found = profile(store, [attempt(n, score=grade) for n, grade in enumerate(grades)]).grades
    assert found is not None
    counts, edges = np.histogram(grades, bins=GRADES, range=(0.0, 1.0))
    assert list(found.counts) == counts.tolist()
    assert list(found.edges) == pytest.approx(edges.tolist())


def test_grades_below_nothing_have_their_bins_too(store: Store) -> None:
    found = profile(store, [attempt(n, score=grade) for n, grade in enumerate((-0.5, 0.25, 1.0))]).grades
    assert found is not None
    assert sum(found.counts) == 3
    assert found.edges[0] == -0.5


def test_rights_and_wrongs_draw_no_grades(store: Store) -> None:
    found = profile(store, [attempt(n, score=float(n % 2)) for n in range(10)])
    assert found.grades is None
    assert found.latency is None
    assert found.quantiles == {}


def test_outcomes_are_counted_task_by_task_and_failures_measure_nothing(store: Store) -> None:
    lost = Attempt(
        Item("r/9", "r", Chat(), Gold("A"), hash="9" * 32), 9, 0, 0, 1.0, Grade(Outcome.ERROR, None),
        failure=Failure("network", "gone"),
    )  # fmt: skip
    found = profile(store, [attempt(0), attempt(1, score=0.5), attempt(2, task="r", latency_s=1.0), lost])
    assert found.tasks == {"q": {"correct": 1, "answered": 1}, "r": {"correct": 1, "error": 1}}
    assert found.quantiles == {"p50": 1.0, "p95": 1.0, "p99": 1.0}
    assert (found.input_tokens, found.output_tokens) == (9, None)


def test_a_run_without_rows_has_an_empty_profile(store: Store) -> None:
    assert profile(store, []) == Profile(tasks={})


# --- the pulse of a real run: 40 items, a fifth of a second and more each, two at a time


def asked(home: Path, n: int) -> Run:
    """A run of the command line against a slow simulator."""
    questions = csv_of_sums(home / "sums.csv", n)
    with simulator([], "--latency", "0.25", "--sigma", "0") as server:
        told = proctor_json(
            home, "run", str(questions), "--model", "openai/sim", "--base-url", f"{server.url}/v1", "--parallel", "2"
        )  # fmt: skip
    store = Store.open(f"sqlite:///{home / 'proctor.db'}")
    try:
        (run,) = store.runs()
    finally:
        store.close()
    assert told
    return run


@pytest.mark.slow
def test_a_run_at_work_leaves_its_pulse(tmp_path: Path) -> None:
    run = asked(tmp_path, 40)
    with closing(Store.open(f"sqlite:///{tmp_path / 'proctor.db'}")) as store:
        beats = throughput.of_run(store, run.id)
    assert len(beats) >= 2
    done = [beat.done for beat in beats]
    assert done == sorted(done)
    assert 0 < done[-1] <= run.planned == 40
    assert all(0 <= beat.in_flight <= 2 for beat in beats)
    assert any(beat.in_flight for beat in beats)
    assert 0 < beats[-1].items_per_s < 8.5  # two at a time, a quarter of a second each
    assert (beats[-1].errors, beats[-1].retries) == (0, 0)
    assert run.started_at is not None
    assert run.finished_at is not None
    assert all(run.started_at <= beat.at <= run.finished_at for beat in beats)


@pytest.mark.slow
def test_a_pulse_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    """The table is gone, as it would be with a full disk: the answers are worth more than the picture of their pace."""
    path = tmp_path / "proctor.db"
    Store.open(f"sqlite:///{path}").close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE pulse")
    run = asked(tmp_path, 24)
    assert (run.status, run.settled, run.error) == (Status.COMPLETED, 24, None)
