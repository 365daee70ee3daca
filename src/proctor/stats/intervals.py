"""Intervals for a share of right answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

Z95 = NormalDist().inv_cdf(0.975)


def wilson(share: float, n: float, *, z: float = Z95) -> tuple[float, float]:
    """The Wilson score interval of a proportion (Wilson 1927, JASA 22:209).

    `share` in [0, 1] of `n` > 0 items; `n` may be an effective sample size and need not be whole.
    `z` is the normal quantile, 1.96 for 95 %.

    >>> [round(x, 4) for x in wilson(17 / 20, 20)]
    [0.6396, 0.9476]
    >>> [round(x, 4) for x in wilson(0 / 56, 56)]
    [0.0, 0.0642]
    """
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    low = 0.0 if share == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if share == 1 else min(1.0, (centre + half) / scale)
    return low, high


def share_stderr(share: float, n: float) -> float | None:
    """The standard error of a proportion with the n - 1 of a sample; None for a single item.

    >>> round(share_stderr(0.823, 1043), 4)
    0.0118
    """
    return math.sqrt(share * (1 - share) / (n - 1)) if n > 1 else None


def effective_n(weights: Sequence[float]) -> float:
    """Kish's effective sample size of weighted items: (sum w)^2 / sum w^2 (Kish 1965, Survey Sampling).

    >>> effective_n([1.0] * 50)
    50.0
    """
    return math.fsum(weights) ** 2 / math.fsum(w * w for w in weights)
