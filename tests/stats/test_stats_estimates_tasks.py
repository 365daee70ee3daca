"""Every metric of every task, for models that answer in known ways, against scikit-learn and scipy."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, Literal

import pytest
from scipy import stats
from sklearn import metrics as oracle

from examrows import CANDIDATES, SUITES, WAYS, exam_rows
from examrows import row as answered
from proctor.findings import METRIC_VERSIONS, Score
from proctor.stats.estimates import Scored, Shape, TaskShape, scores
from proctor.stats.metrics import letters
from proctor.types import Outcome

EVERY = [(suite, task) for suite, tasks in SUITES.items() for task in tasks]


def found(
    task: str, spec: TaskShape, rows: list[Scored], aggregate: Literal["micro", "macro"] = "macro"
) -> dict[str, Score]:
    return {score.metric: score for score in scores(rows, Shape("The task", {task: spec}, aggregate))}


def predictions(spec: TaskShape, rows: list[Scored]) -> tuple[list[str], list[str]]:
    """Targets and answers as labels; what was not read is the other of two labels, or a label of its own."""
    targets = [row.target or "" for row in rows]
    if len(spec.labels) == 2:
        other = {spec.labels[0]: spec.labels[1], spec.labels[1]: spec.labels[0]}
        return targets, [row.answer or other[row.target or ""] for row in rows]
    return targets, [row.answer or "(unread)" for row in rows]


def mcc(spec: TaskShape, rows: list[Scored]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # scikit-learn warns of a single label
        return float(oracle.matthews_corrcoef(*predictions(spec, rows)))


def binary_f1(spec: TaskShape, rows: list[Scored]) -> float:
    return float(oracle.f1_score(*predictions(spec, rows), pos_label=spec.positive, zero_division=0))


def macro_f1(spec: TaskShape, rows: list[Scored]) -> float:
    pairs = predictions(spec, rows)
    return float(oracle.f1_score(*pairs, labels=list(spec.labels), average="macro", zero_division=0))


def accuracy(spec: TaskShape, rows: list[Scored]) -> float:
    halves = {row.half for row in rows}
    return fmean(
        fmean(float(row.answer == row.target) for row in rows if row.half == half) for half in halves
    )


def half_accuracy(half: str) -> Callable[[TaskShape, list[Scored]], float]:
    return lambda spec, rows: fmean(float(row.answer == row.target) for row in rows if row.half == half)


def f1a(spec: TaskShape, rows: list[Scored]) -> float:
    truth, said = [], []
    for row in rows:
        right = letters(row.target or "")
        chosen = None if row.answer is None else letters(row.answer)
        for letter in "ABCD"[:CANDIDATES]:
            truth.append(letter in right)
            said.append(letter not in right if chosen is None else letter in chosen)
    return float(oracle.f1_score(truth, said, zero_division=0))


def correlation(of: Callable[..., Any]) -> Callable[[TaskShape, list[Scored]], float]:
    def value(spec: TaskShape, rows: list[Scored]) -> float:
        read = [float(row.answer) for row in rows if row.answer is not None]
        said = [float(row.answer) if row.answer is not None else fmean(read) for row in rows] if read else []
        if len(set(said)) < 2:
            return 0.0  # says nothing about the targets
        return float(of([float(row.target or "") for row in rows], said).statistic)

    return value


def parity(spec: TaskShape, rows: list[Scored]) -> float:
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return fmean(float(a.answer is not None and a.answer == b.answer) for a, b in pairs)


def exact(spec: TaskShape, rows: list[Scored]) -> float:
    return fmean(float(row.answer == row.target) for row in rows)


ORACLES: dict[str, Callable[[TaskShape, list[Scored]], float]] = {
    "accuracy": accuracy,
    "accuracy_m": half_accuracy("m"),
    "accuracy_mm": half_accuracy("mm"),
    "mcc": mcc,
    "macro_f1": macro_f1,
    "pearson": correlation(stats.pearsonr),
    "spearman": correlation(stats.spearmanr),
    "f1a": f1a,
    "em": exact,
    "gender_parity": parity,
}


def word_f1(spec: TaskShape, rows: list[Scored]) -> float:
    """By counting words of these names, of which none has a word twice."""

    def one(row: Scored) -> float:
        said, right = (set((t or "").lower().replace("the ", "").split()) for t in (row.answer, row.target))
        return 2 * len(said & right) / (len(said) + len(right))

    return fmean(one(row) for row in rows)


def test_every_metric_has_a_version_and_an_oracle() -> None:
    used = {m for tasks in SUITES.values() for spec in tasks.values() for m in (*spec.official, *spec.also)}
    # "mean" is for other tools' scores, the last two for trials of agents (tests/rollouts/test_numbers.py).
    assert used == {*ORACLES, "f1"} == set(METRIC_VERSIONS) - {"mean", "success_rate", "mean_score"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("suite", "task"), EVERY)
def test_a_model_that_answers_in_a_known_way_has_the_known_values(suite: str, task: str, way: str) -> None:
    spec = SUITES[suite][task]
    rows = exam_rows(task, spec, way)
    # Where a suite's headline is the accuracy over items, that of one of its tasks is its accuracy.
    macro = suite in ("glue", "superglue")
    values = found(task, spec, rows, "macro" if macro else "micro")
    own = [" + ".join(spec.official)] if len(spec.official) > 1 and macro else []
    assert tuple(values) == (*own, *spec.official, *spec.also)
    if own:
        official = [values[metric].estimate.value for metric in spec.official]
        assert values[own[0]].estimate.value == pytest.approx(fmean(v or 0.0 for v in official))
    for metric, score in values.items():
        if metric in own:
            continue
        f1 = word_f1 if spec.kind == "entity" else binary_f1
        expected = ORACLES.get(metric, f1)(spec, rows)
        e = score.estimate
        assert e.value == pytest.approx(expected, abs=1e-9), metric
        assert e.low is not None and e.high is not None and e.stderr is not None
        assert e.low <= expected + 1e-9 and expected - 1e-9 <= e.high and e.high - e.low > 0.01
        assert e.scored == e.asked == (60 if metric == "gender_parity" else len_of(metric, rows))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
@pytest.mark.parametrize(("suite", "task"), EVERY)
def test_the_smallest_exams_have_a_number_and_an_interval_of_some_width(
    suite: str, task: str, n: int
) -> None:
    spec = SUITES[suite][task]
    for way in ("perfect", "wrong", "silent", "mixed"):
        for metric, score in found(task, spec, exam_rows(task, spec, way, n)).items():
            e = score.estimate
            if e.value is None:
                assert e.reason and (spec.kind == "number" or e.scored == 0), metric
            else:
                assert e.low is not None and e.high is not None and e.high - e.low > 0.1, (way, metric)


def len_of(metric: str, rows: list[Scored]) -> int:
    half = metric.removeprefix("accuracy_")
    return sum(1 for row in rows if half == metric or row.half == half)


@pytest.mark.parametrize(("suite", "task"), EVERY)
def test_a_perfect_model_has_exactly_1_and_a_silent_one_at_most_0(suite: str, task: str) -> None:
    spec = SUITES[suite][task]
    assert {s.estimate.value for s in found(task, spec, exam_rows(task, spec, "perfect")).values()} <= {
        1.0,
        parity_of(task),
    }
    silent = found(task, spec, exam_rows(task, spec, "silent"))
    assert all(s.estimate.value is not None and s.estimate.value <= 0 for s in silent.values())


def parity_of(task: str) -> float:
    """A perfect model gives both sentences of a pair the same answer only where the targets are the same."""
    rows = exam_rows(task, next(tasks[task] for tasks in SUITES.values() if task in tasks), "perfect")
    return parity(TaskShape(task), rows) if task == "axg" else 1.0


@pytest.mark.parametrize("task", ["cola", "cb", "stsb", "record", "multirc", "mnli"])
def test_errors_are_left_out_of_every_metric(task: str) -> None:
    spec = next(tasks[task] for tasks in SUITES.values() if task in tasks)
    rows = exam_rows(task, spec, "mixed")
    no_reply = {"answer": None, "score": None, "outcome": Outcome.ERROR}
    lost = [replace(one, item=f"{one.item}x", **no_reply) for one in rows[:7]]
    for before, after in zip(
        found(task, spec, rows).values(), found(task, spec, rows + lost).values(), strict=True
    ):
        old, new = before.estimate, after.estimate
        assert (old.value, old.low, old.high, old.scored) == (new.value, new.low, new.high, new.scored)
        assert new.asked > old.asked or "accuracy_" in before.metric


@pytest.mark.parametrize("task", ["ax", "axb", "axg"])
def test_hidden_targets_give_no_score(task: str) -> None:
    spec = next(tasks[task] for tasks in SUITES.values() if task in tasks)
    rows = [replace(one, target=None, score=None) for one in exam_rows(task, spec, "mixed", n=20)]
    for score in found(task, spec, rows).values():
        assert score.estimate.value is score.estimate.low is None
        assert score.estimate.reason == "the targets of these items are hidden"


@pytest.mark.slow
def test_intervals_are_the_same_in_every_process() -> None:
    """Python orders sets of words anew in each process; no draw may depend on that."""
    code = (
        "from examrows import SUITES, Shape, scores, suite_rows\n"
        "for way in ('mixed', 'silent'):\n"
        "    for name, tasks in SUITES.items():\n"
        "        print(scores(suite_rows(name, way), Shape(name, tasks, 'macro')))\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parents[1])},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(said) == 1 and len(said.pop()) > 5000


def test_stsb_says_how_many_predictions_it_had_to_make_up() -> None:
    spec = SUITES["glue"]["stsb"]
    e = found("stsb", spec, exam_rows("stsb", spec, "half silent"))["pearson"].estimate
    assert "60 of 120 replies without a number count as the mean of the others" in e.method
    e = found("stsb", spec, exam_rows("stsb", spec, "shuffled"))["pearson"].estimate
    assert "without a number" not in e.method


def test_stsb_with_one_target_has_nothing_to_correlate_with() -> None:
    spec = SUITES["glue"]["stsb"]
    rows = [row for row in exam_rows("stsb", spec, "mixed", 300) if row.target == "3"]
    e = found("stsb", spec, rows)["pearson"].estimate
    assert e.value is None and e.reason == "all targets are the same number: nothing to correlate with"


def test_the_method_says_how_the_interval_was_made() -> None:
    methods = {
        (task, metric): score.estimate.method
        for suite, task in EVERY
        for metric, score in found(
            task, SUITES[suite][task], exam_rows(task, SUITES[suite][task], "mixed")
        ).items()
    }
    assert methods["sst2", "accuracy"] == methods["axg", "gender_parity"] == "Wilson"
    assert (
        methods["mnli", "accuracy"] == methods["multirc", "em"] == "Wilson on the effective n of the clusters"
    )
    assert methods["cola", "mcc"] == "Dirichlet(counts + 1/2) on the table of answers, 2,000 draws, seed 0"
    assert methods["cb", "macro_f1"].startswith("Dirichlet(counts + one item in all)")
    assert methods["multirc", "f1a"] == "bootstrap of clusters, 2,000 draws, seed 0"
    wider = "Student's t over clusters or Wilson on the effective n of the clusters, the wider of both"
    assert methods["record", "f1"] == wider
    wider = "bootstrap of items or Fisher's z, the wider of both, 2,000 draws, seed 0"
    assert methods["stsb", "spearman"].startswith(f"{wider}; ")


def test_pearsons_interval_is_about_fishers() -> None:
    spec = SUITES["glue"]["stsb"]
    random = Random(5)
    rows = []
    for i in range(800):
        true = random.gauss(2.5, 0.8)
        rows.append(answered("stsb", spec, i, f"{true:.3f}", f"{true + random.gauss(0, 0.8):.3f}"))
    e = found("stsb", spec, rows)["pearson"].estimate
    assert e.value is not None
    z, half = math.atanh(e.value), 1.96 / math.sqrt(797)
    assert (e.low, e.high) == pytest.approx((math.tanh(z - half), math.tanh(z + half)), abs=0.008)


@pytest.mark.parametrize("items", [1, 20])
def test_the_mean_of_tasks_whose_items_all_score_the_same_has_the_interval_of_one_of_them(items: int) -> None:
    tasks = {name: TaskShape(name, ("mean",), kind="text") for name in "ab"}
    rows = [
        Scored(f"{name}{n}", name, None, "pass", Outcome.CORRECT, 1.0) for name in tasks for n in range(items)
    ]
    told = {score.task: score.estimate for score in scores(rows, Shape("All", tasks, "macro"))}
    assert (told[""].value, told[""].low, told[""].high) == (1.0, told["a"].low, 1.0)
