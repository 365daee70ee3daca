"""Before an exam: how wide an interval will be, how small a difference can be shown, how many items that takes."""

from __future__ import annotations

import math

from proctor.stats.intervals import Z95
from proctor.stats.paired import POWER_Z


def half_width(n: int, *, share: float = 0.8) -> float:
    """Half the 95 % interval of a share of right answers: 1.96 * sqrt(p (1 - p) / n).

    >>> round(half_width(500), 3), round(half_width(14_042), 3)
    (0.035, 0.007)
    """
    return Z95 * math.sqrt(share * (1 - share) / n)


def detectable(n: int, *, share: float = 0.8, correlation: float = 0.5, repeats: int = 1) -> float:
    """The difference between two models that n shared items show with 80 % power at p < 0.05.

    (z_.975 + z_.8) * sqrt((omega^2 + 2 sigma^2 / K) / n) with the items' own variance and that of the
    K askings (Miller 2024, arXiv 2411.00640, section 5). One asking has both in p (1 - p), whose part
    common to the two models is `correlation`; what further askings take away is at most the rest that
    is not common, here counted as half of it.

    >>> round(detectable(500), 3), round(detectable(500, correlation=0), 3), round(detectable(56, correlation=0.7), 3)
    (0.05, 0.071, 0.116)
    """
    return (Z95 + POWER_Z) * math.sqrt(_variance(share, correlation, repeats) / n)


def items_for(difference: float, *, share: float = 0.8, correlation: float = 0.5, repeats: int = 1) -> int:
    """How many shared items show `difference` > 0 with 80 % power: the inverse of `detectable`.

    >>> items_for(0.05), items_for(0.02)
    (503, 3140)
    """
    wide = _variance(share, correlation, repeats) * ((Z95 + POWER_Z) / difference) ** 2
    return math.ceil(wide)


def _variance(share: float, correlation: float, repeats: int) -> float:
    """Of the difference of two models' scores on one item."""
    apart = 2 * share * (1 - share) * (1 - correlation)
    return apart * (0.5 + 0.5 / repeats)
