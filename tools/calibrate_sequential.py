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
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median

import numpy as np

from calibrate_batch import walked_at_once
from calibrate_page import SEQUENTIAL, replaced
from calibrate_several import CELLS, SeveralCell, SeveralHeld, named, simulate_several, table
from calibrate_walks import WAYS, Sat, Way
from proctor.stats.compare import differences, judged
from proctor.stats.paired import ALPHA, mcnemar_exact
from proctor.stats.sequential.flip import FlipWalk
from proctor.stats.sequential.futility import futile
from proctor.stats.sequential.repeated import repeated_interval, repeated_shares
from proctor.stats.sequential.spending import looks_at

EXAMS = 10_000
FEWER = 20  # times, where signs are flipped or pairs are several: that takes longer
PLAIN = "rights"
TOGETHER = 500  # exams at once
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
    found: list[Walked] = []
    while len(found) < exams:
        sats = [
            way.draw(random, cell.items, ables, cell.rho).shuffled(random)
            for _ in range(min(TOGETHER, exams - len(found)))
        ]
        found += walked_signs(sats, gap) if cell.way == PLAIN else [walked(sat, way, gap) for sat in sats]

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


def walked_signs(sats: Sequence[Sat], gap: float) -> Iterator[Walked]:
    """Exams of items that are right or wrong and stand for themselves, many at once; `gap` is the true difference."""
    apart = np.array([sat.differences for sat in sats]).astype(np.int8)
    n = apart.shape[1]
    for row, end in zip(apart, walked_at_once(apart), strict=True):
        only_first = (end.made + end.walk) // 2
        low, high = repeated_shares(only_first, end.made - only_first, end.items, end.critical)
        counts = int((row > 0).sum()), int((row < 0).sum())
        found = end.crossed and not end.futile
        yield Walked(
            crossed=end.crossed,
            found=found,
            wrong=found and end.walk * gap < 0,
            calls=end.items / n,
            futile=end.futile,
            held=low <= gap <= high,
            reference=mcnemar_exact(*counts) < ALPHA,
            discordant=sum(counts) / n,
        )


def walked(sat: Sat, way: Way, gap: float) -> Walked:
    """An exam of two models whose signs are flipped unit by unit, look by look; `gap` is the true difference."""
    apart, n = sat.differences, sat.scores.shape[1]
    units = range(n) if sat.unit is None else sat.unit.tolist()
    steps = list(zip(units, apart.tolist(), strict=True))
    walk = FlipWalk(n, paths=PATHS, key=str(float(apart.sum())), span=1.0)
    ended: tuple[int, bool, bool] | None = None  # items, whether it was given up, whether its interval holds
    for before, t in pairwise((0, *looks_at(n))):
        walk.look(t, steps[before:t])
        given_up = futile(walk)
        if ended is None and (walk.crossed or given_up or t == n):
            low, high = repeated_interval(walk.walk / t, walk.spread / t, walk.critical, most=1.0)
            ended = t, given_up, low <= gap <= high
        if walk.crossed:
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


def _at_the_end(sat: Sat, way: Way) -> bool:
    """Whether the test of all items that a comparison of whole runs has calls one of the two better."""
    whole, _ = differences(sat.rows(0), sat.rows(1), way.shape, tasks=False)
    return "better" in judged(whole, whole.p_value).verdict


# Which cells ---------------------------------------------------------------------------------------

ABLES, RHOS = (0.5, 0.75, 0.95, 0.99), (0.0, 0.5, 0.8)
SMALL, MIDDLE, LARGE = 200, 1273, 14042
GAPS = (0.02, 0.05, 0.1, 0.3)
AROUND, ALIKE = 0.75, 0.57  # models that lie around this ability by 5 points differ on 19 % of the items
OTHERS = tuple(name for name in WAYS if name != "rights")
SKEWED = ("steady", "lumps")  # made for equal models


