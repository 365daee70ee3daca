"""Averages of figures that are not rows of one exam: of several runs, of earlier runs, of another tool's tasks."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None where none is.

    >>> mean([0.5, None, 1.0]), mean([None])
    (0.75, None)
    """
    known = _known(values)
    return statistics.fmean(known) if known else None


def mean_score(scores: Iterable[float | None]) -> float:
    """An item's score over its askings, of which there is one at least; one without a score is worth nothing.

    >>> mean_score([1.0, None])
    0.5
    """
    return statistics.fmean(score or 0.0 for score in scores)


def middle(values: Iterable[float | None]) -> float | None:
    """The median of those that are known; None where none is.

    >>> middle([3.0, None, 1.0, 10.0]), middle([])
    (3.0, None)
    """
    known = _known(values)
    return statistics.median(known) if known else None


def weighed(values: Iterable[tuple[float, float]]) -> float:
    """The mean of values, each with its weight; the weights sum to more than 0.

    >>> weighed([(1.0, 3), (0.0, 1)])
    0.75
    """
    pairs = list(values)
    return statistics.fmean([value for value, _ in pairs], [weight for _, weight in pairs])


class Bounded(NamedTuple):
    """A value and the ends of its 95 % interval; None what is not known."""

    value: float | None
    low: float | None = None
    high: float | None = None


def together(of: Sequence[Bounded]) -> Bounded:
    """The mean of several figures whose errors may go together wholly, as those of models on one exam may.

    Its interval is the mean of theirs: with errors that go together wholly it is as wide as that, and no dependence
    makes it wider. None where one of the figures has none.
    """
    lows, highs = [each.low for each in of], [each.high for each in of]
    bounded = None not in lows and None not in highs
    return Bounded(
        mean(each.value for each in of), mean(lows) if bounded else None, mean(highs) if bounded else None
    )


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
