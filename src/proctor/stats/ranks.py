"""Ranks that hold for all models at once, and how often each would come out first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.findings import Comparison

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