def cells() -> Iterator[SequentialCell]:
    """Equal models first, those that lie apart after them."""
    for able in ABLES:
        yield from (SequentialCell(PLAIN, n, able, rho) for n in (SMALL, MIDDLE) for rho in RHOS)
        yield SequentialCell(PLAIN, LARGE, able)
    for way in OTHERS:
        yield from (SequentialCell(way, SMALL, able) for able in (0.75, 0.95))
        yield SequentialCell(way, MIDDLE, 0.9)
    yield SequentialCell("fives", LARGE, 0.9)
    for gap in GAPS:
        yield from (_apart(PLAIN, n, gap, ALIKE) for n in (SMALL, MIDDLE, LARGE))
    yield from (_apart(PLAIN, n, 0.05, rho) for n in (SMALL, MIDDLE) for rho in (0.0, 0.8))
    yield from (_apart(way, MIDDLE, 0.1) for way in OTHERS if way not in SKEWED)


def _apart(way: str, n: int, gap: float, rho: float = 0.5) -> SequentialCell:
    return SequentialCell(way, n, round(AROUND + gap / 2, 6), rho, gap)


def exams_of(cell: SequentialCell | SeveralCell, exams: int) -> int:
    """How many exams of a cell: fewer where one takes long."""
    long = cell.way != PLAIN or (isinstance(cell, SeveralCell) and not cell.lost)
    exams = exams // FEWER if long else exams
    return exams // 4 if cell.items == LARGE else exams


def held_by(cell: SequentialCell | SeveralCell, exams: int) -> SequentialHeld | SeveralHeld:
    """What became of a cell's exams, of either kind."""
    return simulate_several(cell, exams) if isinstance(cell, SeveralCell) else simulate(cell, exams)


# The page ------------------------------------------------------------------------------------------


def misses(held: SequentialHeld | SeveralHeld) -> bool:
    """Past its bar; for false verdicts by more than two standard errors of the simulation."""
    false = _false(held)
    return held.coverage < LEAST_COVERAGE or false > MOST_FALSE + 2 * noise(MOST_FALSE, held.exams)


def _false(held: SequentialHeld | SeveralHeld) -> float:
    if isinstance(held, SeveralHeld):
        return held.false
    return 0.0 if held.cell.gap else held.better


def noise(share: float, exams: int) -> float:
    """The standard error of a simulated share."""
    return math.sqrt(share * (1 - share) / exams)


HEAD = f"""{SEQUENTIAL}
Models that are asked side by side stop when a walk of their differences crosses its boundary, or when it hardly can
any more (`proctor run ... --until-decided`). Exams are simulated by the walks that proctor uses, in the order of
asking, with a look after every hundredth of the items. "Better" is how often the walk ever crossed, even where it
would have been given up before, which is the worst for the level; "kept" is how often it did so before it was given
up: that is what a user sees. "All items" is what a test of the whole exam says of the same replies: exact McNemar
where items are right or wrong and stand for themselves, else the test that a comparison of whole runs has. "Calls"
is the share of the planned calls that were made until a verdict or the giving up: the mean, and the median. "Holds"
is how often the repeated interval, where the asking ended, holds the truth. "Differ" is the share of items on which
the models differ.

Walks of items that are right or wrong are simulated many at once, which a test sets against proctor's own, walk by
walk; those whose signs are flipped by proctor's own with {PATHS:,} paths, a quarter of what proctor takes; the level is
exact with any number. The bars: 5 % false "better" with two standard errors of the simulation, and
{LEAST_COVERAGE:.0%} intervals that hold the truth. How a walk stops: [what is computed](statistics.md).
"""
EQUAL = """
### Two equal models: how often one is called better

"""
APART = """
### Two models that lie apart: power, and the calls it takes

Around an ability of 0.75.

"""
SEVERAL = """
### Three and five models, and replies that fail

Decided by Holm over all pairs. "False" is how often an equal pair was called different, or a pair the wrong way round;
"all items" is what exact McNemar of all items with Holm calls falsely, "found" how many of the pairs that differ were
decided. "Errors" is the share of the first model's wrong answers in whose place errors stand for good: McNemar leaves
these items out, and in a walk whoever leads pays for those of its own.

"""
MISSED = "\n### Stopped exams that miss their bar\n\n"
OVER = """
### Stopped exams that show more than 5 %, within the error of the simulation

"""
COLUMNS = "differ | better | kept | all items | given up | calls | median | holds"


