"""Many walks of right and wrong at once, look by look: what `SignWalk` and `futile` say of each, forty times as quick.

A test sets them against those, walk by walk.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import Any

import numpy as np

from proctor.stats.paired import ALPHA
from proctor.stats.sequential.futility import FROM, HOPE, UNDER
from proctor.stats.sequential.spending import budget, looks_at

SINGLE = NormalDist().inv_cdf(1 - ALPHA / 2)
HARDLY = NormalDist().inv_cdf(UNDER)


@dataclass(frozen=True, slots=True)
class WalkEnd:
    """How an exam ended: whether its walk `crossed` at any look, and how it stood when it was stopped or given up."""

    crossed: bool
    items: int
    futile: bool
    walk: int
    made: int
    critical: float | None


class _Fronts:
    """The distributions of |S| of many walks, each cut at its own boundary; columns are places from 0 on."""

    def __init__(self, exams: int, n: int) -> None:
        self.n = n
        self.mass = np.ones((exams, 1))
        self.spent = np.zeros(exams)
        self.made = np.zeros(exams, dtype=np.int64)

    def advance(self, t: int, made: Any) -> Any:
        """Spread each by its own number of steps, and cut: the boundaries, infinite where no walk comes so far."""
        steps = int(made.max())
        self.mass = np.pad(self.mass, ((0, 0), (0, steps)))
        for step in range(steps):
            going = np.flatnonzero(made > step)
            self.mass[going] = _stepped(self.mass[going])
        self.made += made
        tails = np.cumsum(self.mass[:, ::-1], axis=1)[:, ::-1]
        beyond = tails > (budget(ALPHA, t, self.n) - self.spent)[:, None]
        kept = beyond.sum(axis=1)
        self.spent += np.pad(tails, ((0, 0), (0, 1)))[np.arange(len(tails)), kept]
        self.mass = np.where(beyond, self.mass, 0.0)[:, : max(1, int(kept.max()))]
        bounds = kept + (kept + self.made) % 2  # a walk stands only at places of its own parity
        return np.where(bounds <= self.made, bounds, np.inf)


def _stepped(mass: Any) -> Any:
    """One step up or down, from 0 up alone."""
    found = np.zeros_like(mass)
    found[:, 1:] = mass[:, :-1] / 2
    found[:, 1] += mass[:, 0] / 2
    found[:, :-1] += mass[:, 1:] / 2
    return found


def walked_at_once(apart: Any) -> Iterator[WalkEnd]:
    """The ends of exams' walks; `apart` (exams, items) is -1, 0 or 1 for each item, in the order of asking."""
    exams, n = apart.shape
    fronts, walk = _Fronts(exams, n), np.zeros(exams, dtype=np.int64)
    crossed, ended = np.zeros(exams, dtype=bool), np.zeros(exams, dtype=bool)
    items, given_up = np.zeros(exams, dtype=np.int64), np.zeros(exams, dtype=bool)
    stood = np.zeros((3, exams))  # the walk, its steps and its boundary where it ended
    for before, t in pairwise((0, *looks_at(n))):
        new = apart[:, before:t]
        walk += new.sum(axis=1).astype(np.int64)
        bounds = fronts.advance(t, (new != 0).sum(axis=1))
        crossed |= np.abs(walk) >= bounds
        futile = ~crossed & _hardly(np.abs(walk), fronts.made, t, n)
        now = ~ended & (crossed | futile | (t == n))
        items[now], given_up[now] = t, futile[now]
        stood[:, now] = walk[now], fronts.made[now], bounds[now]
        ended |= now
        if ended.all() and crossed.all():
            break
    for k in range(exams):
        at, made, bound = stood[:, k].tolist()
        critical = bound / math.sqrt(made) if math.isfinite(bound) else None
        yield WalkEnd(bool(crossed[k]), int(items[k]), bool(given_up[k]), int(at), int(made), critical)


def _hardly(far: Any, made: Any, t: int, n: int) -> Any:
    """Whether the conditional power is under its bar, see `futility.conditional_power`."""
    if t < FROM * n or t == n:
        return np.zeros(len(far), dtype=bool)
    rest, spread = n - t, np.sqrt(made)
    over = far + rest * (far + HOPE * spread) / t - SINGLE * spread * math.sqrt(n / t)
    return (made > 0) & (over < HARDLY * spread * math.sqrt(rest / t))
