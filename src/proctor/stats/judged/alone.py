"""What grades say by themselves, whoever gave them: their mean, or their mean difference, as exams have it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from proctor.findings import Estimate
from proctor.stats import clusters
from proctor.stats.estimates_share import effective_of, graded_mean, shared
from proctor.stats.estimates_sheet import Sheet, nothing
from proctor.stats.intervals import t_tails
from proctor.stats.pairs_share import UNSEEN, Shares

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

Judged = Literal["grades", "differences", "preferences"]
# The least and the greatest each can be, and the value that says that neither of two is better.
ENDS: dict[Judged, tuple[float, float]] = {
    "grades": (0.0, 1.0),
    "differences": (-1.0, 1.0),
    "preferences": (0.0, 1.0),
}
EQUAL: dict[Judged, float | None] = {"grades": None, "differences": 0.0, "preferences": 0.5}

Found = tuple[Estimate, float | None]  # an estimate, and the p-value of "neither is better"


def numbered(keys: Sequence[str | None], items: int) -> tuple[Array, bool]:
    """Each item's cluster as a number from 0, and whether any has several; an item without a key is alone."""
    import numpy as np

    places: dict[str, int] = {}
    known = [None if key is None else places.setdefault(key, len(places)) for key in keys]
    alone = iter(range(len(places), len(places) + items))
    unit = np.array([next(alone) if place is None else place for place in known], dtype=np.float64)
    return unit, bool(len(unit)) and unit.max() + 1 < len(unit)


def estimated(values: Array, unit: Array | None, kind: Judged, *, asked: int, reason: str) -> Found:
    """The mean of grades, differences or preferences; `unit` are the items' clusters, None where there are none.

    `reason` is said where there is no value.
    """
    if not len(values):
        return nothing(asked, reason), None
    if kind == "grades":
        return replace(_mean(values, unit), asked=asked), None
    if kind == "differences":
        found, p = _difference(values, unit)
        return replace(found, asked=asked), p
    found, p = _difference(
        2 * values - 1, unit
    )  # a preference is half of a difference that can be 1, 0 or -1
    return _halved(replace(found, asked=asked)), p


def _halved(of: Estimate) -> Estimate:
    ends = [None if end is None else 0.5 + end / 2 for end in (of.value, of.low, of.high)]
    stderr = None if of.stderr is None else of.stderr / 2
    return replace(of, value=ends[0], low=ends[1], high=ends[2], stderr=stderr)


def _places(unit: Array | None, items: int) -> Array:
    import numpy as np

    places = np.arange(items) if unit is None else np.unique(unit, return_inverse=True)[1]
    return places.astype(np.float64)


def _mean(values: Array, unit: Array | None) -> Estimate:
    """With Wilson's interval where all grades are 0 or 1, else the wider of Student's t and Wilson's, as exams have."""
    import numpy as np

    n = len(values)
    places = _places(unit, n)
    one = Sheet(
        rows=(),
        weight=np.ones(n),
        item=np.array(range(n), dtype=np.int64),
        unit=places,
        scale=1,
        items=n,
        units=int(places.max()) + 1,
        asked=n,
        reason="",
    )
    value = math.fsum(values) / n
    if np.isin(values, (0.0, 1.0)).all():
        worth, stderr = effective_of(one, values, [np.ones(n)])
        return shared(one, value, worth, stderr)
    return graded_mean(one, values, value)


def _difference(values: Array, unit: Array | None) -> Found:
    """Tango's interval and McNemar's exact test for differences of right and wrong, else the paired t, as exams have.

    The standard error of the former is that of the latter.
    """
    import numpy as np

    n = len(values)
    places = _places(unit, n)
    of_unit = places.astype(np.int64)
    units = int(of_unit.max()) + 1
    sizes = np.bincount(of_unit).astype(np.float64) / n
    clustered = units < n
    of = Shares(
        np.bincount(of_unit, values) / n,
        sizes,
        binary=not clustered and bool(np.isin(values, (-1.0, 0.0, 1.0)).all()),
        clustered=clustered,
        item=1 / n,
        alike=_alike(values, places) if clustered and units > 1 else 0.0,
    )
    if n < 2 or units < 2:
        reason = "a single item shows no spread" if n < 2 else "a single cluster shows no spread"
        return Estimate(of.difference, None, None, None, n, n, of.method, reason), None
    low, high = of.interval()
    stderr = of.stderr()
    p = of.p_value("") if of.binary else t_tails(of.difference / stderr, of.freedom())
    return Estimate(of.difference, stderr, low, high, n, n, of.method), p


def _alike(values: Array, places: Array) -> float:
    """The variance of the mean difference if all clusters hang together alike, as `pairs_share` reckons it."""
    rest = values - values.mean()
    seen = float(rest @ rest)
    if seen <= 1e-24 * len(rest):
        return 0.0
    ends = (-1.0 - float(values.mean()), 1.0 - float(values.mean()))
    return clusters.alike(rest, places, ends, UNSEEN) * (1 + 2 / seen) * len(rest) / (len(rest) + 2)
