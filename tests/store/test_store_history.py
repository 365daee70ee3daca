"""Figures over many runs: the mean of a metric over a run's tasks with its interval, and the lists of History."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text
from store_examples import CELL, NOW, answered, claimed, keep_all, new_run

from proctor.findings import Estimate, Score
from proctor.references import ExamRef
from proctor.store import Store
from proctor.store.core import scores
from proctor.store.read import history
from proctor.store.read.history import Searched
from proctor.store.read.lists import RunFilter
from proctor.types import Model, Run, Status


def finished(store: Store, run: Run, status: Status = Status.COMPLETED, **ending: Any) -> Run:
    return store.finish(run.id, status, owner="me", elapsed_s=1.0, **{"now": time.time(), **ending})


VALUES = {
    "rte": {"accuracy": (0.25, 0.02), "f1": (0.5, 0.01)},
    "boolq": {"accuracy": (0.75, 0.04)},
    "copa": {"accuracy": (0.80, 0.03), "f1": (0.3, 0.05)},
}


def scored(store: Store, model: str = "qwen3:8b", *, source: str = "glue", shift: float = 0.0) -> Run:
    """A complete run with the scores above, each higher by `shift`; the headline is 0.5 and more."""
    cell = replace(CELL, model=Model("ollama", model), source=ExamRef("suite", source))
    run = store.claim(new_run(store, 1, cell).id, owner="me", now=time.time(), lease_s=600)
    keep_all(store, run, answered(0))
    finished(store, run, now=NOW + len(list(store.runs())))
    rows = [Score("", "All", "score", Estimate(0.5 + shift, 0.06, 0.4, 0.6, 90, 90, "x"))]
    rows += [
        Score(task, task, metric, Estimate(value + shift, stderr, 0.0, 1.0, 30, 30, "x"))
        for task, metrics in VALUES.items()
        for metric, (value, stderr) in metrics.items()
    ]
    store.put_scores(run.id, rows)
    return store.run(run.id)


MEAN = Score(
    "",
    "All",
    "accuracy, mean of 3 tasks",
    Estimate(0.6, 0.02, 0.55, 0.66, 90, 90, "draws of each task combined"),
)


def test_a_metric_of_a_run_is_what_was_kept_over_its_tasks(store: Store) -> None:
    """The interval too: a list makes none of its own."""
    run = scored(store)
    store.put_scores(run.id, [*store.scores(run.id), MEAN])
    (found,), _ = history.measured(store, Searched(), "accuracy")
    assert found.run.id == run.id
    assert found.score == ("accuracy, mean of 3 tasks", 0.6, 0.55, 0.66, 90, 90)
    assert history.figures(store, [run.id], ("accuracy",)) == ({run.id: {"accuracy": found.score}}, [])


@pytest.mark.parametrize("name", ["accuracy", "accuracy (46 of 57 tasks)"])
def test_a_suite_whose_headline_is_an_accuracy_has_that_as_its_accuracy(store: Store, name: str) -> None:
    run = scored(store)
    first, *others = store.scores(run.id)
    macro = replace(first, metric="macro accuracy", estimate=replace(first.estimate, value=0.1))
    store.put_scores(run.id, [replace(first, metric=name), macro, *others])
    (found,), _ = history.measured(store, Searched(), "accuracy")
    assert (found.score.metric, found.score.value) == (name, 0.5)


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
def test_no_mean_is_made_of_the_tasks_of_a_run_of_which_an_older_version_kept_none(
    store: Store, metric: str
) -> None:
    """It is named, so that whoever can makes the mean and its interval."""
    run = scored(store)
    found, lacking = history.measured(store, Searched(), metric)
    assert (found, [line.id for line in lacking]) == ([], [run.id])
    assert history.figures(store, [run.id], (metric, "score", "mcc")) == (
        {run.id: {"score": ("score", 0.5, 0.4, 0.6, 90, 90)}},
        [(run.id, metric)],
    )


def with_estimates(store: Store, run: Run, tasks: Mapping[str, Estimate]) -> None:
    store.put_scores(run.id, [Score(task, task, "accuracy", of) for task, of in tasks.items()])


def test_a_run_of_one_task_has_the_interval_of_the_task_to_the_digit(store: Store) -> None:
    """A perfect score of 40 items has a standard error of 0, and an interval that is not."""
    run = scored(store)
    with_estimates(store, run, {"rte": Estimate(1.0, 0.0, 0.9123, 1.0, 40, 40, "Wilson")})
    (found,), _ = history.measured(store, Searched(), "accuracy")
    assert found.score == ("accuracy", 1.0, 0.9123, 1.0, 40, 40)


def test_extras_are_no_part_of_a_mean(store: Store) -> None:
    run, of = scored(store), Estimate(0.5, 0.1, 0.3, 0.7, 20, 20, "Wilson")
    with_estimates(store, run, {"rte": of, "axb": replace(of, value=0.9)})
    (found,), _ = history.measured(store, Searched(), "accuracy", extras=("axb",))
    assert found.score == ("accuracy", 0.5, 0.3, 0.7, 20, 20)
    assert history.figures(store, [run.id], ("accuracy",), extras=("axb",)) == (
        {run.id: {"accuracy": found.score}},
        [],
    )


def test_the_headline_is_the_first_score(store: Store) -> None:
    run = scored(store, shift=0.1)
    (found,), _ = history.measured(store, Searched(), "score")
    assert found.score == ("score", pytest.approx(0.6), 0.4, 0.6, 90, 90)
    assert history.figures(store, [run.id], ("score",)) == ({run.id: {"score": found.score}}, [])


def test_scores_are_added_to_a_run_that_has_ended_and_to_none_at_work(store: Store) -> None:
    ended = scored(store)
    kept = store.scores(ended.id)
    scores.add_more(store, ended, [MEAN, replace(kept[0], title="another")])
    assert store.scores(ended.id) == (*kept, MEAN)
    with store.writing() as connection:
        connection.execute(text("UPDATE run SET settled = 0"))
    store.claim(ended.id, owner="me", now=time.time(), lease_s=600)
    scores.add_more(store, ended, [MEAN])
    assert store.scores(ended.id) == ()


def test_only_complete_runs_are_measured_the_oldest_first_and_the_newest_kept(store: Store) -> None:
    runs = [scored(store, shift=n / 100) for n in range(4)]
    partial = scored(store)
    failed_run = scored(store)
    with store.writing() as connection:
        connection.execute(text("UPDATE run SET planned = 2 WHERE id = :id"), {"id": partial.id})
        connection.execute(text("UPDATE run SET status = 'failed' WHERE id = :id"), {"id": failed_run.id})
    found, _ = history.measured(store, Searched(), "score")
    assert [each.run.id for each in found] == [run.id for run in runs]
    newest, _ = history.measured(store, Searched(), "score", limit=2)
    assert [each.run.id for each in newest] == [run.id for run in runs[2:]]
    assert history.measured(store, Searched(), "no such metric") == ([], [])


def test_pages_of_history_lose_and_double_nothing(store: Store) -> None:
    runs = [scored(store).id for _ in range(7)]
    for limit in (1, 3, 7, 50):
        found: list[str] = []
        before = None
        while True:
            lines, before = history.page(store, Searched(), before=before, limit=limit)
            assert 0 < len(lines) <= limit
            found += [line.id for line in lines]
            if before is None:
                break
        assert found == runs[::-1]


def test_history_is_searched_by_a_piece_of_the_model_as_it_is_written(store: Store) -> None:
    names = ["Qwen3:8b", "llama_3", "llama-3", "100%real"]
    ids = {name: scored(store, name).id for name in names}
    scored(store, "qwen3:8b", source="medqa")
    for asked, hits in {
        "QWEN": ["Qwen3:8b"], "ma_": ["llama_3"], "%": ["100%real"], "OLLAMA/ll": ["llama_3", "llama-3"], "'": [],
    }.items():  # fmt: skip
        wanted = Searched(RunFilter(source="glue"), asked)
        lines, _ = history.page(store, wanted)
        assert [line.id for line in lines] == [ids[name] for name in reversed(hits)], asked
        assert history.counts(store, wanted) == ({"completed": len(hits)} if hits else {})


def test_runs_are_counted_by_state(store: Store) -> None:
    scored(store)
    scored(store)
    short, stopped = scored(store), scored(store)
    claimed(store)
    new_run(store)
    with store.writing() as connection:
        connection.execute(text("UPDATE run SET planned = 2 WHERE id = :id"), {"id": short.id})
        connection.execute(text("UPDATE run SET stopped = 'time' WHERE id = :id"), {"id": stopped.id})
    assert history.counts(store, Searched()) == {"completed": 2, "partial": 2, "running": 1, "pending": 1}
    assert history.counts(store, Searched(RunFilter(status=Status.RUNNING))) == {"running": 1}


def test_figures_are_by_run_and_metric(store: Store) -> None:
    one, two = scored(store), scored(store, shift=0.1)
    for run, shift in ((one, 0.0), (two, 0.1)):
        mean = replace(MEAN, estimate=replace(MEAN.estimate, value=0.6 + shift))
        store.put_scores(run.id, [*store.scores(run.id), mean])
    found, lacking = history.figures(store, [one.id, two.id], ("accuracy", "score", "mcc"))
    assert {run: {metric: of.value for metric, of in each.items()} for run, each in found.items()} == {
        one.id: {"accuracy": pytest.approx(0.6), "score": pytest.approx(0.5)},
        two.id: {"accuracy": pytest.approx(0.7), "score": pytest.approx(0.6)},
    }
    assert lacking == [] and history.figures(store, [], ("accuracy",)) == ({}, [])
