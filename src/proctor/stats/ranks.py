"""Ranks that hold for all models at once, and how often each would come out first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.findings import Comparison
from proctor.stats import resample
from proctor.stats.estimates import Shape, exams_of
from proctor.stats.estimates_task import TaskSheet
from proctor.stats.metrics import Scored
from proctor.stats.pairs import own_resampled, paired

if TYPE_CHECKING:
    from proctor.stats.metrics import Array


def rank_intervals(ids: Sequence[str], comparisons: Sequence[Comparison]) -> list[tuple[int, int]]:
    """For each run the best and the worst rank it may have, in the order of `ids`.

    Best: 1 + the number of runs shown to be better. Worst: the number of runs less those shown to be
    worse. The comparisons are of all pairs, with p-values adjusted together by a step-down method
    (Holm), so that all these ranks hold at once with 95 % confidence (Mogstad, Romano, Shaikh and
    Wilhelm, Inference for ranks). A pair that is missing shows nothing.
    """
    better = dict.fromkeys(ids, 0)
    worse = dict.fromkeys(ids, 0)
    for c in comparisons:
        if c.verdict not in ("first better", "second better"):
            continue
        winner, loser = (
            (c.first.id, c.second.id) if c.verdict == "first better" else (c.second.id, c.first.id)
        )
        better[loser] += 1
        worse[winner] += 1
    return [(1 + better[ident], len(ids) - worse[ident]) for ident in ids]


def best_shares(draws: Array) -> list[float]:
    """How often each column is the highest of its row; equal ones share it.

    >>> import numpy
    >>> best_shares(numpy.array([[0.9, 0.8], [0.7, 0.7]]))
    [0.75, 0.25]
    """
    highest = draws == draws.max(axis=1, keepdims=True)
    shares: list[float] = (highest / highest.sum(axis=1, keepdims=True)).mean(axis=0).tolist()
    return shares


def resampled(sides: Sequence[Sequence[Scored]], shape: Shape) -> Array:
    """Draws of every side's headline on the items that all share, drawn anew for all together: (draws, sides).

    Task by task the same items (or clusters) are drawn for every side. Sides that share no item have draws of 0.
    """
    import numpy as np

    first, *others = (exams_of(rows, shape) for rows in sides)
    shared = [first, *others]
    for other in others:  # narrowed one by one to what all share
        shared[0] = [pair.first for pair in paired(shared[0], other)]
    exams = [shared[0], *([pair.second for pair in paired(shared[0], other)] for other in others)]
    plain = all(not one.spec.extra for one in exams[0])
    total = np.zeros((resample.DRAWS, len(sides)))
    used = [i for i, one in enumerate(exams[0]) if plain or not one.spec.extra]
    weights = _exam_weights([exams[0][i] for i in used], shape)
    for i, weight in zip(used, weights, strict=True):
        total += weight * own_resampled([side[i] for side in exams])
    return total


def _exam_weights(exams: Sequence[TaskSheet], shape: Shape) -> list[float]:
    if shape.aggregate == "macro" or len(exams) < 2:
        return [1 / len(exams) for _ in exams]
    sizes = [one.spec.full_size or one.sheet.items for one in exams]
    return [size / sum(sizes) for size in sizes]
