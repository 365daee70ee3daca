"""Simulated exams that stop when they are decided: how often is "better" false, how many calls does it take.

A part of `make calibrate`. Every cell is a kind of exam, a number of items, how able the models are, how many
models. It is simulated many times with a seed of its own by the walks that proctor itself uses. What is counted as
false goes on where proctor would have given a pair up, which is the worst for it. Beside stands in the same exams
what a test of all items says (exact McNemar where items are right or wrong). The tables go into docs/calibration.md.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from calibrate_page import SEQUENTIAL, replaced
from calibrate_walks import WAYS, Sat, Way
from proctor.stats.compare import differences, judged
from proctor.stats.paired import ALPHA, mcnemar_exact
from proctor.stats.sequential.flip import FlipWalk
from proctor.stats.sequential.futility import futile
from proctor.stats.sequential.repeated import repeated_interval, repeated_shares
from proctor.stats.sequential.sign import SignWalk
from proctor.stats.sequential.spending import looks_at

EXAMS = 2000
FEWER = 4  # times, where a walk of signs is flipped: it takes as much longer
PATHS = 8192  # of a walk whose signs are flipped, a quarter of proctor's; the level is exact with any number
MOST_FALSE, LEAST_COVERAGE = 0.05, 0.92
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


@dataclass(frozen=True, slots=True)
class SequentialCell:
    """Two models on exams of one way. The second is less able by `gap`; `rho` as in `calibrate.Cell`."""

    way: str
    items: int
    able: float
    rho: float = 0.5
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class SequentialHeld:
    """What became of a cell's exams. Shares of them, but for `calls` and `median_calls`, shares of the planned calls.

    `better` counts what crossed at any look, given up or not; `found` what did before it would have been given up;
    `wrong` where the worse was called better. `discordant` is the share of items on which the two differ.
    """

    cell: SequentialCell
    better: float
    found: float
    wrong: float
    calls: float
    median_calls: float
    futile: float
    coverage: float
    reference: float
    discordant: float
    exams: int


@dataclass(frozen=True, slots=True)
class Walked:
    """One exam: whether it ever crossed, where it ended as proctor ends it, and whether its interval held the truth."""

    crossed: bool
    found: bool
    wrong: bool
    calls: float
    futile: bool
    held: bool
    reference: bool
    discordant: float


def simulate(cell: SequentialCell, exams: int) -> SequentialHeld:
    random = np.random.default_rng([zlib.crc32(repr(cell).encode()), exams])
    way, ables = WAYS[cell.way], (cell.able, round(cell.able - cell.gap, 6))
    gap = way.mean(ables[0]) - way.mean(ables[1])
    found = [
        walked(way.draw(random, cell.items, ables, cell.rho).shuffled(random), way, gap)
        for _ in range(exams)
    ]

    def share(name: str) -> float:
        return math.fsum(getattr(one, name) for one in found) / exams

    return SequentialHeld(
        cell,
        better=share("crossed"),
        found=share("found"),
        wrong=share("wrong"),
        calls=share("calls"),
        median_calls=median(one.calls for one in found),
        futile=share("futile"),
        coverage=share("held"),
        reference=share("reference"),
        discordant=share("discordant"),
        exams=exams,
    )


def walked(sat: Sat, way: Way, gap: float) -> Walked:
    """An exam of two models, look by look; `gap` is the true difference."""
    apart, n = sat.differences, sat.scores.shape[1]
    walk = SignWalk(n) if sat.exact else FlipWalk(n, paths=PATHS, span=1.0)
    steps: list[Any] = apart.tolist()
    if sat.unit is not None:
        steps = list(zip(sat.unit.tolist(), steps, strict=True))
    ended: tuple[int, bool, bool] | None = None  # items, whether it was given up, whether the interval holds
    for before, t in pairwise((0, *looks_at(n))):
        walk.look(t, steps[before:t])
        given_up = futile(walk)
        if ended is None and (walk.crossed or given_up or t == n):
            low, high = _interval(sat, walk, t)
            ended = t, given_up, low - 1e-9 <= gap <= high + 1e-9
        if walk.crossed or (ended is not None and gap):
            break
    assert ended is not None
    found = walk.crossed and not ended[1]
    return Walked(
        crossed=walk.crossed,
        found=found,
        wrong=found and walk.walk * gap < 0,
        calls=ended[0] / n,
        futile=ended[1],
        held=ended[2],
        reference=_at_the_end(sat, way),
        discordant=float((apart != 0).mean()),
    )


def _interval(sat: Sat, walk: SignWalk | FlipWalk, t: int) -> tuple[float, float]:
    if isinstance(walk, SignWalk):
        only_first = (walk.made + walk.walk) // 2
        return repeated_shares(only_first, walk.made - only_first, t, walk.critical)
    return repeated_interval(walk.walk / t, walk.spread / t, walk.critical, most=1.0)


def _at_the_end(sat: Sat, way: Way) -> bool:
    """Whether a test of all items calls one of the two better."""
    if sat.exact:
        apart = sat.differences
        return mcnemar_exact(int((apart > 0).sum()), int((apart < 0).sum())) < ALPHA
    whole, _ = differences(sat.rows(0), sat.rows(1), way.shape, tasks=False)
    return "better" in judged(whole, whole.p_value).verdict
