"""How measured values lie: their quantiles, and how many of them fall into which bin."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.findings import Histogram

BINS = 24
GRADES = 10
SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """By name (p50, p95, p99); empty where there is no value.

    >>> quantiles([1.0, 2.0, 3.0])["p50"], quantiles([])
    (2.0, {})
    """
    import numpy as np

    if not values:
        return {}

    found = np.quantile(np.asarray(values), list(SHARES.values()))
    return dict(zip(SHARES, map(float, found), strict=True))


def growing(values: Sequence[float]) -> Histogram | None:
    """Bins that grow by a factor, as latencies need that span orders of magnitude; None where there is no value."""
    import numpy as np

    if not values:
        return None

    array = np.maximum(np.asarray(values), 1e-6)
    low, high = float(array.min()), float(array.max())
    if high <= low * 1.01:  # one value, or as good as one: bins would only split hairs
        return Histogram((low, high), (len(values),))
    edges = np.geomspace(low, high, BINS + 1)
    edges[0], edges[-1] = low, high
    return Histogram(tuple(map(float, edges)), tuple(map(int, np.histogram(array, edges)[0])))


def graded(scores: Sequence[float]) -> Histogram | None:
    """Only where grades lie between right and wrong: of rights and wrongs the counts say it all."""
    import numpy as np

    array = np.asarray(scores)
    if not len(array) or bool(np.isin(array, (0.0, 1.0)).all()):
        return None
    counts, edges = np.histogram(
        array, bins=GRADES, range=(min(0.0, float(array.min())), max(1.0, float(array.max())))
    )
    return Histogram(tuple(map(float, edges)), tuple(map(int, counts)))
