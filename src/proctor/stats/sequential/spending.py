"""When is looked, how much error each look may spend, and the levels among which a p-value is sought."""

from __future__ import annotations

import math
from collections.abc import Hashable

LOOKS = 100
RATIO = 1.008  # between two neighbouring levels: a p-value is known to less than a hundredth of itself
LEAST = 1e-6  # no p-value is smaller

# A step of a walk: the weighted difference of an item, first minus second, alone or with the unit it belongs to.
Step = float | tuple[Hashable, float]


def looks_at(n: int) -> tuple[int, ...]:
    """After how many of `n` items is looked: every hundredth of them, rounded up.

    >>> looks_at(3), looks_at(250)[:3], looks_at(1273)[-2:], len(looks_at(14042))
    ((1, 2, 3), (3, 5, 8), (1261, 1273), 100)
    """
    return tuple(sorted({-(-n * i // LOOKS) for i in range(1, LOOKS + 1)} - {0}))


def budget(alpha: float, t: int, n: int) -> float:
    """How much of `alpha` may be spent by the time `t` of `n` items are in: alpha (t/n)^2.

    An error-spending function (Lan and DeMets 1983, Biometrika 70:659), the power family with exponent 2 (Kim and
    DeMets 1987, Biometrika 74:149).
    """
    return alpha * (t / n) ** 2


def levels(alpha: float) -> tuple[float, ...]:
    """The levels that a p-value can be, from 1 down to LEAST; `alpha` and 1 are among them."""
    above = math.ceil(math.log(1 / alpha) / math.log(RATIO))
    below = max(0, math.ceil(math.log(alpha / LEAST) / math.log(RATIO)))
    return (1.0, *(alpha * RATIO**-i for i in range(1 - above, below + 1)))
