"""`make calibrate`: simulated exams that say how often the intervals hold the truth and how often "better" is false.

Every cell is a kind of exam: a metric, a number of items, how able the model is, how items hang together. Each
is simulated many times with a seed of its own. Exams of one model show how often the interval holds the true
value; pairs of models that are equally able show how often one is called better, and how often the interval of
the difference holds 0. The table goes into docs/calibration.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proctor.stats.compare import differences, judged
from proctor.stats.estimates import Shape, TaskShape, scores
from proctor.stats.metrics import Scored
from proctor.types import Outcome

EXAMS = 2000
LEAST_COVERAGE, MOST_FALSE = 0.92, 0.05
PAGE = Path(__file__).parents[1] / "docs" / "calibration.md"
TRUTH_ITEMS = 400_000  # of the one exam that the true value is taken from
Random = np.random.Generator


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of exam. `rho` None is one model; else two, whose items agree by chance and by that share besides."""

    kind: str
    items: int
    able: float
    rho: float | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """What became of a cell's exams: shares of them. `false` is None for a single model."""

    cell: Cell
    coverage: float
    false: float | None
    width: float


@dataclass(frozen=True, slots=True)
class Kind:
    """How exams of a kind are made: `draw` says what each model does, `make` writes it down as rows."""

    title: str
    shape: Shape
    make: Callable[[Random, Any], list[Scored]]
    draw: Callable[[Random, int, float, float | None], list[Any]]
    sizes: tuple[int, ...] = (20, 56, 100, 277, 1273)
    ables: tuple[float, ...] = (0.5, 0.8, 0.95, 0.99)


# Answers -----------------------------------------------------------------------------------------


def rights(random: Random, items: int, able: float, rho: float | None) -> list[Any]:
    """For each model, whether each item was right; with `rho`, that share of the items goes the same way for both."""
    common, shared = random.random(items) < able, random.random(items) < (rho or 0.0)
    models = 1 if rho is None else 2
    return [np.where(shared, common, random.random(items) < able) for _ in range(models)]


