"""How much seconds, tokens a second and money changed from one output to another, request by request."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proctor.findings import RelativeChange
from proctor.stats.intervals import t95

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

AT_ONCE = 4096  # rows that are kept until they are added up


@dataclass(slots=True)
class PairedSums:
    """Means and covariances of a few figures of each pair, added up as pairs pass (Chan, Golub and LeVeque 1983)."""

    width: int
    n: int = 0
    _waiting: list[tuple[float, ...]] = field(default_factory=list)
    _means: Array | None = None
    _products: Array | None = None

    def add(self, *figures: float | None) -> None:
        """A pair counts where all of its figures are known."""
        if None not in figures:
            self._waiting.append(figures)  # type: ignore[arg-type]  # none is None
            if len(self._waiting) >= AT_ONCE:
                self._settle()

    def _settle(self) -> None:
        import numpy as np

        if not self._waiting:
            return
        rows = np.array(self._waiting, dtype=np.float64)
        self._waiting.clear()
        means, more = rows.mean(axis=0), len(rows)
        products = (rows - means).T @ (rows - means)
        if self._means is None or self._products is None:
            self._means, self._products, self.n = means, products, more
            return
        apart, n = means - self._means, self.n + more
        self._products += products + np.outer(apart, apart) * (self.n * more / n)
        self._means += apart * (more / n)
        self.n = n

    def moments(self) -> tuple[int, Array, Array] | None:
        """How many pairs, their means and covariances; None for fewer than two."""
        self._settle()
        if self.n < 2 or self._means is None or self._products is None:
            return None
        return self.n, self._means, self._products / (self.n - 1)


def ratio(sums: PairedSums, above: tuple[int, ...], below: tuple[int, ...]) -> float | None:
    """Products of means over products of means, such as tokens over seconds; None where one is zero."""
    found = sums.moments()
    if found is None:
        return None
    means = found[1]
    value = 1.0
    for place in above:
        value *= float(means[place])
    for place in below:
        if means[place] <= 0:
            return None
        value /= float(means[place])
    return value


def change(sums: PairedSums, first: tuple[int, ...], second: tuple[int, ...]) -> RelativeChange | None:
    """By what part the second's figure is larger than the first's, -0.03 for three percent less.

    `first` and `second` are the columns of a figure of each: (seconds,), or (tokens, seconds) for tokens a second.
    The interval is that of the logarithm of the ratio, whose variance is taken from the pairs by linearisation
    (Cochran 1977, 6.4), with Student's t. None where fewer than two pairs tell, or a mean is zero.
    """
    import numpy as np

    found = sums.moments()
    if found is None:
        return None
    n, means, covariances = found
    slopes = np.zeros(sums.width)
    for sign, columns in ((-1.0, first), (1.0, second)):
        for power, place in zip((1.0, -1.0), columns, strict=False):
            if means[place] <= 0:
                return None
            slopes[place] += sign * power / means[place]
    values = [ratio(sums, columns[:1], columns[1:]) for columns in (first, second)]
    if not values[0] or not values[1]:
        return None
    moved = math.log(values[1] / values[0])
    half = t95(n - 1) * math.sqrt(max(0.0, float(slopes @ covariances @ slopes)) / n)
    low, high = math.expm1(moved - half), math.expm1(moved + half)
    return RelativeChange(values[0], values[1], math.expm1(moved), low, high, n)
