"""Comparisons of kept runs that were asked side by side: the plan decides, whichever of its runs are compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from bundles import answers, replayed, rows
from opened import compare_named, start
from proctor.findings import Evaluation
from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.deciding import decision_of
from proctor.types import Cell, Limits, Model, Plan
from simulators import settings

N = 240


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows, and a file of right replies."""
    folder = tmp_path_factory.mktemp("abreast")
    rows(folder, N)
    replayed(folder, source(folder), answers(N), "right")  # a model that is complete, and always right
    return folder


def source(home: Path) -> ExamRef:
    return ExamRef("file", str(home / "ways.jsonl"))


@pytest.fixture(scope="module")
def plan(home: Path) -> Evaluation:
    """One model that is right, and two that know nothing, asked until it is decided."""
    limits = Limits(until_decided=True)
    models = (Model("replay", "right"), Model("baseline", "random"), Model("baseline", "majority"))
    cells = tuple(Cell(model, source(home), limits=limits) for model in models)
    found = start(Plan(cells, replies=str(home / "right.jsonl")), settings(home)).evaluation
    assert found is not None
    return found


def test_a_plan_is_decided_by_its_kept_rows_and_every_reader_comes_to_the_same(
    home: Path, plan: Evaluation
) -> None:
    runs = {result.run.cell.model.name: result.run for result in plan.results}
    decision = plan.decision
    assert decision is not None and decision.over
    right, random, majority = (runs[name].id for name in ("right", "random", "majority"))
    assert decision.paths[right, random].ended == decision.paths[right, majority].ended == "decided"
    with open_store(settings(home)) as store:
        assert decision_of(store, store.plan_runs(plan.plan_id)) == decision
    pairs = {(pair.first.id, pair.second.id): pair.whole for pair in plan.comparisons}
    assert pairs[right, random].verdict == "first better"
    assert pairs[right, random].shared == decision.paths[right, random].items < N
    assert "stopped as decided" in plan.verdict


def test_some_of_a_plan_are_compared_within_the_family_of_all_of_it(home: Path, plan: Evaluation) -> None:
    """Two of three models have no easier test than all three had, and no other model here makes it harder."""
    runs = {result.run.cell.model.name: result.run for result in plan.results}
    names = [runs["majority"].id, runs["right"].id]  # the other way round than they were asked
    found = compare_named(names, settings(home)).evaluation
    (pair,) = found.comparisons
    asked = next(each for each in plan.comparisons if {each.first.id, each.second.id} == set(names))
    assert found.decision == plan.decision and pair.verdict == "second better"
    assert pair.whole.comparisons == asked.whole.comparisons == 3
    assert pair.whole.adjusted_p == asked.whole.adjusted_p
    assert pair.whole.estimate.value == pytest.approx(-(asked.whole.estimate.value or 0))
    assert pair.whole.path is not None and asked.whole.path is not None
    assert pair.whole.path.items == asked.whole.path.items


def test_a_run_that_was_decided_is_compared_with_a_complete_one_by_their_path(
    home: Path, plan: Evaluation
) -> None:
    runs = {result.run.cell.model.name: result.run for result in plan.results}
    with open_store(settings(home)) as store:
        whole = next(run for run in store.runs(limit=None) if not run.cell.limits.until_decided)
    found = compare_named([whole.id, runs["random"].id], settings(home)).evaluation
    (pair,) = found.comparisons
    assert found.decision is None and pair.verdict == "first better"
    assert pair.whole.path is not None and pair.whole.path.of == N > pair.whole.path.items


def test_models_without_a_complete_run_mean_those_that_were_asked_side_by_side(
    home: Path, plan: Evaluation
) -> None:
    found = compare_named(["baseline/random", "baseline/majority"], settings(home)).evaluation
    assert found.decision == plan.decision
    assert {result.run.plan_id for result in found.results} == {plan.plan_id}
