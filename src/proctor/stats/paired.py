"""Two models on the same items: exact McNemar, the interval of the difference, Holm, and sample sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from statistics import NormalDist

from proctor.stats.intervals import Z95

ALPHA = 0.05
POWER = 0.8
POWER_Z = NormalDist().inv_cdf(POWER)
MOST_EXACT = 5000  # discordant items; from here on exact binomials take milliseconds, later seconds


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """The two-sided exact McNemar p-value from the discordant counts (McNemar 1947; exact binomial form).

    p = min(1, 2 * sum of C(n, i) / 2^n for i up to the smaller count), n = both counts.

    >>> mcnemar_exact(0, 6), mcnemar_exact(3, 3), round(mcnemar_exact(5, 15), 7)
    (0.03125, 1.0, 0.0413895)
    """
    n, fewer = only_first + only_second, min(only_first, only_second)
    if n - 2 * fewer <= 1:
        return 1.0  # both tails together are the whole
    # The sum is C(n, fewer) / 2^n times 1 + fewer/(n-fewer+1) + ...: each term is a share of the one
    # before, so the sum ends soon however large the counts are.
    term = total = 1.0
    for i in range(fewer, 0, -1):
        term *= i / (n - i + 1)
        total += term
        if term < total * 1e-17:
            break
    return min(1.0, 2 * total * _point(n, fewer))


def _point(n: int, k: int) -> float:
    """C(n, k) / 2^n; 0.0 only below the smallest float. Exact up to MOST_EXACT, then to about 9 digits."""
    if n <= MOST_EXACT:
        return math.comb(n, k) / (1 << n)
    return math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2))


def difference_interval(only_first: int, only_second: int, n: int, *, z: float = Z95) -> tuple[float, float]:
    """Tango's score interval for the difference of two paired proportions (Tango 1998, Stat. Med. 17:891).

    `only_first` and `only_second` are the discordant counts among `n` > 0 pairs; the difference is
    (only_first - only_second) / n. The interval is the set of differences d with |score(d)| <= z.
    """
    observed = (only_first - only_second) / n

    def score(d: float) -> float:
        # q: the probability of "only the second right" that fits best if the difference is d.
        b = -only_first - only_second + (2 * n - only_first + only_second) * d
        c = -only_second * d * (1 - d)
        q = (math.sqrt(max(0.0, b * b - 8 * n * c)) - b) / (4 * n)
        variance = n * (2 * q + d * (1 - d))
        if variance <= 0:
            return math.copysign(math.inf, observed - d) if observed != d else 0.0
        return (only_first - only_second - n * d) / math.sqrt(variance)

    return _edge(score, -1.0, observed, z), _edge(lambda d: -score(d), 1.0, observed, z)


def _edge(score: Callable[[float], float], outer: float, inner: float, z: float) -> float:
    """The difference between `outer` and `inner` at which the score reaches z, by bisection."""
    for _ in range(60):
        middle = (outer + inner) / 2
        if score(middle) > z:
            outer = middle
        else:
            inner = middle
    return (outer + inner) / 2


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down adjusted p-values, in the order given (Holm 1979, Scand. J. Statist. 6:65).

    >>> [round(p, 4) for p in holm([.01, .04, .03, .005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    ordered = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for rank, index in enumerate(ordered):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = highest
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Benjamini and Hochberg's adjusted p-values (q-values), in the order given (1995, JRSS B 57:289).

    >>> [round(q, 4) for q in benjamini_hochberg([.01, .04, .03, .005])]
    [0.02, 0.04, 0.04, 0.02]
    """
    ordered = sorted(range(len(p_values)), key=p_values.__getitem__, reverse=True)
    adjusted = [0.0] * len(p_values)
    lowest = 1.0
    for above, index in enumerate(ordered):
        lowest = min(lowest, p_values[index] * len(p_values) / (len(p_values) - above))
        adjusted[index] = lowest
    return adjusted
