"""Figures over many runs: the mean of a metric over a run's tasks with its interval, and the lists of History."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text
from store_examples import CELL, NOW, answered, claimed, keep_all, new_run

from proctor.findings import Estimate, Score
from proctor.stats.intervals import share_stderr, wilson
from proctor.store import Store, history
from proctor.store.history import Searched
from proctor.store.lists import Wanted
from proctor.types import Model, Run, SourceRef, Status


def finished(store: Store, run: Run, status: Status = Status.COMPLETED, **ending: Any) -> Run:
    return store.finish(run.id, status, owner="me", elapsed_s=1.0, **{"now": time.time(), **ending})


VALUES = {
    "rte": {"accuracy": (0.25, 0.02), "f1": (0.5, 0.01)},
    "boolq": {"accuracy": (0.75, 0.04)},
    "copa": {"accuracy": (0.80, 0.03), "f1": (0.3, 0.05)},
}


def scored(store: Store, model: str = "qwen3:8b", *, source: str = "glue", shift: float = 0.0) -> Run:
    """A complete run with the scores above, each higher by `shift`; the headline is 0.5 and more."""
    cell = replace(CELL, model=Model("ollama", model), source=SourceRef("suite", source))
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


@pytest.mark.parametrize(("metric", "items"), [("accuracy", 90), ("f1", 60)])
def test_a_metric_of_a_run_is_the_mean_over_its_tasks(store: Store, metric: str, items: int) -> None:
    run = scored(store)
    (found,) = history.measured(store, Searched(), metric)
    pairs = [metrics[metric] for metrics in VALUES.values() if metric in metrics]
    assert found.run.id == run.id
    assert found.value == pytest.approx(statistics.fmean(value for value, _ in pairs))
    assert (found.items, found.tasks) == (items, len(pairs))
    # Every task's interval is [0, 1].
    below, above = (
        math.sqrt(sum(x * x for x in side)) for side in zip(*((v, 1 - v) for v, _ in pairs), strict=True)
    )
    assert found.low == pytest.approx(found.value - below / len(pairs))
    assert found.high == pytest.approx(found.value + above / len(pairs))


def with_estimates(store: Store, run: Run, tasks: Mapping[str, Estimate]) -> None:
    store.put_scores(run.id, [Score(task, task, "accuracy", of) for task, of in tasks.items()])


def test_a_run_of_one_task_has_the_interval_of_the_task_to_the_digit(store: Store) -> None:
    """A perfect score of 40 items has a standard error of 0, and an interval that is not."""
    run = scored(store)
    with_estimates(store, run, {"rte": Estimate(1.0, 0.0, 0.9123, 1.0, 40, 40, "Wilson")})
    (found,) = history.measured(store, Searched(), "accuracy")
    assert (found.value, found.low, found.high) == (1.0, 0.9123, 1.0)


def test_perfect_tasks_have_no_interval_without_width(store: Store) -> None:
    perfect = Estimate(1.0, 0.0, 0.8, 1.0, 20, 20, "Wilson")
    with_estimates(store, scored(store), {"rte": perfect, "boolq": perfect, "copa": perfect, "wic": perfect})
    (found,) = history.measured(store, Searched(), "accuracy")
    assert (found.value, found.low, found.high) == (1.0, pytest.approx(0.9), 1.0)


def test_the_mean_of_many_small_tasks_is_as_unsure_as_its_standard_error_says(store: Store) -> None:
    """MMLU's quick run: 57 tasks of 3 items. Wilson's sides, squared and added, are narrower, and cover 84 %."""
    two, three = (Estimate(k / 3, share_stderr(k / 3, 3), *wilson(k / 3, 3), 3, 3, "Wilson") for k in (2, 3))
    with_estimates(store, scored(store), {f"t{n}": two if n % 2 else three for n in range(57)})
    (found,) = history.measured(store, Searched(), "accuracy")
    half = 1.96 * math.sqrt(28 * (2 / 9) / 2) / 57
    assert found.low is not None
    assert found.low <= found.value - half
    assert found.high == pytest.approx(found.value + half, abs=1e-4)


def test_the_mean_of_nearly_perfect_tasks_ends_at_1(store: Store) -> None:
    most, all_ = (Estimate(k / 8, share_stderr(k / 8, 8), *wilson(k / 8, 8), 8, 8, "Wilson") for k in (7, 8))
    with_estimates(store, scored(store), {"rte": most, "boolq": all_})
    (found,) = history.measured(store, Searched(), "accuracy")
    assert found.value == 0.9375
    assert found.high is not None
    assert 0.98 < found.high <= 1.0


def test_extras_are_no_part_of_a_mean(store: Store) -> None:
    run, of = scored(store), Estimate(0.5, 0.1, 0.3, 0.7, 20, 20, "Wilson")
    with_estimates(store, run, {"rte": of, "axb": replace(of, value=0.9)})
    (found,) = history.measured(store, Searched(), "accuracy", extras=("axb",))
    assert (found.value, found.low, found.high, found.tasks) == (0.5, 0.3, 0.7, 1)
    means = history.means(store, [run.id], ("accuracy",), extras=("axb",))
    assert means == {run.id: {"accuracy": (0.5, 0.3, 0.7)}}


def test_the_headline_is_the_first_score(store: Store) -> None:
    scored(store, shift=0.1)
    (found,) = history.measured(store, Searched(), "score")
    assert (found.value, found.low, found.high, found.tasks) == (pytest.approx(0.6), 0.4, 0.6, 1)


def test_an_interval_that_one_task_lacks_is_not_known(store: Store) -> None:
    run = scored(store)
    lacking = [
        replace(s, estimate=replace(s.estimate, stderr=None, low=None, high=None)) if s.task == "rte" else s
        for s in store.scores(run.id)
    ]
    store.put_scores(run.id, lacking)
    (found,) = history.measured(store, Searched(), "accuracy")
    assert (found.value, found.low, found.high) == (pytest.approx(0.6), None, None)


def test_only_complete_runs_are_measured_the_oldest_first_and_the_newest_kept(store: Store) -> None:
    runs = [scored(store, shift=n / 100) for n in range(4)]
    partial = scored(store)
    failed_run = scored(store)
    with store.writing() as connection:
        connection.execute(text("UPDATE run SET planned = 2 WHERE id = :id"), {"id": partial.id})
        connection.execute(text("UPDATE run SET status = 'failed' WHERE id = :id"), {"id": failed_run.id})
    found = history.measured(store, Searched(), "accuracy")
    assert [each.run.id for each in found] == [run.id for run in runs]
    assert [e.run.id for e in history.measured(store, Searched(), "accuracy", limit=2)] == [
        run.id for run in runs[2:]
    ]
    assert history.measured(store, Searched(), "no such metric") == []


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
        wanted = Searched(Wanted(source="glue"), asked)
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
    assert history.counts(store, Searched(Wanted(status=Status.RUNNING))) == {"running": 1}


def test_means_are_by_run_and_metric(store: Store) -> None:
    one, two = scored(store), scored(store, shift=0.1)
    found = history.means(store, [one.id, two.id], ("accuracy", "f1", "mcc"))
    assert {run: {metric: mean.value for metric, mean in of.items()} for run, of in found.items()} == {
        one.id: {"accuracy": pytest.approx(0.6), "f1": pytest.approx(0.4)},
        two.id: {"accuracy": pytest.approx(0.7), "f1": pytest.approx(0.5)},
    }
    assert history.means(store, [], ("accuracy",)) == {}
