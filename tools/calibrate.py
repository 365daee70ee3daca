"""`make calibrate`: simulated exams that say how often the intervals hold the truth and how often "better" is false.

Every cell is a kind of exam: a metric, a number of items, how able the models are, how items hang together. Each
is simulated many times with a seed of its own. Exams of one model show how often the interval holds the true
value; pairs of models that are equally able how often one is called better; pairs that differ how often the
interval holds the true difference. The tables go into docs/calibration.md.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibrate_draws import TIGHT, TOGETHER
from calibrate_kinds import KINDS, Kind
from calibrate_page import first_part
from proctor.findings import Estimate
from proctor.stats.compare import differences, judged
from proctor.stats.estimates import scores
from proctor.stats.metrics import Scored

EXAMS = 2000
LEAST_COVERAGE, MOST_FALSE = 0.92, 0.05
GAP = 0.1
# So many pairs that the whole ends within half an hour on two cores: the largest of the kinds whose
# tests are slow (400 for the others), and the kinds that are tried with unrelated models too.
LARGEST_PAIR = {"accuracy": 1273, "mcc": 1273, "f1a": 56, "words": 56, "pearson": 100, "spearman": 20}
COMMON = ("accuracy", "accuracy, clusters", "mcc", "mean", "suite")
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of exam. `rho` None is one model, else two, the second less able by `gap`.

    `rho` is the share of items on which the two have the same luck, or the correlation of their errors.
    """

    kind: str
    items: int
    able: float
    rho: float | None = None
    gap: float = 0.0


@dataclass(frozen=True, slots=True)
class Held:
    """What became of a cell's exams: shares of them. `better` is None for one model."""

    cell: Cell
    coverage: float
    better: float | None
    exams: int


def simulate(cell: Cell, exams: int, kinds: Mapping[str, Kind] = KINDS) -> Held:
    kind = kinds[cell.kind]
    random = np.random.default_rng([zlib.crc32(repr(cell).encode()), exams])
    ables = [cell.able] if cell.rho is None else [cell.able, round(cell.able - cell.gap, 6)]
    true = kind.true(ables[0]) - (kind.true(ables[1]) if len(ables) > 1 else 0.0)
    held = better = 0
    for _ in range(exams):
        sides = [kind.make(does) for does in kind.draw(random, cell.items, ables, cell.rho or 0.0)]
        found, called = _one(sides[0], kind) if len(sides) == 1 else _two(sides, kind)
        better += called
        if found.low is None or found.high is None:
            held += 1  # an exam that shows no interval claims nothing
        else:
            held += found.low - 1e-9 <= true <= found.high + 1e-9
    return Held(cell, held / exams, None if cell.rho is None else better / exams, exams)


def _one(rows: list[Scored], kind: Kind) -> tuple[Estimate, bool]:
    every = scores(rows, kind.shape)
    return next(score.estimate for score in every if kind.metric in (None, score.metric)), False


def _two(sides: Sequence[list[Scored]], kind: Kind) -> tuple[Estimate, bool]:
    whole, _ = differences(sides[0], sides[1], kind.shape, tasks=False)
    return whole.estimate, "better" in judged(whole, whole.p_value).verdict


def cells(*, small: bool) -> Iterator[Cell]:
    for name, kind in KINDS.items():
        for items in kind.sizes[:1] if small else kind.sizes:
            for able in kind.ables[1:3] if small else kind.ables:
                yield Cell(name, items, able)
        if kind.metric is None:
            yield from _pairs(name, kind, small=small)


def _pairs(name: str, kind: Kind, *, small: bool) -> Iterator[Cell]:
    most = LARGEST_PAIR.get(name, 400)
    for items in kind.sizes[:1] if small else [n for n in kind.sizes if n <= most]:
        yield Cell(name, items, 0.8, 0.4)
        yield Cell(name, items, 0.8, 0.4, GAP)
        if small or items > 400:
            continue
        yield Cell(name, items, 0.8, 0.8)
        if name in COMMON:
            yield Cell(name, items, 0.8, 0.0)
        yield from (Cell(name, items, able, 0.4) for able in kind.ables if able > 0.8)


# The page ----------------------------------------------------------------------------------------


def misses(held: Held) -> bool:
    """Past its bar; for false verdicts by more than two standard errors of the simulation."""
    return held.coverage < LEAST_COVERAGE or _false(held) > MOST_FALSE + 2 * _noise(MOST_FALSE, held.exams)


def _false(held: Held) -> float:
    return 0.0 if held.better is None or held.cell.gap else held.better


def _noise(share: float, exams: int) -> float:
    return math.sqrt(share * (1 - share) / exams)


def page(found: Sequence[Held]) -> str:
    found = sorted(found, key=_place)
    one = [held for held in found if held.cell.rho is None]
    alike = [held for held in found if held.cell.rho is not None and not held.cell.gap]
    apart = [held for held in found if held.cell.gap]
    parts = [HEAD, *_table(one)]
    parts += [ALIKE, *_table(alike), APART, *_table(apart), MISSED, *_missed(found), ""]
    return "\n".join(parts)


