"""The kinds of exams that `make calibrate` simulates: what models do, the rows it leaves, the true value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from proctor.stats import metrics
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.metrics import Scored
from proctor.types import Outcome

Random = np.random.Generator
TOGETHER = 0.3  # the intra-cluster correlation
ASKINGS = 4


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


# What models do ----------------------------------------------------------------------------------


def alike(random: Random, items: int, models: int, rho: float) -> list[Any]:
    """A chance for each model and item; on `rho` of the items it is the same for all models."""
    common, shared = random.random(items), random.random(items) < rho
    return [np.where(shared, common, random.random(items)) for _ in range(models)]


def rights(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    chances = alike(random, items, len(ables), rho)
    return [chance < able for chance, able in zip(chances, ables, strict=True)]


def clustered(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """Clusters of five that are easy or hard for all models: a model's chance in a cluster is Beta distributed."""
    easy = random.random(-(-items // 5))
    chances = alike(random, items, len(ables), rho)
    return [
        chance < np.repeat(_beta_at(easy, able, (1 - TOGETHER) / TOGETHER), 5)[:items]
        for chance, able in zip(chances, ables, strict=True)
    ]


def grades(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """Scores between 0 and 1: all right with the probability of the ability, else Beta(1/2, 1)."""
    return _partly(random, rights(random, items, ables, rho))


def clustered_grades(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    return _partly(random, clustered(random, items, ables, rho))


def _partly(random: Random, right: Sequence[Any]) -> list[Any]:
    return [np.where(ok, 1.0, random.beta(0.5, 1.0, size=len(ok))) for ok in right]


def numbers(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """Numbers that correlate with their targets by the ability; the models' errors correlate by `rho`."""
    targets, common = random.normal(size=(2, items))
    errors = [
        math.sqrt(rho) * common + math.sqrt(1 - rho) * own for own in random.normal(size=(len(ables), items))
    ]
    return [
        (targets, able * targets + math.sqrt(1 - able**2) * error)
        for able, error in zip(ables, errors, strict=True)
    ]


def several(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """Askings of each item, whose chance to be right is drawn for the item: Beta(2 a, 2 (1 - a))."""
    chances = alike(random, items, len(ables), rho)
    return [
        random.random((ASKINGS, items)) < _beta_at(chance, able, 2.0)
        for chance, able in zip(chances, ables, strict=True)
    ]


def _beta_at(chance: Any, mean: float, size: float) -> Any:
    """The quantile of a Beta distribution with this mean, whose two parameters add up to `size`."""
    return betaincinv(mean * size, (1 - mean) * size, chance)


# Rows --------------------------------------------------------------------------------------------


def row(task: str, place: int, right: bool, **other: Any) -> Scored:
    facts: dict[str, Any] = {
        "target": "yes",
        "answer": "yes" if right else "no",
        "outcome": Outcome.CORRECT if right else Outcome.WRONG,
        "score": float(right),
    }
    return Scored(item=f"{task}/{place}", task=task, **{**facts, **other})


def plain(right: Any) -> list[Scored]:
    return [row("q", i, ok) for i, ok in enumerate(right.tolist())]


def in_fives(right: Any) -> list[Scored]:
    return [row("q", i, ok, cluster=f"c{i // 5}") for i, ok in enumerate(right.tolist())]


def labelled(names: Sequence[str]) -> Callable[[Any], list[Scored]]:
    """Targets go round the labels; a wrong answer is the next label."""

    def make(right: Any) -> list[Scored]:
        found = []
        for i, ok in enumerate(right.tolist()):
            target = names[i % len(names)]
            answer = target if ok else names[(i + 1) % len(names)]
            found.append(row("q", i, ok, target=target, answer=answer))
        return found

    return make


def letters(right: Any) -> list[Scored]:
    """Questions with two right letters of four; a wrong reply gives one of them and one that is wrong."""
    return [
        row("q", i, ok, target="A,B", answer="A,B" if ok else "A,C", candidates=4, cluster=f"c{i // 5}")
        for i, ok in enumerate(right.tolist())
    ]


def said(both: Any) -> list[Scored]:
    return [
        row("q", i, True, target=repr(target), answer=repr(number))
        for i, (target, number) in enumerate(zip(both[0].tolist(), both[1].tolist(), strict=True))
    ]


def graded(values: Any) -> list[Scored]:
    return [row("q", i, value == 1, score=value) for i, value in enumerate(values.tolist())]


def graded_in_fives(values: Any) -> list[Scored]:
    return [
        row("q", i, value == 1, score=value, cluster=f"c{i // 5}") for i, value in enumerate(values.tolist())
    ]


def repeated(right: Any) -> list[Scored]:
    return [row("q", i, ok, repeat=k) for k, asked in enumerate(right.tolist()) for i, ok in enumerate(asked)]


def four_tasks(right: Any) -> list[Scored]:
    """A quarter of the items each: labels by MCC, labels by F1, plain, and in clusters."""
    makers = (labelled(TWO), labelled(TWO), plain, in_fives)
    quarters = zip("abcd", makers, np.array_split(right, 4), strict=True)
    return [
        replace(made, task=task, item=f"{task}/{made.item}")
        for task, make, quarter in quarters
        for made in make(quarter)
    ]


def three_tasks(right: Any) -> list[Scored]:
    parts = zip("abc", np.array_split(right, 3), strict=True)
    return [row(task, i, ok) for task, part in parts for i, ok in enumerate(part.tolist())]


def many_tasks(right: Any) -> list[Scored]:
    """A few items each, as of MMLU's subjects in its quick size."""
    parts = zip(MANY, np.array_split(right, len(MANY)), strict=True)
    return [row(task, i, ok) for task, part in parts for i, ok in enumerate(part.tolist())]


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


def suite_score(able: float) -> float:
    return (MCC(able) + F1(able) + 2 * able) / 4


# The table ---------------------------------------------------------------------------------------


def _one(*official: str, **other: Any) -> Shape:
    return Shape("exam", {"q": TaskShape("exam", official=official, **other)})


def _many(tasks: Mapping[str, TaskShape], aggregate: Any = "micro") -> Shape:
    return Shape("suite", tasks, aggregate)


TWO, THREE = ("no", "yes"), ("a", "b", "c")
MCC = on_table(metrics.mcc, 2)
F1 = on_table(lambda table: metrics.f1(table, 1), 2)
LABELS: Mapping[str, Any] = {"labels": TWO, "kind": "labels"}
FOUR = {
    "a": TaskShape("a", official=("mcc",), **LABELS),
    "b": TaskShape("b", official=("f1",), positive="yes", **LABELS),
    "c": TaskShape("c"),
    "d": TaskShape("d"),
}
MANY = {f"t{k}": TaskShape(f"t{k}") for k in range(57)}
FULL = {name: TaskShape(name, full_size=size) for name, size in zip("abc", (100, 400, 2000), strict=True)}
FEW, SOME = (20, 100, 277), (0.5, 0.8, 0.95)

KINDS: Mapping[str, Kind] = {
    "accuracy": Kind("accuracy", _one("accuracy"), rights, plain, itself),
    "accuracy, clusters": Kind("accuracy, clusters of 5", _one("accuracy"), clustered, in_fives, itself),
    "em": Kind("exact match, clusters of 5", _one("em", kind="letters"), clustered, letters, itself, (100,)),
    "mcc": Kind("MCC", _one("mcc", **LABELS), rights, labelled(TWO), MCC),
    "f1": Kind("F1", _one("f1", positive="yes", **LABELS), rights, labelled(TWO), F1),
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
    "many": Kind("score over 57 tasks", _many(MANY, "macro"), rights, many_tasks, itself, (171,)),
    "limited": Kind("accuracy, 3 tasks weighted", _many(FULL), rights, three_tasks, itself, (60, 300)),
}
