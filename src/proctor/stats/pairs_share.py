"""Differences of plain means between two runs: counted where items are right or wrong, else unit by unit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from proctor.stats import clusters, resample
from proctor.stats.estimates_share import halves, items_of, row_score
from proctor.stats.estimates_sheet import Sheet, TaskShape
from proctor.stats.intervals import t95
from proctor.stats.paired import difference_interval, mcnemar_exact
from proctor.stats.permute import Null, flips, p_value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proctor.stats.metrics import Array

MCNEMAR = "exact McNemar"
SIGN_FLIP = "sign-flip permutation"
SIGN_FLIP_CLUSTERS = "sign-flip permutation of clusters"
TANGO = "Tango's paired score interval"
PAIRED_T = "Student's t of the paired differences"
PAIRED_T_WEIGHTED = "Student's t of the weighted paired differences"
PAIRED_T_CLUSTERS = "Student's t of the clusters' paired differences, one item added each way"


# Of a cluster of the mean size, added at each end where it is asked how much clusters hang together. Less than for
# one run (`estimates_share.UNSEEN`), since a discordant item each way is added as well.
UNSEEN = 0.02
ROUNDING = 1e-12  # of the span; differences that lie no further apart are equal


@dataclass(frozen=True, slots=True)
class Shares:
    """A mean in two runs, unit by unit.

    `parts` is what each unit adds to the difference, `sizes` what it weighs (they sum to 1). `binary`
    says that each unit is one item, right or wrong, and that all weigh the same. `item` is the weight of an
    item: 1/n, and where items weigh differently that of as many as they are worth. `span` is how far two scores
    can lie apart, in the metric's units; `observed` says that no scale is known and both runs showed it. `alike`
    is the variance of the difference if all clusters hang together alike; 0 where there are none. `copies` names
    the units that may go on in other tasks.
    """

    parts: Array
    sizes: Array
    binary: bool
    clustered: bool
    item: float
    span: float = 1.0
    alike: float = 0.0
    observed: bool = False
    copies: Mapping[int, str] = field(default_factory=dict)

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
        loose = PAIRED_T if self.sizes.max() < (1 + 1e-9) * self.sizes.min() else PAIRED_T_WEIGHTED
        said = PAIRED_T_CLUSTERS if self.clustered else loose
        return f"{said}; scores seen in both runs lie up to {self.span:.4g} apart" if self.observed else said

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
        half = t95(self.freedom()) * self.stderr()
        return max(-self.span, self.difference - half), min(self.span, self.difference + half)

    def freedom(self) -> float:
        return clusters.freedom(self._with_two()[1])

    def stderr(self) -> float:
        """Of the difference, with one item added that only the first has right and one that only the second has.

        Without them two runs that never disagree would be sure to be equal (Bonett and Price 2012).
        """
        parts, sizes = self._with_two()
        return math.sqrt(max(clusters.seen(parts - parts.sum() * sizes, sizes), self.alike))

    def _with_two(self) -> tuple[Array, Array]:
        """The parts and sizes with two items more, each a unit of its own; the sizes sum to 1."""
        import numpy as np

        far = self.item * self.span
        whole = 1 + 2 * self.item
        return (
            np.concatenate([self.parts, [far, -far]]) / whole,
            np.concatenate([self.sizes, [self.item, self.item]]) / whole,
        )

    def variance(self) -> float | None:
        """Of the difference as the units show it, with nothing added: unbiased, and 0 where nothing differs.

        None for a single unit.
        """
        if len(self.parts) < 2:
            return None
        return clusters.seen(self.parts - self.difference * self.sizes, self.sizes)

    def null(self, key: str) -> Null:
        """Draws of the difference if the two runs were exchangeable."""
        return flips(self.parts, key)

    def draws(self, random: np.random.Generator) -> Array:
        """Draws of the difference on other items like these, around the difference."""
        if not self.binary:
            wide = random.standard_t(self.freedom(), size=resample.DRAWS)
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
    """Several tasks' means as one, each with its weight. Copies that stand in several tasks are one unit."""
    import numpy as np

    both = list(zip(of, weights, strict=True))
    place = _places(of)
    sizes: Array = np.bincount(place, np.concatenate([w * each.sizes for each, w in both])).astype(np.float64)
    parts: Array = np.bincount(place, np.concatenate([w * each.parts for each, w in both])).astype(np.float64)
    across = len(sizes) < len(place)
    return Shares(
        _grouped(parts) if across else parts,
        sizes,
        binary=not across and bool(np.allclose(sizes, sizes[0])) and all(one.binary for one in of),
        clustered=across or any(one.clustered for one in of),
        item=math.fsum(w**2 * each.item for each, w in both) / math.fsum(weights) ** 2,
        span=math.fsum(w * each.span for each, w in both),
        alike=math.fsum(w**2 * each.alike for each, w in both),
        observed=any(one.observed for one in of),
    )