HEAD = f"""# Calibration

Written by `make calibrate`: simulated exams, so many a cell as stand in the row, every cell with a seed of its own.
A share of 0.95 has a standard error of {_noise(0.95, 2000):.3f} with 2,000 exams, of {_noise(0.95, 500):.3f} with 500.
Columns are the model's ability: its share of right answers, or the correlation of its numbers with the targets. In
clusters of five, and where large clusters are harder, the items of a cluster correlate by {TOGETHER}, in other
clusters by {TIGHT}. Uneven clusters have lognormal sizes: most have 2 to 20 items, a few over 50. How the intervals
are made: [what is computed](statistics.md).

## One model: how often the 95 % interval holds the true value

The bar is {LEAST_COVERAGE:.0%}. More than 95 % is on the safe side: few items, or shares near 0 or 1, cannot be exact.
"""
ALIKE = """
## Two models that are equally good: how often one is called better

Two figures a cell: the share of comparisons that call one of them better (the bar is 5 %, with two standard errors
of the simulation), and the share whose interval of the difference holds 0. `rho` is the share of items on which
both have the same luck, or the correlation of their errors.
"""
APART = f"""
## Two models that differ by {GAP:.0%} in ability: how often the better one is found

Two figures a cell: the share of comparisons that call one of them better, and the share whose interval holds the true
difference (the bar is {LEAST_COVERAGE:.0%}). Few items seldom find a difference: see `proctor plan`.
"""
MISSED = """
## Cells that miss their bar
"""
NARROW = "the interval is too narrow: take it for one of {coverage:.0%}, not of 95 %, and ask more items to rely on it"
FALSE = "too many false verdicts: take an adjusted p of 0.02 to 0.05 as no difference shown"


def _table(held: Sequence[Held]) -> Iterator[str]:
    ables = sorted({each.cell.able for each in held})
    pairs = any(each.cell.rho is not None for each in held)
    yield f"| metric | items | exams |{' rho |' if pairs else ''} {' | '.join(f'{able:g}' for able in ables)} |"
    yield "|" + "---|" * (len(ables) + (4 if pairs else 3))
    rows: dict[tuple[Any, ...], dict[float, Held]] = {}
    for each in held:
        place = each.cell.kind, each.cell.items, each.exams, each.cell.rho
        rows.setdefault(place, {})[each.cell.able] = each
    for (kind, items, exams, rho), by_able in rows.items():
        start = f"| {KINDS[kind].title} | {items:,} | {exams:,} |{f' {rho:g} |' if pairs else ''}"
        yield f"{start} {' | '.join(_figure(by_able.get(able)) for able in ables)} |"


def kept(text: str) -> list[Held]:
    """What a written page holds of kinds that still are: its figures as they stand there, rounded."""
    kinds = {kind.title: name for name, kind in KINDS.items()}
    found: list[Held] = []
    names: list[str] = []
    gap = 0.0
    for line in text.splitlines():
        gap = GAP if line.startswith("## Two models that differ") else gap
        cells = [cell.strip(" *") for cell in line.strip("|").split("|")] if line.startswith("| ") else []
        if cells and cells[0] == "metric":
            names = cells
        elif cells and cells[0] in kinds:
            found += _row(kinds[cells[0]], dict(zip(names, cells, strict=True)), gap)
    return found


def _row(kind: str, cells: Mapping[str, str], gap: float) -> Iterator[Held]:
    rho = float(cells["rho"]) if "rho" in cells else None
    for name, text in cells.items():
        if name in ("metric", "items", "exams", "rho") or text == "-":
            continue
        *better, coverage = (float(share) / 100 for share in text.replace("%", "").split(","))
        cell = Cell(kind, _count(cells["items"]), float(name), rho, 0.0 if rho is None else gap)
        yield Held(cell, coverage, better[0] if better else None, _count(cells["exams"]))


def _count(text: str) -> int:
    return int(text.replace(",", ""))


def _figure(held: Held | None) -> str:
    if held is None:
        return "-"
    both = [] if held.better is None else [f"{held.better:.1%}"]
    text = ", ".join([*both, f"{held.coverage:.1%}"])
    return f"**{text}**" if misses(held) else text


def _missed(found: Sequence[Held]) -> Iterator[str]:
    missed = [held for held in found if misses(held)]
    if not missed:
        yield "None."
        return
    yield "They are set in bold above."
    yield ""
    for held in missed:
        cell = held.cell
        who = "one model" if cell.rho is None else f"two models, rho {cell.rho:g}"
        who += f", apart by {cell.gap:g}" if cell.gap else ""
        what = []
        if held.coverage < LEAST_COVERAGE:
            what.append(f"coverage {held.coverage:.1%}: {NARROW.format(coverage=held.coverage)}")
        if _false(held) > MOST_FALSE:
            what.append(f"false verdicts {held.better:.1%}: {FALSE}")
        yield f"- {KINDS[cell.kind].title}, {cell.items:,} items, ability {cell.able:g}, {who}: {'; '.join(what)}."


def _place(held: Held) -> tuple[float, ...]:
    cell = held.cell
    return list(KINDS).index(cell.kind), cell.items, cell.rho or 0, cell.able


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exams", type=int, default=EXAMS, help="simulated exams a cell")
    parser.add_argument("--small", action="store_true", help="few cells; the page is printed, not written")
    parser.add_argument(
        "--only", choices=KINDS, nargs="+", help="these kinds of exams; the page keeps its other rows"
    )
    chosen = parser.parse_args(arguments)
    wanted = [cell for cell in cells(small=chosen.small) if not chosen.only or cell.kind in chosen.only]
    wanted.sort(key=lambda cell: -cell.items)  # the long ones first, so that no core waits at the end
    found = []
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for held in pool.map(simulate, wanted, [chosen.exams] * len(wanted)):
            found.append(held)
            print(f"{len(found)}/{len(wanted)} {held}", file=sys.stderr, flush=True)
    if chosen.small:
        print(page(found))
    else:
        written = PAGE.read_text(encoding="utf-8")
        others = kept(written) if chosen.only else []
        made = {held.cell for held in found}
        text = page([*found, *(o for o in others if o.cell not in made)])
        PAGE.write_text(text + written.removeprefix(first_part(written)), encoding="utf-8")
        print(f"{PAGE} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