def section(found: Sequence[SequentialHeld | SeveralHeld]) -> str:
    order = {cell: place for place, cell in enumerate((*cells(), *CELLS))}
    found = sorted(found, key=lambda held: order[held.cell])
    two = [held for held in found if isinstance(held, SequentialHeld)]
    several = [held for held in found if isinstance(held, SeveralHeld)]
    equal = [held for held in two if not held.cell.gap]
    apart = [held for held in two if held.cell.gap]
    lines = [HEAD, EQUAL, *_table(equal, "ability"), APART, *_table(apart, "points apart")]
    lines += [SEVERAL, *table(several, {held.cell: misses(held) for held in several})]
    lines += [MISSED, *_missed(found), OVER, *_over(found)]
    return "".join(lines)


def _table(found: Sequence[SequentialHeld], column: str) -> Iterator[str]:
    yield f"| exam | items | {column} | exams | {COLUMNS} |\n"
    yield "|" + "---|" * (4 + len(COLUMNS.split("|"))) + "\n"
    for held in found:
        cell = held.cell
        place = f"{100 * cell.gap:g}" if cell.gap else f"{cell.able:g}"
        better = f"{held.better:.1%} ± {noise(held.better, held.exams):.1%}"
        shares = held.found, held.reference, held.futile, held.calls, held.median_calls, held.coverage
        figures = [f"{held.discordant:.0%}", better, *(f"{share:.1%}" for share in shares)]
        if misses(held):
            figures = [f"**{figure}**" for figure in figures]
        yield f"| {WAYS[cell.way].title} | {cell.items:,} | {place} | {held.exams:,} | {' | '.join(figures)} |\n"


def _missed(found: Sequence[SequentialHeld | SeveralHeld]) -> Iterator[str]:
    missed = [held for held in found if misses(held)]
    yield "They are set in bold above.\n\n" if missed else "None.\n"
    for held in missed:
        shares = f"false better {_false(held):.1%}, all items {held.reference:.1%}"
        if isinstance(held, SequentialHeld) and held.cell.gap:
            shares = f"better {held.better:.1%}, all items {held.reference:.1%}"
        yield f"- {_named(held.cell)}: {shares}; the interval holds the truth in {held.coverage:.1%}.\n"


def _over(found: Sequence[SequentialHeld | SeveralHeld]) -> Iterator[str]:
    """As the tables show them, so that each figure above 5 % in them has its name here."""
    within = [held for held in found if not misses(held)]
    over = [held for held in within if float(f"{_false(held):.1%}".rstrip("%")) > 100 * MOST_FALSE]
    if not over:
        yield "None.\n"
    for held in over:
        yield f"- {_named(held.cell)}: {_false(held):.1%}, all items {held.reference:.1%}.\n"


def _named(cell: SequentialCell | SeveralCell) -> str:
    if isinstance(cell, SeveralCell):
        return named(cell)
    apart = f", {100 * cell.gap:g} points apart" if cell.gap else ""
    return f"{WAYS[cell.way].title}, {cell.items:,} items, ability {cell.able:g}, rho {cell.rho:g}{apart}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exams", type=int, default=EXAMS, help="simulated exams a cell")
    parser.add_argument("--small", action="store_true", help="every tenth cell; printed, not written")
    chosen = parser.parse_args(arguments)
    wanted: list[SequentialCell | SeveralCell] = [*cells(), *CELLS]
    wanted = wanted[:: 10 if chosen.small else 1]
    wanted.sort(key=lambda cell: -cell.items)  # the long ones first, so that no core waits at the end
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = []
        for part in as_completed(
            [pool.submit(held_by, cell, exams_of(cell, chosen.exams)) for cell in wanted]
        ):
            held = part.result()
            found.append(held)
            print(f"{len(found)}/{len(wanted)} {held}", file=sys.stderr, flush=True)
    if chosen.small:
        print(section(found))
        return 0
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, SEQUENTIAL, section(found)), encoding="utf-8")
    print(f"{PAGE} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
