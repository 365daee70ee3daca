"""Simulated judges corrected by simulated people: does the interval hold the truth, how often is "better" false.

A part of `make calibrate`. Every cell is a judge of some accuracy and leaning, a number of labels drawn at random
among 1,000 items more, models of some ability, and items alone or in clusters. It is simulated many times with a
seed of its own. Beside the corrected score stand what would be quoted, which may be the labels alone, and what the
judge says by itself. The tables are the last part of docs/calibration.md.
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
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from calibrate_draws import TOGETHER, Random
from calibrate_page import JUDGED, replaced
from proctor.findings import Estimate
from proctor.stats.judged.alone import EQUAL, Judged
from proctor.stats.judged.prediction import better, corrected

EXAMS = 2000
OTHERS = 1000  # items without a label
LABELS, RIGHT, ABLES = (30, 100, 300), (0.7, 0.85, 0.95), (0.5, 0.7, 0.95)
LEAST_COVERAGE, MOST_FALSE = 0.92, 0.05
KIND_TO, LONG_PULLS, FAVOURS = 0.2, 0.3, 0.3  # of its verdicts, how many a leaning judge turns to "right"
RHO = 0.4  # of the items on which both models have the same luck
GAP = 0.1
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"


@dataclass(frozen=True, slots=True)
class JudgeCell:
    """What is judged, by whom, and how many labels. `size` is that of the clusters, 1 where there are none."""

    what: str
    leaning: str
    right: float
    labels: int
    able: float
    size: int = 1


@dataclass(frozen=True, slots=True)
class JudgeHeld:
    """Shares of a cell's exams, of the corrected score, the quoted one, and the judge's own."""

    cell: JudgeCell
    coverage: tuple[float, float, float]
    better: tuple[float, float, float]
    exams: int


@dataclass(frozen=True, slots=True)
class What:
    """A kind of thing that is judged, the leanings it is tried with, and whether one model is in truth better."""

    title: str
    kind: Judged
    leanings: tuple[str, ...]
    gap: float = 0.0


WHATS = {
    "grades": What("right or wrong", "grades", ("none", "kind", "longer")),
    "fifths": What("1 to 5", "grades", ("none", "kind")),
    "equal": What("two equal models", "differences", ("none", "favours", "longer")),
    "apart": What("two models 10 points apart", "differences", ("none", "favours"), GAP),
    "preferences": What("preferences between equal models", "preferences", ("none", "favours")),
}
CLUSTERED = {"grades": "kind", "equal": "favours"}  # tried in clusters too, with this leaning
SIZES = (5, 50)


def cells() -> Iterator[JudgeCell]:
    for name, what in WHATS.items():
        for leaning in what.leanings:
            sizes = (1, *SIZES) if CLUSTERED.get(name) == leaning else (1,)
            for size, right, labels, able in product(sizes, RIGHT, LABELS, ABLES):
                yield JudgeCell(name, leaning, right, labels, able, size)


# What people and judges say ------------------------------------------------------------------------


def simulate(cell: JudgeCell, exams: int) -> JudgeHeld:
    what = WHATS[cell.what]
    random = np.random.default_rng([zlib.crc32(repr(cell).encode()), exams])
    true = what.gap if what.kind == "differences" else EQUAL[what.kind]
    true = cell.able if true is None else true
    held, called = np.zeros(3), np.zeros(3)
    for _ in range(exams):
        found = _exam(random, cell, what)
        three = (found.corrected, found.p_value), (found.quoted, found.quoted_p_value)
        for i, (estimate, p) in enumerate((*three, (found.judge, found.judge_p_value))):
            held[i] += _holds(estimate, true)
            called[i] += better(estimate, p, null=EQUAL[what.kind] or 0.0) is not None
    coverage, shares = (held / exams).tolist(), (called / exams).tolist()
    return JudgeHeld(cell, tuple(coverage), tuple(shares), exams)


def _holds(estimate: Estimate, true: float) -> bool:
    if estimate.low is None or estimate.high is None:
        return True  # no interval claims nothing
    return estimate.low - 1e-9 <= true <= estimate.high + 1e-9


def _exam(random: Random, cell: JudgeCell, what: What) -> Any:
    n = cell.labels + OTHERS
    cluster = np.arange(n) // cell.size
    if what.kind == "preferences":
        told, said = _preferences(random, cell, n)
    elif what.kind == "differences":
        told, said = _two_models(random, cell, what, cluster)
    elif cell.what == "fifths":
        told, said = _fifths(random, cell, n)
    else:
        told = _rights(random, [cell.able], cluster)[0]
        said = _verdicts(random, cell, told, cluster, leans=True)
    order = random.permutation(n)
    told, said, cluster = told[order], said[order], cluster[order]
    labels = cell.labels
    keys = None
    if cell.size > 1:
        names = [f"c{place}" for place in cluster.tolist()]
        keys = names[:labels], names[labels:]
    return corrected(told[:labels].tolist(), said[:labels].tolist(), said[labels:].tolist(), keys, what.kind)


def _rights(random: Random, ables: Sequence[float], cluster: Any) -> list[Any]:
    """Right or wrong, model by model; clusters are easy or hard for all models."""
    n = len(cluster)
    common, shared = random.random(n), random.random(n) < RHO
    easy = random.random(int(cluster[-1]) + 1) if cluster[-1] + 1 < n else None
    found = []
    for able in ables:
        chance = able if easy is None else _hanging(random, easy, able)[cluster]
        found.append((np.where(shared, common, random.random(n)) < chance).astype(float))
    return found


def _hanging(random: Random, easy: Any, able: float) -> Any:
    """A chance for each cluster, Beta distributed; the same for all models that are as able."""
    seeded = np.random.default_rng(int(easy[0] * 2**32))
    worth = (1 - TOGETHER) / TOGETHER
    return seeded.beta(able * worth, (1 - able) * worth, size=len(easy))


def _verdicts(
    random: Random, cell: JudgeCell, told: Any, cluster: Any, *, leans: bool, long: float = 0.5
) -> Any:
    """A judge's verdicts on right and wrong replies; in clusters its errors hang together as well.

    Longer replies are right more often, and `long` says how often a model's are the longer ones.
    """
    n = len(told)
    sure = cell.right
    if cell.size > 1:
        sure = _hanging(random, random.random(int(cluster[-1]) + 1), cell.right)[cluster]
    said = np.where(random.random(n) < sure, told, 1 - told)
    if cell.leaning == "longer":
        longer = random.random(n) < long + 0.1 * (2 * told - 1)
        return np.where(longer & (random.random(n) < LONG_PULLS), 1.0, said)
    if cell.leaning == "none" or not leans:
        return said
    pull = KIND_TO if cell.leaning == "kind" else FAVOURS
    return np.where(random.random(n) < pull, 1.0, said)


def _two_models(random: Random, cell: JudgeCell, what: What, cluster: Any) -> tuple[Any, Any]:
    """Differences of two models. A judge that favours one favours the second: where one is better, the worse."""
    first, second = _rights(random, [cell.able, cell.able - what.gap], cluster)
    one = _verdicts(random, cell, first, cluster, leans=False, long=0.3)
    two = _verdicts(random, cell, second, cluster, leans=True, long=0.7)
    return first - second, one - two


def _fifths(random: Random, cell: JudgeCell, n: int) -> tuple[Any, Any]:
    """Grades from 1 to 5, as 0 to 1, with the mean of the ability; a judge that errs is one or two off."""
    told = random.binomial(4, np.clip(random.beta(2 * cell.able, 2 * (1 - cell.able), size=n), 0, 1))
    off = np.where(random.random(n) < cell.right, 0, random.choice([-2, -1, 1, 2], size=n))
    said = np.clip(told + off, 0, 4)
    if cell.leaning == "kind":
        said = np.minimum(4, said + (random.random(n) < KIND_TO))
    return told / 4, said / 4


def _preferences(random: Random, cell: JudgeCell, n: int) -> tuple[Any, Any]:
    """1, 0.5 and 0 for the first of two equal models; the ability is the share of pairs that are no tie."""
    grades = np.array([1.0, 0.5, 0.0])
    told = random.choice(grades, size=n, p=[cell.able / 2, 1 - cell.able, cell.able / 2])
    said = np.where(random.random(n) < cell.right, told, random.choice(grades, size=n))
    return told, np.where((random.random(n) < FAVOURS) & (cell.leaning == "favours"), 0.0, said)


# The page ------------------------------------------------------------------------------------------


def misses(held: JudgeHeld) -> bool:
    """Corrected or quoted, past its bar; for false verdicts by more than two standard errors of the simulation."""
    most = MOST_FALSE + 2 * math.sqrt(MOST_FALSE * (1 - MOST_FALSE) / held.exams)
    return min(held.coverage[:2]) < LEAST_COVERAGE or (_equal(held) and max(held.better[:2]) > most)


def _equal(held: JudgeHeld) -> bool:
    what = WHATS[held.cell.what]
    return what.kind != "grades" and not what.gap


JUDGES = f"{RIGHT[0]:.0%}, {RIGHT[1]:.0%} or {RIGHT[2]:.0%}"
HEAD = f"""{JUDGED}
A simulated judge that is right about {JUDGES} of the replies grades every item; people label 30, 100 or 300
that are drawn at random, and {OTHERS:,} items have no label. A judge that leans grades some replies right
whatever they say: "kind" {KIND_TO:.0%} of all (of 1 to 5: one grade more), "favours" {FAVOURS:.0%} of one model's (of
preferences: it prefers that model's), "longer" {LONG_PULLS:.0%} of the longer ones. Longer replies are right more
often too, and one of two models has them more often. In clusters of 5 and 50 both what is right and the judge's
errors hang together (by {TOGETHER}). Columns are the models' ability, of preferences the share that are no tie.

