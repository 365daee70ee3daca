"""What more labels buy: how wide the interval is now, and how narrow a number of labels more would make it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.stats.intervals import t95, wilson
from proctor.stats.judged.alone import Judged
from proctor.stats.judged.prediction import (
    ADDED,
    FEW_LABELS,
    LEAST_CORRELATION,
    Corrected,
    Grades,
    JudgedSample,
    Keys,
    corrected,
    sample,
    spread,
    width_of,
)

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

WORTHWHILE = 0.85  # of the width there is: what is asked for is as many labels as make it so narrow
TOO_FEW = "how wide the interval is can be said from two labels on, drawn at random"


@dataclass(frozen=True, slots=True)
class LabelsWorth:
    """The width of the interval to quote now, and `then` with `more` labels; all None where it has no width.

    `floor` is the width if every item had a label: what is left is how much the items themselves differ. `left` are
    the items without a label. `sentence` says all of this.
    """

    width: float | None
    more: int | None
    then: float | None
    floor: float | None
    left: int
    sentence: str


def labels_for(
    people: Sequence[float],
    judge: Grades,
    rest: Grades,
    *,
    clusters: Keys | None = None,
    kind: Judged = "grades",
) -> LabelsWorth:
    """How many more labels make the interval to quote worthwhile narrower; arguments as of `corrected_mean`."""
    found, ahead = _ahead(people, judge, rest, clusters, kind)
    now, left = width_of(found.quoted), len(rest)
    if ahead is None or now is None:
        return LabelsWorth(
            None,
            None,
            None,
            None,
            left,
            "two labels drawn at random are needed to say how wide the interval is",
        )
    floor = ahead.width(left)
    if not left:
        return LabelsWorth(now, None, None, now, 0, f"the interval is {now:.2f} wide; every item has a label")
    more = next((more for more in _steps(left) if ahead.width(more) <= WORTHWHILE * now), None)
    if more is None:
        least = f"labels on all {left} that are left make it {floor:.2f}, for the items themselves differ"
        return LabelsWorth(now, left, floor, floor, left, f"the interval is {now:.2f} wide; {least}")
    then = ahead.width(more)
    said = f"the interval is {now:.2f} wide; {more} more make it {then:.2f}"
    return LabelsWorth(now, more, then, floor, left, said)


def labels_to(
    width: float,
    people: Sequence[float],
    judge: Grades,
    rest: Grades,
    *,
    clusters: Keys | None = None,
    kind: Judged = "grades",
) -> int | None:
    """About how many labels more make the interval to quote no wider than `width`; None if not even all do."""
    found, ahead = _ahead(people, judge, rest, clusters, kind)
    now = width_of(found.quoted)
    if ahead is None or now is None:
        return None
    if now <= width:
        return 0
    return next((more for more in _steps(len(rest)) if ahead.width(more) <= width), None)


def _steps(left: int) -> Iterator[int]:
    """Tens, from 200 fifties, from 1,000 five hundreds; and all that are left."""
    yield from range(10, min(left, 200), 10)
    yield from range(200, min(left, 1000), 50)
    yield from range(1000, left, 500)
    if left:
        yield left


@dataclass(frozen=True, slots=True)
class _Ahead:
    """What the labels show of those to come: sums of squares and products about the means, of people (y) and judge (f).

    `apart` is the variance of the judge's grades over all items, `hang` how much larger that of the value is for its
    clusters, `freedom` its degrees of freedom a label; `share` the people's share where their grades are 0 or 1.
    """

    n: int
    left: int
    yy: float
    yf: float
    ff: float
    apart: float
    hang: float
    freedom: float
    plain: float
    share: float | None
    correlated: bool

    def width(self, more: int) -> float:
        """Of the interval to quote with so many labels more, if they are like those there are."""
        n, rest = self.n + more, self.left - more
        own = self._own(n)
        if not rest or n < FEW_LABELS or not self.correlated:
            return own
        return min(own, self._corrected(n, rest))

    def _own(self, n: int) -> float:
        if self.share is not None:
            low, high = wilson(self.share, n / self.hang)
            return high - low
        return self.plain * math.sqrt(self.n / n) * self._t(n) / self._t(self.n)

    def _corrected(self, n: int, rest: int) -> float:
        weight = self.yf / (self.n - 1) / ((1 + n / rest) * self.apart) if self.apart else 0.0
        weight = min(1.0, max(0.0, weight))
        squares = (self.yy - 2 * weight * self.yf + weight**2 * self.ff) * n / self.n
        variance = (squares + ADDED) / (n + 1) / n + weight**2 * self.apart / rest
        return 2 * self._t(n) * math.sqrt(self.hang * variance)

    def _t(self, n: int) -> float:
        return t95(max(1.0, self.freedom * n))


def _ahead(
    people: Sequence[float], judge: Grades, rest: Grades, clusters: Keys | None, kind: Judged
) -> tuple[Corrected, _Ahead | None]:
    import numpy as np

    found = corrected(people, judge, rest, clusters, kind)
    plain = width_of(found.people)
    if found.labels < 2 or plain is None:
        return found, None
    of = sample(people, judge, rest, clusters)
    told, said = of.people - of.people.mean(), of.judge - of.judge.mean()
    variance, freedom = spread(of, 0.0)
    binary = kind == "grades" and bool(np.isin(of.people, (0.0, 1.0)).all())
    together = found.correlation
    return found, _Ahead(
        n=of.n,
        left=len(of.rest),
        yy=float(told @ told),
        yf=float(told @ said),
        ff=float(said @ said),
        apart=float(np.concatenate([of.judge, of.rest]).var(ddof=1)),
        hang=_hang(of, variance),
        freedom=freedom / of.n,
        plain=plain,
        share=float(of.people.mean()) if binary else None,
        correlated=together is not None and together >= LEAST_CORRELATION,
    )


def _hang(of: JudgedSample, variance: float) -> float:
    """How many times larger the clusters make the variance of the people's mean."""
    left: Array = of.people - of.people.mean()
    return variance / ((float(left @ left) + ADDED) / (of.n + 1) / of.n)
