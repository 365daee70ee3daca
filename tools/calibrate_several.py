"""Simulated exams of three and five models, and of models whose replies fail, that stop when they are decided.

A part of `calibrate_sequential.py`, by the very pairs and stages that decide runs side by side: Holm over all pairs,
and whoever leads pays for items at which it failed for good.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

import numpy as np

from calibrate_walks import WAYS, Sat
from proctor.stats.paired import ALPHA, holm, mcnemar_exact
from proctor.stats.sequential.measure import Measure, measure_of
from proctor.stats.sequential.pair import PairWalk
from proctor.stats.sequential.reading import ItemRead
from proctor.stats.sequential.stages import End, ends

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SeveralCell:
    """Models of these abilities on one exam. `lost` is the share of the first one's wrong answers that are errors."""

    way: str
    items: int
    ables: tuple[float, ...]
    lost: float = 0.0
    rho: float = 0.5


@dataclass(frozen=True, slots=True)
class SeveralHeld:
    """Shares of a cell's exams; `calls` and `median_calls` of the planned calls, `found` and `coverage` of pairs.

    `false`: an equal pair was called different, or a pair the wrong way round. `found` are the pairs that differ and
    were decided (None: all are equal), `reference` what a test of all items with Holm calls falsely.
    """

    cell: SeveralCell
    false: float
    found: float | None
    calls: float
    median_calls: float
    coverage: float
    reference: float
    exams: int


CELLS: tuple[SeveralCell, ...] = (
    *(SeveralCell("rights", n, (0.75,) * k) for k in (3, 5) for n in (200, 1273)),
    SeveralCell("rights", 1273, (0.75, 0.75, 0.65)),
    SeveralCell("rights", 1273, (0.85, 0.75, 0.75)),
    SeveralCell("rights", 1273, (0.75, 0.75, 0.75, 0.65, 0.65)),
    SeveralCell("fives", 1273, (0.75,) * 3),
    SeveralCell("fives", 1273, (0.75, 0.75, 0.65)),
    *(SeveralCell("rights", n, (0.75, 0.75), lost) for lost in (0.2, 0.6) for n in (200, 1273)),
    SeveralCell("rights", 1273, (0.85, 0.75), 0.2),
)


def simulate_several(cell: SeveralCell, exams: int) -> SeveralHeld:
    random = np.random.default_rng([zlib.crc32(repr(cell).encode()), exams])
    way = WAYS[cell.way]
    measure = measure_of(way.shape, {"q": cell.items})
    assert isinstance(measure, Measure)
    differ = [pair for pair in combinations(range(len(cell.ables)), 2) if _apart(cell, pair)]
    false = reference = found = held = 0
    calls = []
    for _ in range(exams):
        sat = way.draw(random, cell.items, cell.ables, cell.rho).shuffled(random)
        lost = (sat.scores[0] == 0) & (random.random(cell.items) < cell.lost)
        pairs = walks(sat, lost, measure)
        ended = ends(pairs, ALPHA)
        wrong = [pair for pair, end in ended.items() if _falsely(cell, pair, end, pairs[pair])]
        false += bool(wrong)
        found += sum(ended[pair].ended == "decided" for pair in differ)
        held += sum(_held(cell, pair, end, pairs[pair]) for pair, end in ended.items())
        reference += _at_the_end(cell, sat, lost)
        calls.append(_calls(ended, pairs, len(cell.ables)) / cell.items)
    return SeveralHeld(
        cell,
        false=false / exams,
        found=found / len(differ) / exams if differ else None,
        calls=math.fsum(calls) / exams,
        median_calls=median(calls),
        coverage=held / exams / math.comb(len(cell.ables), 2),
        reference=reference / exams,
        exams=exams,
    )


def walks(sat: Sat, lost: Any, measure: Measure) -> dict[Pair, PairWalk]:
    """The walks of all pairs, over all items; what the first model `lost` was given up."""
    models = len(sat.scores)
    read = [reads(sat, k, lost if k == 0 else None) for k in range(models)]
    pairs = {}
    for one, other in combinations(range(models), 2):
        pairs[one, other] = walk = PairWalk(measure, ALPHA, alone=models == 2)
        for first, second in zip(read[one], read[other], strict=True):
            walk.add(first, second)
    return pairs


