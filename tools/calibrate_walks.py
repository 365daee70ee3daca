"""What two models or more do on the exams that `calibrate_sequential.py` stops early, in the order of asking.

Exams are asked in a seeded order, of which any beginning is a fair sample; so the items of a cluster lie scattered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrate_draws import ASKINGS, TIGHT, TOGETHER, Random, clustered_grades, grades, lognormal, rights, row
from calibrate_draws import clustered as clustered_fives
from calibrate_draws import giant as half_in_one
from calibrate_draws import several as askings
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.metrics import Scored

Draw = Callable[[Random, int, Sequence[float], float], "Sat"]
TASKS = ("a", "b", "c")
SIZES = (1.0, 2.0, 5.0)  # how many items of the full suite an item of these tasks stands for
LEAN = 0.03  # by how much each of two models is better on tasks of its own; no chance may pass 1
LUMP = 10  # items of a cluster


@dataclass(frozen=True, slots=True)
class Sat:
    """What models did: `scores` (models, items) in the order of asking.

    `unit` is each item's cluster and `weight` what an item counts; None where items stand for themselves, and
    where all count alike. `exact`: each is right or wrong, stands for itself and was asked once.
    """

    scores: Any
    unit: Any = None
    weight: Any = None
    task: Any = None
    asked: Any = None  # (models, askings, items), where items were asked several times

    @property
    def exact(self) -> bool:
        return self.unit is None and self.weight is None and bool(np.isin(self.scores, (0.0, 1.0)).all())

    @property
    def differences(self) -> Any:
        """What each item adds to the walk of the first two models, first minus second."""
        apart = self.scores[0] - self.scores[1]
        return apart if self.weight is None else apart * self.weight

    def shuffled(self, random: Random) -> Sat:
        order = random.permutation(self.scores.shape[1])
        unit, weight, task = (None if of is None else of[order] for of in (self.unit, self.weight, self.task))
        asked = None if self.asked is None else self.asked[:, :, order]
        return Sat(self.scores[:, order], unit, weight, task, asked)

    def rows(self, model: int) -> list[Scored]:
        """As statistics take them."""
        found = []
        every = self.scores[model][None, :] if self.asked is None else self.asked[model]
        for repeat, scores in enumerate(every.astype(float).tolist()):
            for i, score in enumerate(scores):
                cluster = None if self.unit is None else f"c{self.unit[i]}"
                task = "q" if self.task is None else TASKS[self.task[i]]
                found.append(
                    row(task, i, score == 1, score=score, cluster=cluster, repeat=repeat, content=f"{i}")
                )
        return found


@dataclass(frozen=True, slots=True)
class Way:
    """A way in which models' scores lie apart; `mean` is that of a model of some ability."""

    title: str
    draw: Draw
    shape: Shape
    mean: Callable[[float], float] = lambda able: able


# What models do ------------------------------------------------------------------------------------


def plainly(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    return Sat(np.array(rights(random, n, ables, rho), dtype=float))


def in_fives(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """Clusters that are easy or hard for all."""
    return Sat(np.array(clustered_fives(random, n, ables, rho), dtype=float), np.arange(n) // 5)


def with_skills(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """Clusters of twenty, each of which a model knows or does not know by itself."""
    return _skilled(random, np.arange(n) // 20, ables, TOGETHER)


def unevenly(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """Clusters of lognormal sizes, which hang together tightly and are skills of one model."""
    (_, unit), *_ = lognormal(random, n, [0.5], 0.0)
    return _skilled(random, unit, ables, TIGHT)


def giant(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """Half of the items in one cluster, the others in threes; skills of one model."""
    (_, unit), *_ = half_in_one(random, n, [0.5], 0.0)
    return _skilled(random, unit, ables, TIGHT)


def _skilled(random: Random, unit: Any, ables: Sequence[float], together: float) -> Sat:
    unit = unit.astype(int)
    worth, k = (1 - together) / together, int(unit.max()) + 1
    chances = [random.beta(able * worth, (1 - able) * worth, size=k)[unit] for able in ables]
    return Sat((random.random((len(ables), len(unit))) < np.array(chances)).astype(float), unit)


def in_lumps(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """The first model fails whole clusters of ten, the others single items."""
    unit = np.arange(n) // LUMP
    lumps = np.repeat(random.random(-(-n // LUMP)) < ables[0], LUMP)[:n]
    rest = [random.random(n) < able for able in ables[1:]]
    return Sat(np.array([lumps, *rest], dtype=float), unit)


def graded(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    return Sat(np.array(grades(random, n, ables, rho)))


def graded_in_fives(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    return Sat(np.array(clustered_grades(random, n, ables, rho)), np.arange(n) // 5)


def steadily(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """The first model's grade is always its ability, the others' all or nothing: equal means, skewed differences."""
    rest = [(random.random(n) < able).astype(float) for able in ables[1:]]
    return Sat(np.array([np.full(n, ables[0]), *rest]))


def several(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """Four askings of each item: its score is their mean."""
    asked = np.array(askings(random, n, ables, rho), dtype=float)
    return Sat(asked.mean(axis=1), asked=asked)


def weighted(random: Random, n: int, ables: Sequence[float], rho: float) -> Sat:
    """Three tasks, equally many items of each, which stand for tasks of other sizes; the first model is better on
    the largest, the second on the others, so that on the whole they are as able as told."""
    task = np.arange(n) % len(TASKS)
    share = np.array(SIZES) / sum(SIZES)
    lean = np.where(np.arange(len(TASKS)) == 2, LEAN, -LEAN * share[2] / (1 - share[2]))
    chances = [able + (lean if k == 0 else -lean)[task] for k, able in enumerate(ables)]
    common, shared = random.random(n), random.random(n) < rho
    luck = [np.where(shared, common, random.random(n)) for _ in ables]
    scores = [one < chance for one, chance in zip(luck, chances, strict=True)]
    return Sat(np.array(scores, dtype=float), weight=(share * len(TASKS))[task], task=task)


# The table -----------------------------------------------------------------------------------------


def _one(*official: str, **other: Any) -> Shape:
    return Shape("exam", {"q": TaskShape("exam", official=official, **other)})


ACCURACY, MEAN = _one("accuracy"), _one("mean", kind="graded")
FULL = {name: TaskShape(name, full_size=int(1000 * size)) for name, size in zip(TASKS, SIZES, strict=True)}

WAYS: Mapping[str, Way] = {
    "rights": Way("right or wrong", plainly, ACCURACY),
    "fives": Way("clusters of 5", in_fives, ACCURACY),
    "skills": Way("clusters of 20, skills of one model", with_skills, ACCURACY),
    "uneven": Way("uneven clusters, skills of one model", unevenly, ACCURACY),
    "giant": Way("half in one cluster", giant, ACCURACY),
    "lumps": Way("clusters of 10, one fails them whole", in_lumps, ACCURACY),
    "grades": Way("graded", graded, MEAN, lambda able: able + (1 - able) / 3),
    "graded fives": Way("graded, clusters of 5", graded_in_fives, MEAN, lambda able: able + (1 - able) / 3),
    "steady": Way("graded, one always the same", steadily, MEAN),
    "askings": Way(f"mean of {ASKINGS} askings", several, ACCURACY),
    "weighted": Way("3 tasks weighted, each better on its own", weighted, Shape("suite", FULL, "micro")),
}
