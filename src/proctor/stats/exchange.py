"""Draws of a difference when two runs exchange answers: by counts of answers, by sums over units, or exam by exam."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from proctor.stats import metrics, resample
from proctor.stats.estimates_sheet import Sheet, TaskShape
from proctor.stats.estimates_task import TABLED, WORDS, figure_of, labels, on_table
from proctor.stats.permute import CHUNK, FLIPS, SWAPS, Null, Toss, halves, heads, swapped

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

MOST_NUMBERS = 600_000  # in the tables of all exchanges; more are drawn
Score = Callable[["Array"], "Array"]


def on_counts(spec: TaskShape, official: Iterable[str]) -> bool:
    """Whether the metrics need no more than how often each target got each answer."""
    return spec.kind not in WORDS and (TABLED | {"accuracy"}).issuperset(official)


def _in_pieces(some: Toss, numbers: int) -> Toss:
    """As many draws as are asked for, no more at a time than the memory is to hold."""
    at_once = max(1, CHUNK // max(1, numbers))

    def toss(size: int) -> Array:
        import numpy as np

        return np.concatenate([some(min(at_once, size - start)) for start in range(0, size, at_once)])

    return toss


def exchanged(key: str, counts: Array, score: Score) -> Null:
    """The difference with each item's two answers exchanged or not, by the toss of a coin.

    `counts` are those of (target, first answer, second answer). Of the items with one target and one pair of
    different answers, a Binomial(n, 1/2) number keeps its order: that is the same as tossing for each.
    """
    import numpy as np

    k = len(counts)
    t, a, b = np.nonzero(counts + counts.transpose(0, 2, 1))
    t, a, b = (index[a < b] for index in (t, a, b))
    both = counts[t, a, b] + counts[t, b, a]
    moved = np.zeros((len(both), k * (k + 1)))
    moved[np.arange(len(both)), t * (k + 1) + a] = 1.0
    moved[np.arange(len(both)), t * (k + 1) + b] = -1.0
    least = np.einsum("taa->ta", counts).ravel() + both @ (moved < 0)
    whole = (counts.sum(axis=1) + counts.sum(axis=2)).ravel()

    def apart(kept: Array) -> Array:
        # Draws last in memory, so that sums over the few cells of a table run over many draws at once.
        first = least[:, None] + moved.T @ kept
        one, other = (np.moveaxis(of.reshape(k, k + 1, -1), -1, 0) for of in (first, whole[:, None] - first))
        return score(one) - score(other)

    def start() -> Toss:
        random = resample.stream(f"{key} exchanged")

        def some(size: int) -> Array:
            kept = np.zeros((len(both), size))
            for place, n in enumerate(both):
                kept[place] = heads(random, int(n), size)
            return apart(kept)

        return _in_pieces(some, 8 * whole.size)

    def every() -> tuple[Array, Array] | None:
        if math.prod(int(n) + 1 for n in both) * whole.size > MOST_NUMBERS:
            return None
        chances = functools.reduce(np.multiply.outer, (halves(int(n)) for n in both), np.ones(()))
        kept = np.indices(chances.shape, dtype=np.float64).reshape(len(both), chances.size)
        return apart(kept), chances.ravel()

    return Null(start, every=every)


def swaps(key: str, one: Sheet, other: Sheet, spec: TaskShape, official: Sequence[str]) -> Null:
    """The difference with each unit's answers (an item's, or a cluster's) exchanged or not."""
    if on_counts(spec, official):
        return _of_sums(key, one, other, spec, official)
    return _of_exams(key, one, other, spec, official)


def _of_sums(key: str, one: Sheet, other: Sheet, spec: TaskShape, official: Sequence[str]) -> Null:
    """Counts add up over units: a draw's table is that of the first run and what each exchanged unit changes."""
    import numpy as np

    names = labels(one, spec)
    k = len(names)
    functions = [on_table(spec, metric, names) for metric in official]
    first, second = (_unit_tables(side, names) / side.scale for side in (one, other))
    change, whole = second - first, first.sum(axis=0) + second.sum(axis=0)
    base, moves = first.sum(axis=0)[:, None], np.abs(change).any(axis=1)
    change, whole = np.ascontiguousarray(change[moves].T), whole[:, None]

    def score(tables: Array) -> Array:
        shaped = np.moveaxis(tables.reshape(k, k + 1, -1), -1, 0)
        total: Array = sum((f(shaped) for f in functions), start=np.zeros(len(shaped))) / len(functions)
        return total

    def start() -> Toss:
        random = resample.stream(f"{key} exchanged")

        def toss(size: int) -> Array:
            drawn = [base + change @ swap.T for swap in swapped(random, int(moves.sum()), size)]
            return np.concatenate([score(tables) - score(whole - tables) for tables in drawn])

        return _in_pieces(toss, 8 * k * (k + 1))

    return Null(start, FLIPS)


def _unit_tables(one: Sheet, names: Sequence[str]) -> Array:
    """The weighted table of targets by answers of each unit: (units, cells)."""
    import numpy as np

    wide = len(names) * (len(names) + 1)
    targets = [row.target or "" for row in one.rows]
    rows, columns = metrics.cells(targets, [row.answer for row in one.rows], names)
    cell = np.array(rows) * (len(names) + 1) + np.array(columns)
    place = one.unit.astype(np.int64) * wide + cell
    found: Array = np.bincount(place, one.weight, minlength=one.units * wide).astype(np.float64)
    return found.reshape(one.units, wide)


def _of_exams(key: str, one: Sheet, other: Sheet, spec: TaskShape, official: Sequence[str]) -> Null:
    import numpy as np

    joined = _joined(one, other)
    figures = [figure_of(joined, spec, metric) for metric in official]
    weight_a = np.where(np.arange(len(joined.rows)) < len(one.rows), joined.weight, 0.0)
    weight_b = joined.weight - weight_a
    places = joined.unit.astype(np.int64)

    def score(weights: Array) -> Array:
        none = np.zeros(weights.shape[:-1])
        total: Array = sum((f(weights, none, none) for f in figures), start=none) / len(figures)
        return total

    def start() -> Toss:
        random = resample.stream(f"{key} exchanged")

        def toss(size: int) -> Array:
            parts = []
            for swap in swapped(random, joined.units, size):
                rows = swap[:, places]
                here = weight_a * (1 - rows) + weight_b * rows
                parts.append(score(here) - score(joined.weight - here))
            return np.concatenate(parts)

        return toss

    return Null(start, SWAPS)


def _joined(one: Sheet, other: Sheet) -> Sheet:
    """The rows of both runs as one sheet, the weights of both on one scale."""
    import numpy as np

    return replace(
        one,
        rows=[*one.rows, *other.rows],
        weight=np.concatenate([one.weight * other.scale, other.weight * one.scale]),
        item=np.concatenate([one.item, other.item]),
        unit=np.concatenate([one.unit, other.unit]),
        scale=one.scale * other.scale,
    )