Three figures a cell: of the corrected score, of what is quoted (which may be the labels alone), and of the judge alone.
The bar is {LEAST_COVERAGE:.0%}, and 5 % false "better" with two standard errors of the simulation, for the first two;
the judge alone has none. How the score is corrected: [what is computed](statistics.md).
"""
COVERAGE = "\n### How often the interval holds the truth\n"
FALSE = "\n### Two equal models: how often one is called better\n"
POWER = """
### Two models 10 points apart: how often one is called better

The judge that favours one favours the worse.
"""
MISSED = "\n### Judged cells that miss their bar\n"
OVER = """
### Judged cells that show more than 5 %, within the error of the simulation
"""


def section(found: Sequence[JudgeHeld]) -> str:
    order = {cell: place for place, cell in enumerate(cells())}
    found = sorted(found, key=lambda held: order[held.cell])
    equal = [held for held in found if _equal(held)]
    apart = [held for held in found if WHATS[held.cell.what].gap]
    lines = [HEAD, COVERAGE, *_table(found, "coverage"), FALSE, *_table(equal, "better")]
    lines += [POWER, *_table(apart, "better"), MISSED, *_missed(found), OVER, *_over(equal), ""]
    return "\n".join(lines)


def _table(found: Sequence[JudgeHeld], which: str) -> Iterator[str]:
    yield f"| judged | items | judge | leaning | labels | exams | {' | '.join(f'{able:g}' for able in ABLES)} |"
    yield "|" + "---|" * (6 + len(ABLES))
    rows: dict[tuple[Any, ...], dict[float, JudgeHeld]] = {}
    for held in found:
        cell = held.cell
        place = cell.what, cell.size, cell.right, cell.leaning, cell.labels, held.exams
        rows.setdefault(place, {})[cell.able] = held
    for (what, size, right, leaning, labels, exams), by_able in rows.items():
        items = "alone" if size == 1 else f"in {size}s"
        figures = " | ".join(_figure(by_able.get(able), which) for able in ABLES)
        yield f"| {WHATS[what].title} | {items} | {right:.0%} | {leaning} | {labels} | {exams:,} | {figures} |"


def _figure(held: JudgeHeld | None, which: str) -> str:
    if held is None:
        return "-"
    shares = held.coverage if which == "coverage" else held.better
    text = ", ".join(f"{share:.1%}" for share in shares)
    return f"**{text}**" if misses(held) else text


def _missed(found: Sequence[JudgeHeld]) -> Iterator[str]:
    missed = [held for held in found if misses(held)]
    yield "They are set in bold above.\n" if missed else "None."
    for held in missed:
        shares = f"coverage {held.coverage[0]:.1%}, quoted {held.coverage[1]:.1%}"
        if _equal(held):
            shares += f"; false verdicts {held.better[0]:.1%}, quoted {held.better[1]:.1%}"
        yield f"- {_named(held.cell)}: {shares}."


def _over(found: Sequence[JudgeHeld]) -> Iterator[str]:
    """As the table shows them, so that each figure above 5 % in it has its name here."""
    within = [held for held in found if not misses(held)]
    over = [held for held in within if max(map(_shown_percent, held.better[:2])) > 100 * MOST_FALSE]
    if not over:
        yield "None."
    for held in over:
        yield f"- {_named(held.cell)}: {held.better[0]:.1%}, quoted {held.better[1]:.1%}."


def _named(cell: JudgeCell) -> str:
    items = "" if cell.size == 1 else f", clusters of {cell.size}"
    judge = f"a judge of {cell.right:.0%} ({cell.leaning}), {cell.labels} labels, {cell.able:g}{items}"
    return f"{WHATS[cell.what].title}, {judge}"


def _shown_percent(share: float) -> float:
    return float(f"{share:.1%}".rstrip("%"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exams", type=int, default=EXAMS, help="simulated exams a cell")
    parser.add_argument("--small", action="store_true", help="every tenth cell; printed, not written")
    chosen = parser.parse_args(arguments)
    wanted = list(cells())[:: 10 if chosen.small else 1]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = []
        for held in pool.map(simulate, wanted, [chosen.exams] * len(wanted)):
            found.append(held)
            print(f"{len(found)}/{len(wanted)} {held}", file=sys.stderr, flush=True)
    if chosen.small:
        print(section(found))
        return 0
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, JUDGED, section(found)), encoding="utf-8")
    print(f"{PAGE} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
