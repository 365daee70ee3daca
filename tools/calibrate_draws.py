"""What simulated models do on simulated exams, and the rows that it leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import betaincinv

from proctor.stats.metrics import Scored
from proctor.types import Outcome

Random = np.random.Generator
TOGETHER = 0.3  # the intra-cluster correlation
TIGHT = 0.8  # that of the clusters whose sizes vary
ASKINGS = 4
LABELS = ("no", "yes")
SUBJECTS = tuple(f"t{k}" for k in range(57))
# Clusters of lognormal sizes, about 12 items each: the mean and standard deviation of the logarithm.
SIZE, SPREAD = 2.0, 1.0
HARDER = 0.7  # how fast the chance falls, in log odds, as a cluster grows e times as large
SMALL = 0.6  # how able models are on the small task, as a share of what they are elsewhere


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


def worded(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """Three wordings of each item, whose chance to be right is drawn for the item."""
    return [asked[:3] for asked in several(random, items, ables, rho)]


def near_one(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """Grades that all lie between 0.98 and 1."""
    return [0.98 + 0.02 * values for values in grades(random, items, ables, rho)]


def in_percent(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    return [100 * values for values in grades(random, items, ables, rho)]


def giant(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """One cluster with half of the items, the others in threes."""
    return _uneven(
        random, np.concatenate([np.zeros(items // 2), 1 + np.arange(items - items // 2) // 3]), ables, rho
    )


def lognormal(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    return _uneven(random, _lognormal(random, items), ables, rho)


def harder(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """Clusters of lognormal sizes, the larger the harder."""
    places = _lognormal(random, items)
    odds = HARDER * (np.log(np.bincount(places)) - SIZE)
    return _uneven(random, places, ables, rho, odds)


def _lognormal(random: Random, items: int) -> Any:
    """Each item's cluster."""
    sizes = np.maximum(1, np.round(random.lognormal(SIZE, SPREAD, size=items))).astype(int)
    return np.repeat(np.arange(items), sizes)[:items]


def _uneven(random: Random, places: Any, ables: Sequence[float], rho: float, odds: Any = 0.0) -> list[Any]:
    """(right, cluster) of each item; clusters are easy or hard for all models."""
    places = places.astype(int)
    easy = random.random(int(places.max()) + 1)
    together = TIGHT if np.isscalar(odds) else TOGETHER
    chances = alike(random, len(places), len(ables), rho)
    found = []
    for chance, able in zip(chances, ables, strict=True):
        mean = 1 / (1 + np.exp(odds - math.log(able / (1 - able))))
        found.append((chance < _beta_at(easy, mean, (1 - together) / together)[places], places))
    return found


def small_task(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """As `rights`, but the last 4 % of the items are another task, on which models are less able."""
    hard = np.arange(items) >= items - max(2, items // 25)
    chances = alike(random, items, len(ables), rho)
    return [chance < np.where(hard, SMALL * able, able) for chance, able in zip(chances, ables, strict=True)]


def subjects(random: Random, items: int, ables: Sequence[float], rho: float) -> list[Any]:
    """As `rights`, but on every other subject a model is right half as often, on the rest more often."""
    weak = np.concatenate([np.full(len(part), k % 2) for k, part in enumerate(_by_subject(np.arange(items)))])
    chances = alike(random, items, len(ables), rho)
    return [chance < np.where(weak == 1, able / 2, able) for chance, able in zip(chances, ables, strict=True)]


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


def in_clusters(both: Any) -> list[Scored]:
    return [
        row("q", i, ok, cluster=f"c{place}")
        for i, (ok, place) in enumerate(zip(both[0].tolist(), both[1].tolist(), strict=True))
    ]


def in_wordings(right: Any) -> list[Scored]:
    return [
        replace(row("q", i, ok, cluster=f"q/{i}"), item=f"q/{i}@{wording}")
        for wording, asked in enumerate(right.tolist(), 1)
        for i, ok in enumerate(asked)
    ]


def with_small(right: Any) -> list[Scored]:
    small = max(2, len(right) // 25)
    parts = zip("abc", (*np.array_split(right[:-small], 2), right[-small:]), strict=True)
    return [row(task, i, ok) for task, part in parts for i, ok in enumerate(part.tolist())]


def four_tasks(right: Any) -> list[Scored]:
    """A quarter of the items each: labels by MCC, labels by F1, plain, and in clusters."""
    makers = (labelled(LABELS), labelled(LABELS), plain, in_fives)
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
    parts = zip(SUBJECTS, _by_subject(right), strict=True)
    return [row(task, i, ok) for task, part in parts for i, ok in enumerate(part.tolist())]


def _by_subject(values: Any) -> list[Any]:
    return np.array_split(values, len(SUBJECTS))
