"""Figures over many runs: by hand on a few, by simulation where an interval is claimed; and the same item elsewhere."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from proctor.errors import NotFound
from proctor.findings import Estimate, Score
from proctor.manifest import UNOPENED
from proctor.references import ExamRef
from proctor.service.context import Context
from proctor.service.watch import overview
from proctor.service.watch.item import AnswerAsked, answer
from proctor.service.watch.job_states import RunFilter, RunLine
from proctor.service.watch.overview import Measured, Searched, Shown, cards
from proctor.stats.intervals import Z95, wilson
from proctor.store import AttemptWriter, Store
from proctor.types import (
    Attempt,
    Cell,
    Chat,
    Gold,
    Grade,
    Item,
    Message,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
)
from simulators import settings

NOW = time.time()


@pytest.fixture
def context(store: Store, tmp_path: Path) -> Context:
    return Context(settings(tmp_path), store)


def one(value: float, stderr: float | None, model: str = "m", finished_at: float = 1.0) -> Measured:
    line = RunLine("r", "completed", "p", model, "s", 1.0, finished_at, 1, 1, 1, None, False, None, None)
    half = None if stderr is None else Z95 * stderr
    ends = (None, None) if half is None else (value - half, value + half)
    return Measured(line, Shown("accuracy", value, *ends, 10, 10))


# --- the interval of the average


def test_the_interval_is_of_errors_that_go_together_wholly() -> None:
    found = cards([one(0.5, 0.02), one(0.7, 0.04), one(0.9, 0.03)], {"completed": 3})
    assert found.average == pytest.approx(0.7)
    assert found.low == pytest.approx(0.7 - Z95 * 0.03)
    assert found.high == pytest.approx(0.7 + Z95 * 0.03)


def test_it_is_not_told_where_a_run_has_no_interval() -> None:
    lacking = cards([one(0.5, 0.02), one(0.7, None)], {})
    assert (lacking.low, lacking.high) == (None, None)
    nothing = cards([], {})
    assert (nothing.average, nothing.low, nothing.latest, nothing.models) == (None, None, None, 0)


def test_the_average_of_nearly_perfect_runs_does_not_reach_above_one() -> None:
    line = one(1.0, None).run
    runs = [Measured(line, Shown("accuracy", 0.98, *wilson(0.98, 50), 50, 50)) for _ in range(3)]
    found = cards(runs, {"completed": 3})
    assert found.high is not None
    assert 0.98 < found.high < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("sizes", [(100, 100, 100, 100), (25, 100, 400)])
def test_no_dependence_between_runs_makes_it_too_narrow(shared: float, sizes: Sequence[int]) -> None:
    """Runs of models that are right on the same items: `shared` of the variance is the items', the rest their own.

    The interval misses the truth in at most 5 % of 2,000 draws, and 3 standard errors of that count more; with
    independent runs hardly ever, which is what conservative means.
    """
    rng = np.random.default_rng(20)
    draws, truth = 2000, 0.6
    bound = _normal_point(truth)
    missed = 0
    for _ in range(draws):
        items = rng.standard_normal(max(sizes))
        runs = []
        for size in sizes:
            own = rng.standard_normal(size)
            right = math.sqrt(shared) * items[:size] + math.sqrt(1 - shared) * own < bound
            value = float(right.mean())
            runs.append(one(value, math.sqrt(value * (1 - value) / size)))
        found = cards(runs, {})
        assert found.average is not None
        assert found.low is not None
        assert found.high is not None
        missed += not found.low <= truth <= found.high
    allowed = (
        0.05 + 3 * math.sqrt(0.05 * 0.95 / draws) + 0.01
    )  # one part in a hundred for the normal approximation
    assert missed / draws <= allowed
    if shared == 0.0:
        assert missed / draws < 0.02


def test_as_though_independent_it_would_be_too_narrow() -> None:
    """The simulation can fail: with the width of independent errors, dependent runs miss far more often."""
    rng = np.random.default_rng(21)
    missed = 0
    for _ in range(1000):
        value = float((rng.standard_normal(100) < _normal_point(0.6)).mean())
        stderr = math.sqrt(value * (1 - value) / 100)
        runs = [one(value, stderr) for _ in range(4)]  # four models that know the same
        found = cards(runs, {})
        assert found.average is not None
        missed += abs(found.average - 0.6) > Z95 * stderr / math.sqrt(4)
    assert missed / 1000 > 0.2


def _normal_point(share: float) -> float:
    """Below it lies that share of the standard normal distribution."""
    low, high = -5.0, 5.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle / math.sqrt(2)) < 2 * share - 1 else (low, middle)
    return low


# --- over the store


def added(store: Store, model: str = "m", source: str = "glue", **given: Any) -> Run:
    """A run of one answered item that has ended; `created` is days ago, `words` what the item asks."""
    cell = Cell(Model("p", model), ExamRef("suite", source))
    plan = store.add_plan(Plan((cell,)), now=1.0)
    created = NOW - 86400.0 * given.get("created", 1)
    run = store.add_run(
        plan, cell, source_title="GLUE", planned=given.get("planned", 1), manifest=UNOPENED, comparability=None,
        sample=given.get("sample", False), now=created, exam=given.get("exam"),
    )  # fmt: skip
    store.claim(run.id, owner="me", now=time.time(), lease_s=600)
    item = Item(
        "q/1", "q", Chat((Message("user", given.get("words", "?")),)), Gold("A"), hash=given.get("hash", "h")
    )
    with AttemptWriter(store, run.id, owner="me") as writer:
        reading = Grade(Outcome.CORRECT, 1.0, "A", 1)
        for tries in range(given.get("tries", 1)):
            writer.keep(Attempt(item, 0, 0, tries, 1.0, reading, Reply("A")))
    ended = store.finish(
        run.id, given.get("status", Status.COMPLETED), owner="me", now=created + 60, elapsed_s=1.0
    )
    value = given.get("value", 0.5)
    store.put_scores(run.id, [Score("q", "Q", "accuracy", Estimate(value, 0.02, 0.0, 1.0, 50, 50, "x"))])
    return ended


def look(context: Context, **given: Any) -> overview.Overview:
    return overview.overview(context, **{"source": None, "metric": "accuracy", "days": 30, **given})


def test_overview_is_of_the_days_the_source_and_complete_runs(context: Context) -> None:
    store = context.store
    first = added(store, "a", value=0.4, created=5)
    second = added(store, "b", value=0.8, created=2)
    partial = added(store, "c", value=0.0, planned=2, created=3)
    broken = added(store, "d", value=0.0, status=Status.FAILED)
    added(store, "e", source="medqa", value=1.0, created=1)
    added(store, "f", value=0.1, created=40)
    found = look(context, source="glue")
    assert [each.run.id for each in found.trend] == [first.id, second.id]
    assert found.cards.average == pytest.approx(0.6)
    assert (found.cards.low, found.cards.high) == (0.0, 1.0)  # each run's own
    assert (len(found.cards.of), found.cards.models) == (2, 2)
    assert found.cards.exams == "accuracy; glue, 1 items: 2 complete runs of 2 models"
    assert found.cards.counts == {"completed": 2, "partial": 1, "failed": 1}
    assert found.cards.latest is not None
    assert found.cards.latest.id == second.id
    assert {line.id for line in found.recent} == {first.id, second.id, partial.id, broken.id}
    assert found.figures[first.id]["accuracy"] == ("accuracy", pytest.approx(0.4), 0.0, 1.0, 50, 50)
    assert found.figures[partial.id]["score"].value == 0.0, "its own score, which is in no mean"
    assert len(look(context, source="glue", days=90).cards.of) == 3
    assert look(context, metric="f1").cards.average is None
    assert look(context, project_id=2).cards.counts == {}


def test_an_average_is_of_one_exam(context: Context) -> None:
    """Of all suites, of runs of other sizes, and of sample rows beside official ones, there is no one number."""
    store = context.store
    added(store, "a", value=0.9, exam="full", created=6)
    added(store, "b", value=0.1, exam="quick", created=5)
    added(store, "a", value=0.5, exam="full", created=4)
    added(store, "c", source="medqa", value=0.2, exam="other", created=7)
    added(store, "a", value=0.0, exam="demo", sample=True, created=1)
    found = look(context)
    assert [each.score.value for each in found.cards.of] == [0.9, 0.5]
    assert found.cards.average == pytest.approx(0.7)
    assert found.cards.models == 3
    assert overview.latest_source(context) == "glue"


def test_sample_rows_among_the_runs_are_told(context: Context) -> None:
    added(context.store)
    assert not look(context).sample
    added(context.store, sample=True)
    assert look(context).sample


def test_the_latest_source_is_that_of_the_newest_run(context: Context) -> None:
    assert overview.latest_source(context) is None
    added(context.store, source="medqa", created=1)
    added(context.store, source="glue", created=3)
    assert overview.latest_source(context) == "medqa"
    added(context.store, source="demo", created=0, sample=True)
    assert overview.latest_source(context) == "medqa", "not that of a demo"


def test_the_rate_is_of_the_runs_that_have_ended(context: Context) -> None:
    assert overview.rates(context, Searched()) == ({}, None)
    for status in (Status.COMPLETED, Status.COMPLETED, Status.FAILED, Status.CANCELLED, Status.PENDING):
        added(context.store, status=status)
    counts, share = overview.rates(context, Searched(RunFilter()))
    assert counts == {"completed": 2, "failed": 1, "cancelled": 1, "pending": 1}
    assert share == pytest.approx(0.5)


# --- one answer


def test_elsewhere_is_the_same_item_with_the_same_words(context: Context) -> None:
    store = context.store
    here = added(store, "a", hash="one", words="How many?", tries=2)
    same = added(store, "b", hash="one", words="How many?", tries=3)
    added(store, "c", hash="two", words="How many are there?")
    added(store, "d", source="medqa", hash="one", words="How many?")
    found = answer(context, here, AnswerAsked("q/1"))
    assert [(each.run.id, each.row.attempt) for each in found.elsewhere] == [(same.id, 2)]
    assert found.item.ask.messages[0].content == "How many?"
    assert [row.attempt for row in found.attempts] == [1, 0]
    assert (found.row.attempt, found.before, found.after) == (1, None, None)
    assert answer(context, here, AnswerAsked("q/1", attempt=0)).row.attempt == 0
    for wrong in (AnswerAsked("q/2"), AnswerAsked("q/1", 1), AnswerAsked("q/1", attempt=7)):
        with pytest.raises(NotFound, match="no answer to item"):
            answer(context, here, wrong)