def _places(of: Sequence[Shares]) -> NDArray[np.int64]:
    """Where each unit of each task stands among those of all: copies of one name at one place."""
    import numpy as np

    sizes = [len(each.sizes) for each in of]
    place = np.arange(sum(sizes))
    first: dict[str, int] = {}
    for each, start in zip(of, np.cumsum([0, *sizes]).tolist(), strict=False):
        for unit, name in each.copies.items():
            place[start + unit] = first.setdefault(name, start + unit)
    return np.unique(place, return_inverse=True)[1]


def mean_of(of: Sequence[Shares]) -> Shares:
    """The mean of several metrics of one task."""
    if len(of) == 1:
        return of[0]
    parts: Array = sum((each.parts for each in of[1:]), start=of[0].parts) / len(of)
    return replace(
        of[0],
        parts=parts,
        binary=False,
        span=math.fsum(one.span for one in of) / len(of),
        alike=max(one.alike for one in of),
        observed=any(one.observed for one in of),
    )


def shares(one: Sheet, other: Sheet, spec: TaskShape, metric: str) -> Shares:
    """A metric's units in two sheets on the same askings."""
    import numpy as np

    sides = (one, other)
    scores = [np.array([row_score(row, metric, spec.kind) for row in side.rows]) for side in sides]
    sizes = unit_sums(one, spec, [metric], scores=False)
    parts: Array = unit_sums(one, spec, [metric]) - unit_sums(other, spec, [metric])
    once = all(side.units == side.items == len(side.rows) for side in sides)
    plain = all(bool(np.isin(each, (0, 1)).all()) for each in scores)
    span = span_of(metric, scores)
    parts[np.abs(parts) < 1e-15 * max(np.abs(each).max() for each in scores)] = 0.0  # equal but for rounding
    return Shares(
        _grouped(parts),
        sizes,
        binary=once and plain and bool(np.allclose(sizes, sizes[0])),
        clustered=one.clustered,
        item=1 / one.items,
        span=span,
        alike=_alike(sides, scores, span) if one.clustered else 0.0,
        observed=metric == "mean",
        copies=one.copies,
    )


def _grouped(parts: Array) -> Array:
    """The parts, those of one size but for rounding made the same: signs are tossed for sizes, whatever the unit."""
    import numpy as np

    size = np.abs(parts)
    order = np.argsort(size, kind="stable")
    ordered = size[order]
    starts = np.diff(ordered, prepend=-np.inf) > 1e-10 * size.max()
    first = ordered[starts][np.cumsum(starts) - 1]
    found: Array = np.empty_like(parts)
    found[order] = first
    return np.sign(parts) * found


def span_of(metric: str, scores: Sequence[Array]) -> float:
    """How far two scores can lie apart: 1 for shares and F1; for other tools' scores, the range seen in both runs.

    No scale is told with such scores (`mean`); what both runs show of it grows and moves with the scores.
    """
    if metric != "mean":
        return 1.0
    return float(max(each.max() for each in scores) - min(each.min() for each in scores))


def _alike(sides: Sequence[Sheet], scores: Sequence[Array], span: float) -> float:
    """The variance of the difference if all clusters hang together alike, two discordant items added."""
    (first, units), (second, _) = (items_of(side, each) for side, each in zip(sides, scores, strict=True))
    apart = first - second
    n = len(apart)
    rest = apart - apart.mean()
    found = clusters.alike(rest, units, (-span - apart.mean(), span - apart.mean()), UNSEEN)
    seen = float(rest @ rest) / n
    # The share of it that is left, and what it is of a spread with the two items in it.
    if seen <= (ROUNDING * span) ** 2:
        return 0.0
    return found * (float(rest @ rest) + 2 * span**2) / (n + 2) / seen


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
