"""A model's name means all its complete runs of one cell, and a run's id that run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from bundles import answers, replayed, rows
from opened import compare_named
from proctor.findings import Evaluation
from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.looks.pooled import reruns
from simulators import settings

N = 60


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """60 rows of the user's own."""
    rows(tmp_path, N)
    return tmp_path


def asked(home: Path, name: str, wrong: range, lost: int = 0) -> str:
    """A run of a model that is wrong on these items and has no reply to the last `lost`."""
    said: list[str | None] = list(answers(N, wrong=wrong))
    if lost:
        said[-lost:] = [None] * lost
    return replayed(home, ExamRef("file", str(home / "ways.jsonl")), said, name)


def compared(home: Path, *names: str) -> Evaluation:
    return compare_named(list(names), settings(home)).evaluation


@pytest.mark.promise("X-07")
def test_a_name_is_the_mean_of_all_complete_runs_and_an_id_is_one(home: Path) -> None:
    other = asked(home, "beta", range(12))
    first, lucky = asked(home, "alpha", range(30)), asked(home, "alpha", range(0))
    asked(home, "alpha", range(10), lost=5)
    found = compared(home, "alpha", "beta")
    mine, theirs = found.compared
    assert found.results[0].run.id == lucky, "the newest complete one stands for them"
    assert found.results[0].run.cell.repeats == 2
    assert mine.estimate.value == pytest.approx((0.5 + 1) / 2) and theirs.estimate.value == pytest.approx(0.8)
    (pair,) = found.comparisons
    assert pair.whole.first == pytest.approx(0.75) and pair.whole.shared == N
    assert pair.verdict != "first better"
    alone = compared(home, lucky, other)
    assert alone.comparisons[0].verdict == "first better" and alone.comparisons[0].whole.first == 1.0
    assert compared(home, lucky, first).comparisons[0].whole.second == pytest.approx(0.5)


def test_a_run_that_is_named_itself_counts_for_nobody_else(home: Path) -> None:
    first, _ = asked(home, "alpha", range(30)), asked(home, "alpha", range(0))
    found = compared(home, "alpha", first)
    assert [score.estimate.value for score in found.compared] == [1.0, pytest.approx(0.5)]


def test_seeds_are_tries_of_one_cell_and_temperatures_are_others(home: Path) -> None:
    ids = [asked(home, "alpha", range(wrong)) for wrong in (3, 6)]
    with open_store(settings(home)) as store:
        run = store.run(ids[0])
        assert [other.id for other in reruns(store, run)] == ids[::-1]
        cell = replace(run.cell, sampling=replace(run.cell.sampling, seed=7))
        assert len(reruns(store, replace(run, cell=cell))) == 2
        cell = replace(run.cell, sampling=replace(run.cell.sampling, temperature=0.7))
        assert not reruns(store, replace(run, cell=cell))


def test_equal_runs_pooled_are_what_each_is(home: Path) -> None:
    asked(home, "beta", range(25))
    asked(home, "alpha", range(10, 20))
    once = compared(home, "alpha", "beta").comparisons[0].whole
    for _ in range(2):
        asked(home, "alpha", range(10, 20))
    thrice = compared(home, "alpha", "beta").comparisons[0].whole
    assert (thrice.first, thrice.second, thrice.shared) == (once.first, once.second, once.shared)
    assert thrice.verdict == once.verdict