def reads(sat: Sat, model: int, lost: Any) -> list[ItemRead]:
    """A model's items as a decider reads them off a run."""
    units = range(sat.scores.shape[1]) if sat.unit is None else sat.unit.tolist()
    gone = [False] * len(units) if lost is None else lost.tolist()
    return [
        ItemRead("q", f"{i}", unit, f"{i}", None if away else score)
        for i, (unit, score, away) in enumerate(zip(units, sat.scores[model].tolist(), gone, strict=True))
    ]


def _apart(cell: SeveralCell, pair: Pair) -> float:
    """The true difference of a pair."""
    return round(cell.ables[pair[0]] - cell.ables[pair[1]], 9)


def _falsely(cell: SeveralCell, pair: Pair, end: End, walk: PairWalk) -> bool:
    return (
        end.ended == "decided" and walk.path(end.looks, *_of(end)).points[-1].walk * _apart(cell, pair) <= 0
    )


def _of(end: End) -> tuple[Any, float, float]:
    return end.ended, end.alpha, end.p_value


def _held(cell: SeveralCell, pair: Pair, end: End, walk: PairWalk) -> bool:
    if cell.lost:
        return True  # what was lost is no chance of the items: an interval speaks of those that were measured
    low, high = walk.interval(end.looks)
    return low <= _apart(cell, pair) <= high


def _calls(ended: Mapping[Pair, End], pairs: Mapping[Pair, PairWalk], models: int) -> float:
    """Items asked, of each model up to where the last of its pairs ended; their mean."""
    asked = [0] * models
    for pair, end in ended.items():
        for model in pair:
            asked[model] = max(asked[model], pairs[pair].items(end.looks))
    return sum(asked) / models


def _at_the_end(cell: SeveralCell, sat: Sat, lost: Any) -> bool:
    """Whether McNemar of all items that both answered, with Holm, calls an equal pair different."""
    there = ~lost
    p_values = []
    every = list(combinations(range(len(cell.ables)), 2))
    for one, other in every:
        apart = (sat.scores[one] - sat.scores[other])[there if one == 0 else slice(None)]
        p_values.append(mcnemar_exact(int((apart > 0).sum()), int((apart < 0).sum())))
    adjusted = holm(p_values)
    return any(p < ALPHA and not _apart(cell, pair) for pair, p in zip(every, adjusted, strict=True))


# Words ---------------------------------------------------------------------------------------------


def table(found: Sequence[SeveralHeld], misses: Mapping[SeveralCell, bool]) -> Iterator[str]:
    yield "| exam | items | abilities | errors | exams | false | all items | found | calls | median | holds |\n"
    yield "|" + "---|" * 11 + "\n"
    for held in found:
        cell = held.cell
        power = "-" if held.found is None else f"{held.found:.1%}"
        error = math.sqrt(held.false * (1 - held.false) / held.exams)
        coverage = "-" if cell.lost else f"{held.coverage:.1%}"
        figures = [f"{held.false:.1%} ± {error:.1%}", f"{held.reference:.1%}", power]
        figures += [f"{held.calls:.1%}", f"{held.median_calls:.1%}", coverage]
        if misses[cell]:
            figures = [f"**{figure}**" for figure in figures]
        ables = ", ".join(f"{able:g}" for able in cell.ables)
        lost = f"{cell.lost:.0%}" if cell.lost else "none"
        start = f"| {WAYS[cell.way].title} | {cell.items:,} | {ables} | {lost} | {held.exams:,} |"
        yield f"{start} {' | '.join(figures)} |\n"


def named(cell: SeveralCell) -> str:
    ables = ", ".join(f"{able:g}" for able in cell.ables)
    lost = f", errors for {cell.lost:.0%} of the first one's wrong answers" if cell.lost else ""
    return f"{WAYS[cell.way].title}, {cell.items:,} items, abilities {ables}{lost}"