def clustered(random: Random, items: int, able: float, rho: float | None) -> list[Any]:
    """Clusters of five, each with an ability of its own (Beta, intra-cluster correlation 0.3)."""
    spread = (1 - 0.3) / 0.3
    groups = -(-items // 5)
    ability = np.repeat(random.beta(able * spread, (1 - able) * spread, size=groups), 5)[:items]
    shared = random.random(items) < (rho or 0.0)
    common = random.random(items) < ability
    models = 1 if rho is None else 2
    return [np.where(shared, common, random.random(items) < ability) for _ in range(models)]


def noises(random: Random, items: int, able: float, rho: float | None) -> list[Any]:
    """Numbers that correlate with their targets by `able`, and with each other's errors by `rho`."""
    targets = random.normal(size=items)
    common = random.normal(size=items)
    share = rho or 0.0
    made = []
    for _ in range(1 if rho is None else 2):
        error = np.sqrt(share) * common + np.sqrt(1 - share) * random.normal(size=items)
        made.append((targets, able * targets + np.sqrt(1 - able**2) * error))
    return made


def grades(random: Random, items: int, able: float, rho: float | None) -> list[Any]:
    """Scores between 0 and 1: all right with probability `able`, else somewhere between."""
    return [
        np.where(right, 1.0, random.beta(0.5, 1.0, size=items)) for right in rights(random, items, able, rho)
    ]


def several(random: Random, items: int, able: float, rho: float | None) -> list[Any]:
    """Four askings of each item, whose chance to be right is drawn for the item."""
    spread = 2.0
    common = random.beta(able * spread, (1 - able) * spread, size=items)
    shared = random.random(items) < (rho or 0.0)
    made = []
    for _ in range(1 if rho is None else 2):
        chance = np.where(shared, common, random.beta(able * spread, (1 - able) * spread, size=items))
        made.append(random.random((4, items)) < chance)
    return made


# Rows --------------------------------------------------------------------------------------------


def row(task: str, place: int, right: bool, **other: Any) -> Scored:
    facts: dict[str, Any] = {
        "target": "yes",
        "answer": "yes" if right else "no",
        "outcome": Outcome.CORRECT if right else Outcome.WRONG,
        "score": float(right),
    }
    return Scored(item=f"{task}/{place}", task=task, **{**facts, **other})


def labelled(names: Sequence[str]) -> Callable[[Random, Any], list[Scored]]:
    """Targets go round the labels; a wrong answer is the next label."""

    def make(random: Random, right: Any) -> list[Scored]:
        found = []
        for i, ok in enumerate(right.tolist()):
            target = names[i % len(names)]
            answer = target if ok else names[(i + 1) % len(names)]
            found.append(row("q", i, ok, target=target, answer=answer))
        return found

    return make


def plain(random: Random, right: Any) -> list[Scored]:
    return [row("q", i, ok) for i, ok in enumerate(right.tolist())]


def in_fives(random: Random, right: Any) -> list[Scored]:
    return [row("q", i, ok, cluster=f"c{i // 5}") for i, ok in enumerate(right.tolist())]


def candidates(random: Random, right: Any) -> list[Scored]:
    """Questions with two right letters of four; a wrong reply gives one of them and one that is wrong."""
    return [
        row("q", i, ok, target="A,B", answer="A,B" if ok else "A,C", candidates=4, cluster=f"c{i // 5}")
        for i, ok in enumerate(right.tolist())
    ]


def numbers(random: Random, both: Any) -> list[Scored]:
    return [
        row("q", i, True, target=repr(target), answer=repr(said))
        for i, (target, said) in enumerate(zip(both[0].tolist(), both[1].tolist(), strict=True))
    ]


def graded(random: Random, values: Any) -> list[Scored]:
    return [row("q", i, value == 1, score=value) for i, value in enumerate(values.tolist())]


def repeated(random: Random, right: Any) -> list[Scored]:
    return [row("q", i, ok, repeat=k) for k, asked in enumerate(right.tolist()) for i, ok in enumerate(asked)]


def four_tasks(random: Random, right: Any) -> list[Scored]:
    """A quarter of the items each: labels by MCC, by F1, plain, and clusters of five."""
    quarters = np.array_split(right, 4)
    makers = (labelled(("no", "yes")), labelled(("no", "yes")), plain, in_fives)
    return [
        replace(made, task=task, item=made.item.replace("q/", f"{task}/"))
        for task, make, quarter in zip("abcd", makers, quarters, strict=True)
        for made in make(random, quarter)
    ]


def limited(random: Random, right: Any) -> list[Scored]:
    """Three tasks asked alike, whose full sets differ much."""
    thirds = np.array_split(right, 3)
    return [
        row(task, i, ok)
        for task, third in zip("abc", thirds, strict=True)
        for i, ok in enumerate(third.tolist())
    ]


def _one(*official: str, **other: Any) -> Shape:
    return Shape("exam", {"q": TaskShape("exam", official=official, **other)})


TWO, THREE = ("no", "yes"), ("a", "b", "c")
KINDS: dict[str, Kind] = {
    "accuracy": Kind("accuracy", _one("accuracy"), plain, rights),
    "accuracy, clusters": Kind("accuracy, clusters of 5", _one("accuracy"), in_fives, clustered),
    "mcc": Kind("MCC", _one("mcc", labels=TWO, kind="labels"), labelled(TWO), rights),
    "f1": Kind("F1", _one("f1", positive="yes", labels=TWO, kind="labels"), labelled(TWO), rights),
    "macro_f1": Kind(
        "macro-F1, 3 labels", _one("macro_f1", labels=THREE, kind="labels"), labelled(THREE), rights
    ),
    "f1a": Kind(
        "F1a, clusters of 5", _one("f1a", kind="letters"), candidates, clustered, (56, 277), (0.5, 0.8, 0.95)
    ),
    "pearson": Kind(
        "Pearson", _one("pearson", kind="number"), numbers, noises, (20, 100, 277), (0.5, 0.8, 0.95)
    ),
    "spearman": Kind(
        "Spearman", _one("spearman", kind="number"), numbers, noises, (20, 100), (0.5, 0.8, 0.95)
    ),
    "mean": Kind("graded mean", _one("mean", kind="graded"), graded, grades),
    "pass@2": Kind("accuracy of 4 askings", _one("accuracy"), repeated, several, (20, 100, 277)),
    "suite": Kind(
        "score over 4 tasks",
        Shape(
            "suite",
            {
                "a": TaskShape("a", official=("mcc",), labels=TWO, kind="labels"),
                "b": TaskShape("b", official=("f1",), positive="yes", labels=TWO, kind="labels"),
                "c": TaskShape("c"),
                "d": TaskShape("d"),
            },
            "macro",
        ),
        four_tasks,
        rights,
        (80, 400),
    ),
    "limited": Kind(
        "accuracy, 3 tasks weighted",
        Shape(
            "suite",
            {
                name: TaskShape(name, full_size=size)
                for name, size in zip("abc", (100, 400, 2000), strict=True)
            },
        ),
        limited,
        rights,
        (60, 300),
    ),
}


# Simulation --------------------------------------------------------------------------------------


def truth(cell: Cell) -> float:
    """The value of the metric where nothing is left to chance: that of one very large exam."""
    kind = KINDS[cell.kind]
    if cell.rho is not None:
        return 0.0
    if cell.kind in ("accuracy", "accuracy, clusters", "limited", "pass@2"):
        return cell.able
    if cell.kind == "mean":
        return cell.able + (1 - cell.able) / 3
    if cell.kind == "pearson":
        return cell.able
    random = np.random.default_rng(99)
    large = TRUTH_ITEMS if cell.kind != "spearman" else TRUTH_ITEMS // 8
    (made,) = kind.draw(random, large, cell.able, None)
    return value_only(kind.make(random, made), kind.shape)


def value_only(rows: list[Scored], shape: Shape) -> float:
    from proctor.stats.compare import value_of_headline

    return value_of_headline(rows, shape)


def simulate(cell: Cell, exams: int) -> Held:
    kind = KINDS[cell.kind]
    random = np.random.default_rng([zlib.crc32(repr(cell).encode()), exams])
    right = truth(cell)
    held = better = 0
    width = 0.0
    for _ in range(exams):
        sides = [kind.make(random, made) for made in kind.draw(random, cell.items, cell.able, cell.rho)]
        if cell.rho is None:
            e = scores(sides[0], kind.shape)[0].estimate
        else:
            whole, _ = differences(sides[0], sides[1], kind.shape, tasks=False)
            e = whole.estimate
            better += "better" in judged(whole, whole.p_value, 0.01).verdict
        low, high = (e.low, e.high) if e.low is not None and e.high is not None else (-np.inf, np.inf)
        held += low - 1e-9 <= right <= high + 1e-9
        width += min(2.0, high - low)
    return Held(cell, held / exams, None if cell.rho is None else better / exams, width / exams)


def cells(*, small: bool) -> Iterator[Cell]:
    for name, kind in KINDS.items():
        for items in kind.sizes[:1] if small else kind.sizes:
            for able in kind.ables[1:3] if small else kind.ables:
                yield Cell(name, items, able)
        slow = name in ("f1a", "pearson", "spearman")
        for items in (kind.sizes[0],) if small or slow else [n for n in kind.sizes if n <= 400]:
            for able in (0.8,) if small or slow else kind.ables[1:]:
                for rho in (0.4,) if small or slow else (0.0, 0.4, 0.8):
                    yield Cell(name, items, able, rho)


# The page ----------------------------------------------------------------------------------------


def page(found: Sequence[Held], exams: int) -> str:
    missed = [held for held in found if misses(held)]
    return "\n".join(
        [
            *_head(exams),
            *_table(found, single=True),
            *_pairs_head(),
            *_table(found, single=False),
            *_misses(missed),
            "",
        ]
    )


def misses(held: Held) -> bool:
    """Past the bar by more than the simulation's own chance."""
    return held.coverage < LEAST_COVERAGE or (held.false is not None and held.false > MOST_FALSE + 0.01)


def _head(exams: int) -> list[str]:
    return [
        "# Calibration",
        "",
        f"Written by `make calibrate`: {exams:,} simulated exams a cell, every cell with a seed of its own. A share of",
        f"0.95 has a standard error of {(0.95 * 0.05 / exams) ** 0.5:.3f} here. Columns are the model's ability: the",
        "share of right answers, or the correlation. How intervals are made: [what is computed](statistics.md).",
        "",
        "## One model: how often the 95 % interval holds the true value",
        "",
        f"The bar is {LEAST_COVERAGE:.0%}. More than 95 % is on the safe side: few items near 0 or 1 cannot be exact.",
        "",
    ]


def _pairs_head() -> list[str]:
    return [
        "",
        "## Two models that are equally good: how often one is called better",
        "",
        "Two figures a cell: the share of comparisons that call one of them better (the bar is 5 %), and the share",
        "whose interval of the difference holds 0. `rho` is the share of items that go the same way for both models,",
        "or the correlation of their errors.",
        "",
    ]


def _table(found: Sequence[Held], *, single: bool) -> Iterator[str]:
    chosen = [held for held in found if (held.cell.rho is None) == single]
    ables = sorted({held.cell.able for held in chosen})
    lead = "| metric | items |" if single else "| metric | items | rho |"
    yield f"{lead} {' | '.join(f'{able:g}' for able in ables)} |"
    yield "|" + "---|" * (len(ables) + (2 if single else 3))
    rows: dict[tuple[Any, ...], dict[float, Held]] = {}
    for held in chosen:
        key = (held.cell.kind, held.cell.items, held.cell.rho)
        rows.setdefault(key, {})[held.cell.able] = held
    for (kind, items, rho), by_able in rows.items():
        start = f"| {KINDS[kind].title} | {items:,} |" + ("" if single else f" {rho:g} |")
        yield f"{start} {' | '.join(_figure(by_able.get(able)) for able in ables)} |"


def _figure(held: Held | None) -> str:
    if held is None:
        return "-"
    text = f"{held.coverage:.1%}" if held.false is None else f"{held.false:.1%}, {held.coverage:.1%}"
    return f"**{text}**" if misses(held) else text


def _misses(missed: Sequence[Held]) -> Iterator[str]:
    yield ""
    yield "## Cells that miss their bar"
    yield ""
    if not missed:
        yield "None."
        return
    yield "Set in bold above. Read these intervals as too narrow by what is missing, and prefer more items:"
    yield ""
    for held in missed:
        cell = held.cell
        who = "one model" if cell.rho is None else f"two models, rho {cell.rho:g}"
        wrong = "" if held.false is None else f", false verdicts {held.false:.1%}"
        what = f"{KINDS[cell.kind].title}, {cell.items:,} items, ability {cell.able:g}, {who}"
        yield f"- {what}: coverage {held.coverage:.1%}{wrong}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--exams", type=int, default=EXAMS, help="simulated exams a cell")
    parser.add_argument("--small", action="store_true", help="few cells, nothing written")
    parser.add_argument("--only", help="one kind of exam, nothing written")
    chosen = parser.parse_args(arguments)
    wanted = [cell for cell in cells(small=chosen.small) if chosen.only in (None, cell.kind)]
    # The large exams first, so that the last to end are small ones.
    wanted.sort(key=lambda cell: -cell.items)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = []
        for held in pool.map(simulate, wanted, [chosen.exams] * len(wanted)):
            found.append(held)
            print(f"{len(found)}/{len(wanted)} {held}", flush=True)
    order = list(KINDS)
    found.sort(key=lambda h: (order.index(h.cell.kind), h.cell.items, h.cell.rho or 0, h.cell.able))
    text = page(found, chosen.exams)
    if chosen.small or chosen.only:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
        print(f"{PAGE} written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
