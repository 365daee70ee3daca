"""Intervals for a share of right answers."""

from __future__ import annotations

import math
from functools import lru_cache
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


def t95(freedom: float) -> float:
    """The 0.975 quantile of Student's t (Abramowitz and Stegun 1964, 26.7.3-26.7.5), `freedom` of at least 1.

    Between two whole degrees of freedom it is found on a straight line of log t over 1 / freedom: never narrower
    than the quantile, and wider by 3 % at most, near 1.5.

    >>> round(t95(9), 4), round(t95(1), 3), round(t95(100_000), 3), round(t95(2.5), 2)
    (2.2622, 12.706, 1.96, 3.59)
    """
    below = math.floor(freedom)
    if freedom <= 500 and freedom > below:
        part = (1 / freedom - 1 / (below + 1)) / (1 / below - 1 / (below + 1))
        return math.exp(part * math.log(_whole(below)) + (1 - part) * math.log(_whole(below + 1)))
    return _whole(freedom)


def t_tails(t: float, freedom: float) -> float:
    """The chance that Student's t with `freedom` > 0 lies further from 0 than `t`, on both sides.

    The incomplete beta function at freedom / (freedom + t^2) (Abramowitz and Stegun 1964, 26.7.1 and 26.5.8).

    >>> round(t_tails(2.2621572, 9), 6), t_tails(0.0, 5), round(t_tails(-1.96, 1e6), 4)
    (0.05, 1.0, 0.05)
    """
    x, a = freedom / (freedom + t * t), freedom / 2
    if x >= 1:
        return 1.0
    if x <= 0:
        return 0.0
    log = math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5) + a * math.log(x) + 0.5 * math.log1p(-x)
    front = math.exp(log)
    if x < (a + 1) / (a + 2.5):  # where the fraction converges fast
        return min(1.0, front * _fraction(x, a, 0.5) / a)
    return max(0.0, 1 - front * _fraction(1 - x, 0.5, a) / 0.5)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (Thompson and Barnett 1986)."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, 1000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + step * d)
            c = 1 + step / c
            found *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return found


@lru_cache(maxsize=1024)
def _whole(freedom: float) -> float:
    """The quantile for whole degrees of freedom, or for any above 500."""
    if freedom > 500:  # here the expansion is exact to eight digits
        z = Z95
        first = (z**3 + z) / 4
        second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
        return z + first / freedom + second / freedom**2
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        angle = (low + high) / 2
        low, high = (angle, high) if _between(angle, int(freedom)) < 0.95 else (low, angle)
    return math.tan(low) * math.sqrt(freedom)


def _between(angle: float, freedom: int) -> float:
    """The probability of |t| < tan(angle) * sqrt(freedom)."""
    cosine = math.cos(angle)
    term = total = cosine if freedom % 2 else 1.0
    if freedom == 1:
        return 2 * angle / math.pi
    for i in range(freedom % 2 + 2, freedom, 2):
        term *= cosine * cosine * (i - 1) / i
        total += term
    if freedom % 2:
        return 2 / math.pi * (angle + math.sin(angle) * total)
    return math.sin(angle) * total
