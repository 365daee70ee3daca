"""Differences of plain means between two runs: counted where items are right or wrong, else unit by unit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.stats import resample
from proctor.stats.estimates_share import halves, row_score
from proctor.stats.estimates_sheet import Sheet, TaskShape
from proctor.stats.intervals import t95
from proctor.stats.paired import difference_interval, mcnemar_exact
from proctor.stats.permute import Null, flips, p_value

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

MCNEMAR = "exact McNemar"
SIGN_FLIP = "sign-flip permutation"
SIGN_FLIP_CLUSTERS = "sign-flip permutation of clusters"
TANGO = "Tango's paired score interval"
PAIRED_T = "Student's t of the paired differences"
PAIRED_T_CLUSTERS = "Student's t of the clusters' paired differences"


@dataclass(frozen=True, slots=True)
class Shares:
    """A mean in two runs, unit by unit.

    `parts` is what each unit adds to the difference, `sizes` what it weighs (they sum to 1). `binary`
    says that each unit is one item, right or wrong, and that all weigh the same. `most` is how far two
    scores can lie apart.
    """

    parts: Array
    sizes: Array
    binary: bool
    clustered: bool
    most: float = 1.0

    @property
    def difference(self) -> float:
        return math.fsum(self.parts)

    @property
    def test(self) -> str:
        if self.binary:
            return MCNEMAR
        return SIGN_FLIP_CLUSTERS if self.clustered else SIGN_FLIP

    @property
    def method(self) -> str:
        if self.binary:
            return TANGO
        return PAIRED_T_CLUSTERS if self.clustered else PAIRED_T

    def counts(self) -> tuple[int, int]:
        """Units on which the first did better, and those on which the second did."""
        return int((self.parts > 0).sum()), int((self.parts < 0).sum())

    def p_value(self, key: str, family: int = 1) -> float:
        """Of one of `family` tests that are adjusted together; draws are seeded by `key`."""
        return (
            mcnemar_exact(*self.counts()) if self.binary else p_value(self.null(key), self.difference, family)
        )

    def interval(self) -> tuple[float, float]:
        if self.binary:
            return difference_interval(*self.counts(), len(self.parts))
        half = t95(len(self.parts) + 1) * self.stderr()
        return max(-self.most, self.difference - half), min(self.most, self.difference + half)

    def stderr(self) -> float:
        """Of the difference, with one unit added that only the first has right and one that only the second has.

        Without them two runs that never disagree would be sure to be equal (Bonett and Price 2012).
        """
        import numpy as np

        n = len(self.parts)
        size = float(self.sizes.mean())
        added = np.concatenate([self.parts, [size * self.most, -size * self.most]])
        weights = np.concatenate([self.sizes, [size, size]])
        whole = weights.sum()
        rest = added - added.sum() / whole * weights
        return math.sqrt((n + 2) / (n + 1) * float(rest @ rest)) / float(whole)

    def variance(self) -> float | None:
        """Of the difference, with the n - 1 of a sample and nothing added: unbiased, and 0 where nothing differs.

        None for a single unit.
        """
        n = len(self.parts)
        rest = self.parts - self.difference * self.sizes
        return n / (n - 1) * float(rest @ rest) if n > 1 else None

    def null(self, key: str) -> Null:
        """Draws of the difference if the two runs were exchangeable."""
        return flips(self.parts, key)

    def draws(self, random: np.random.Generator) -> Array:
        """Draws of the difference on other items like these, around the difference."""
        if not self.binary:
            wide = random.standard_t(len(self.parts) + 1, size=resample.DRAWS)
            found: Array = self.difference + self.stderr() * wide
            return found
        only_first, only_second = self.counts()
        rest = len(self.parts) - only_first - only_second
        tables = random.standard_gamma(
            [only_first + 0.5, only_second + 0.5, rest + 0.5], size=(resample.DRAWS, 3)
        )
        share: Array = (tables[:, 0] - tables[:, 1]) / tables.sum(axis=1)
        return share


def pooled_shares(of: Sequence[Shares], weights: Sequence[float]) -> Shares:
    """Several tasks' means as one, each with its weight."""
    import numpy as np

    sizes = np.concatenate([w * each.sizes for w, each in zip(weights, of, strict=True)])
    parts = np.concatenate([w * each.parts for w, each in zip(weights, of, strict=True)])
    alike = bool(np.allclose(sizes, sizes[0]))
    binary = alike and all(one.binary for one in of)
    return Shares(parts, sizes, binary, any(one.clustered for one in of), max(one.most for one in of))


def mean_of(of: Sequence[Shares]) -> Shares:
    """The mean of several metrics of one task."""
    if len(of) == 1:
        return of[0]
    parts: Array = sum((each.parts for each in of[1:]), start=of[0].parts) / len(of)
    return Shares(parts, of[0].sizes, False, of[0].clustered, max(one.most for one in of))


def shares(one: Sheet, other: Sheet, spec: TaskShape, metric: str) -> Shares:
    """A metric's units in two sheets on the same askings."""
    import numpy as np

    sides = (one, other)
    sizes = unit_sums(one, spec, [metric], scores=False)
    parts: Array = unit_sums(one, spec, [metric]) - unit_sums(other, spec, [metric])
    parts[np.abs(parts) < 1e-15] = 0.0  # what equal scores leave behind is rounding
    once = all(side.units == side.items == len(side.rows) for side in sides)
    plain = all(row_score(row, metric, spec.kind) in (0, 1) for side in sides for row in side.rows)
    alike = bool(np.allclose(sizes, sizes[0]))
    high = max(row_score(row, metric, spec.kind) for side in sides for row in side.rows)
    low = min(row_score(row, metric, spec.kind) for side in sides for row in side.rows)
    return Shares(parts, sizes, once and plain and alike, one.clustered, max(1.0, high - min(0.0, low)))


def unit_sums(one: Sheet, spec: TaskShape, official: Sequence[str], *, scores: bool = True) -> Array:
    """What each unit adds to the mean of the metrics; without `scores`, what it weighs. Weights sum to 1."""
    import numpy as np

    total: Array = np.zeros(len(one.rows))
    for metric in official:
        parts = halves(one, metric)
        weights = sum(
            (half * one.weight / (half @ one.weight) for half in parts), start=np.zeros(len(one.rows))
        )
        row_scores = [row_score(row, metric, spec.kind) for row in one.rows] if scores else 1.0
        total = total + weights / len(parts) * np.array(row_scores)
    units = np.bincount(one.unit.astype(np.int64), total / len(official), minlength=one.units)
    return units.astype(np.float64)
