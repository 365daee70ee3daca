"""The kinds of exams that `make calibrate` simulates: what models do, the rows it leaves, the true value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from calibrate_draws import (
    HARDER,
    LABELS,
    SIZE,
    SMALL,
    SPREAD,
    SUBJECTS,
    Random,
    clustered,
    clustered_grades,
    four_tasks,
    giant,
    graded,
    graded_in_fives,
    grades,
    harder,
    in_clusters,
    in_fives,
    in_percent,
    in_wordings,
    labelled,
    letters,
    lognormal,
    many_tasks,
    near_one,
    numbers,
    plain,
    repeated,
    rights,
    said,
    several,
    small_task,
    subjects,
    three_tasks,
    with_small,
    worded,
)
from proctor.stats import metrics
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.metrics import Scored


@dataclass(frozen=True, slots=True)
class Kind:
    """How exams of a kind are made.

    `draw` says what each model does on each item, `make` writes one model's part down as rows. `true` is the
    value of the metric for a model of some ability, where nothing is left to chance. `metric` is the score
    that is looked at; None is the headline.
    """

    title: str
    shape: Shape
    draw: Callable[[Random, int, Sequence[float], float], list[Any]]
    make: Callable[[Any], list[Scored]]
    true: Callable[[float], float]
    sizes: tuple[int, ...] = (20, 56, 100, 277, 1273)
    ables: tuple[float, ...] = (0.5, 0.8, 0.95, 0.99)
    metric: str | None = None


# True values -------------------------------------------------------------------------------------


def itself(able: float) -> float:
    return able


def partly(able: float) -> float:
    """The mean of `grades`: a Beta(1/2, 1) has the mean 1/3."""
    return able + (1 - able) / 3


def on_table(metric: Callable[[Any], Any], labels: int) -> Callable[[float], float]:
    """The metric on the expected table of `labelled`."""

    def true(able: float) -> float:
        wrong = np.roll(np.eye(labels), 1, axis=1) * (1 - able)
        return float(metric(np.hstack([np.eye(labels) * able + wrong, np.zeros((labels, 1))])))

    return true


def moment(mean: float, k: int) -> float:
    """The mean of p^k for the p of `several`."""
    return math.prod((2 * mean + i) / (2 + i) for i in range(k))


def of_harder(able: float) -> float:
    """The mean over the items of `harder`: a larger cluster has more of them."""
    chances = (np.arange(4000) + 0.5) / 4000
    sizes = np.maximum(1, np.round(np.exp([NormalDist(SIZE, SPREAD).inv_cdf(c) for c in chances])))
    mean = 1 / (1 + np.exp(HARDER * (np.log(sizes) - SIZE) - math.log(able / (1 - able))))
    return float((sizes * mean).sum() / sizes.sum())


def of_subjects(able: float) -> float:
    """`subjects`: the first, third, ... of 57 have the ability, the others half of it."""
    return able * (29 + 28 / 2) / 57


def suite_score(able: float) -> float:
    return (MCC(able) + F1(able) + 2 * able) / 4


# The table ---------------------------------------------------------------------------------------


def _one(*official: str, **other: Any) -> Shape:
    return Shape("exam", {"q": TaskShape("exam", official=official, **other)})


def _many(tasks: Mapping[str, TaskShape], aggregate: Any = "micro") -> Shape:
    return Shape("suite", tasks, aggregate)


THREE = ("a", "b", "c")
MCC = on_table(metrics.mcc, 2)
F1 = on_table(lambda table: metrics.f1(table, 1), 2)
TWO: Mapping[str, Any] = {"labels": LABELS, "kind": "labels"}
FOUR = {
    "a": TaskShape("a", official=("mcc",), **TWO),
    "b": TaskShape("b", official=("f1",), positive="yes", **TWO),
    "c": TaskShape("c"),
    "d": TaskShape("d"),
}
MANY = {name: TaskShape(name) for name in SUBJECTS}
FULL = {name: TaskShape(name, full_size=size) for name, size in zip("abc", (100, 400, 2000), strict=True)}
SAME = {name: TaskShape(name, full_size=1000) for name in "abc"}
FEW, SOME = (20, 100, 277), (0.5, 0.8, 0.95)

KINDS: Mapping[str, Kind] = {
    "accuracy": Kind("accuracy", _one("accuracy"), rights, plain, itself),
    "accuracy, clusters": Kind("accuracy, clusters of 5", _one("accuracy"), clustered, in_fives, itself),
    "em": Kind("exact match, clusters of 5", _one("em", kind="letters"), clustered, letters, itself, (100,)),
    "mcc": Kind("MCC", _one("mcc", **TWO), rights, labelled(LABELS), MCC),
    "f1": Kind("F1", _one("f1", positive="yes", **TWO), rights, labelled(LABELS), F1),
    "macro_f1": Kind(
        "macro-F1, 3 labels",
        _one("macro_f1", labels=THREE, kind="labels"),
        rights,
        labelled(THREE),
        on_table(metrics.macro_f1, 3),
    ),
    "f1a": Kind(
        "F1a, clusters of 5",
        _one("f1a", kind="letters"),
        clustered,
        letters,
        lambda able: (1 + able) / 2,
        (56, 277),
        SOME,
    ),
    "pearson": Kind("Pearson", _one("pearson", kind="number"), numbers, said, itself, FEW, SOME),
    "spearman": Kind(
        "Spearman",
        _one("spearman", kind="number"),
        numbers,
        said,
        lambda able: 6 / math.pi * math.asin(able / 2),
        (20, 100),
        SOME,
    ),
    "mean": Kind("graded mean", _one("mean", kind="graded"), grades, graded, partly),
    "words": Kind(
        "F1 over words, clusters of 5",
        _one("f1", kind="entity"),
        clustered_grades,
        graded_in_fives,
        partly,
        (56, 277),
    ),
    "repeats": Kind("accuracy, 4 askings", _one("accuracy"), several, repeated, itself, FEW),
    "pass@2": Kind(
        "pass@2 of 4 askings",
        _one("accuracy"),
        several,
        repeated,
        lambda able: 1 - moment(1 - able, 2),
        FEW,
        metric="pass@2",
    ),
    "pass^2": Kind(
        "pass^2 of 4 askings",
        _one("accuracy"),
        several,
        repeated,
        lambda able: moment(able, 2),
        FEW,
        metric="pass^2",
    ),
    "suite": Kind("score over 4 tasks", _many(FOUR, "macro"), rights, four_tasks, suite_score, (80, 400)),
    "many": Kind("score over 57 tasks", _many(MANY, "macro"), rights, many_tasks, itself, (57, 171)),
    "limited": Kind("accuracy, 3 tasks weighted", _many(FULL), rights, three_tasks, itself, (60, 300)),
    "wordings": Kind("accuracy, 3 wordings", _one("accuracy"), worded, in_wordings, itself, (20, 100)),
    "near": Kind(
        "graded mean, 0.98 to 1",
        _one("mean", kind="graded"),
        near_one,
        graded,
        lambda able: 0.98 + 0.02 * partly(able),
        (20, 100),
    ),
    "percent": Kind(
        "graded mean, 0 to 100",
        _one("mean", kind="graded"),
        in_percent,
        graded,
        lambda able: 100 * partly(able),
        (20, 100),
    ),
    "giant": Kind("accuracy, half in one cluster", _one("accuracy"), giant, in_clusters, itself, (56, 177)),
    "lognormal": Kind(
        "accuracy, uneven clusters", _one("accuracy"), lognormal, in_clusters, itself, (145, 365)
    ),
    "harder": Kind(
        "accuracy, uneven clusters, large ones harder",
        _one("accuracy"),
        harder,
        in_clusters,
        of_harder,
        (145, 365),
    ),
    "small": Kind(
        "accuracy, a small hard task of 3",
        _many(SAME),
        small_task,
        with_small,
        lambda able: able * (2 + SMALL) / 3,
        (50, 125),
    ),
    "macro": Kind(
        "macro accuracy over 57 tasks",
        _many(MANY),
        subjects,
        many_tasks,
        of_subjects,
        (57, 171),
        metric="macro accuracy",
    ),
}
