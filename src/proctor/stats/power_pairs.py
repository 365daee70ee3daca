"""What items show of two models: the power of the tests of `compare`, the smallest difference, the items it takes."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from proctor.stats.paired import ALPHA, POWER, POWER_Z

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

NORMAL = NormalDist()
COUNTED = 150  # discordant items expected; up to here every number of them is gone through
MOST_COUNTED = 300  # in 10^20 exams not one has more than these where COUNTED are expected
MOST_ITEMS = 10**9  # what takes more is out of reach


def edge_of(family: int) -> float:
    """How many standard errors a difference must be to count as one of `family` tests (Holm's first step)."""
    return -NORMAL.inv_cdf(ALPHA / family / 2)


# Rights and wrongs -------------------------------------------------------------------------------


def mcnemar_power(n: int, discordant: float, difference: float, family: int = 1) -> float:
    """The chance that McNemar's exact test shows the better of two models, at ALPHA / `family`.

    `discordant` is the share of items that one model alone gets right, and `difference`, above 0 and at most
    that, how much more of them the better one has. Nothing is held fixed but n: D discordant items are
    Binomial(n, discordant), the better model's of them Binomial(D, q) (the exact form of Connor 1987). Where many
    are expected, normal, with the step of 1 that the exact test is behind the approximate one.

    >>> round(mcnemar_power(100, 0.3, 0.15), 3), mcnemar_power(5, 1.0, 1.0), mcnemar_power(6, 1.0, 1.0)
    (0.747, 0.0, 1.0)
    """
    expected, lean = n * discordant, min(1.0, difference / discordant)
    if expected > COUNTED:
        z = edge_of(family)
        # Of (the better's less the other's) less z sqrt(D), in which D varies too.
        follows = (lean - z / (2 * math.sqrt(expected))) ** 2 * (1 - discordant)
        spread = math.sqrt(expected * (1 - lean**2 + follows))
        over = n * difference - z * math.sqrt(expected) - 1
        return NORMAL.cdf(over / spread) if spread else float(over >= 0)
    import numpy as np

    spread = 9 * math.sqrt(expected * (1 - discordant))
    first, last = max(0, int(expected - spread)), min(n, MOST_COUNTED, math.ceil(expected + spread))
    chances = _binomial(n, discordant, range(first, last + 1))
    return min(1.0, float(np.dot(chances, _shown(lean, family, first, last))))


def _binomial(n: int, share: float, of: range) -> Array:
    """The chances of so many of n."""
    import numpy as np

    if share >= 1:
        return np.array([float(k == n) for k in of])
    choose = [math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) for k in of]
    found: Array = np.exp(
        [c + k * math.log(share) + (n - k) * math.log1p(-share) for c, k in zip(choose, of, strict=True)]
    )
    return found


def _shown(lean: float, family: int, first: int, last: int) -> Array:
    """For `first` to `last` discordant items the chance that they show the better model."""
    import numpy as np

    most = _most_losses(family)[first : last + 1, None]
    if lean >= 1:
        return (most[:, 0] >= 0).astype(np.float64)
    choose, wins, losses = (of[first : last + 1, : most.max() + 1] for of in _ways())
    logs = choose + wins * math.log((1 + lean) / 2) + losses * math.log((1 - lean) / 2)
    found: Array = np.where(losses <= most, np.exp(logs), 0.0).sum(axis=1)
    return found


@lru_cache(maxsize=1)
def _ways() -> tuple[Array, Array, Array]:
    """log C(D, losses), the wins and the losses, for each D and as many losses as may still show a difference."""
    import numpy as np

    d = np.arange(MOST_COUNTED + 1)[:, None]
    losses = np.arange(MOST_COUNTED // 2)[None, :]
    logs = np.array([math.lgamma(i + 1) for i in range(MOST_COUNTED + 1)])
    wins = d - losses
    choose = np.where(wins >= 0, logs[d] - logs[losses] - logs[np.maximum(wins, 0)], -np.inf)
    return (
        choose,
        np.maximum(wins, 0).astype(np.float64),
        np.broadcast_to(losses, wins.shape).astype(np.float64),
    )


@lru_cache(maxsize=64)
def _most_losses(family: int) -> Array:
    """With how many wins of the worse model D discordant items still give p < ALPHA / `family`; -1 with none."""
    import numpy as np

    choose, wins, losses = _ways()
    tails = 2 * np.exp(choose - (wins + losses) * math.log(2)).cumsum(axis=1)
    found: Array = (tails < ALPHA / family).sum(axis=1) - 1
    return found


@lru_cache(maxsize=4096)
def least_difference(n: int, discordant: float, family: int = 1) -> float | None:
    """The smallest difference that n items show with 80 % power; None where they show none at all.

    A difference cannot be larger than the discordant share: where that is too small, the share is as large
    as the difference.

    >>> round(least_difference(500, 0.16), 3), round(least_difference(500, 0.16, 45), 3), least_difference(5, 0.5)
    (0.052, 0.073, None)
    """
    if mcnemar_power(n, 1.0, 1.0, family) < POWER:
        return None

    def shows(difference: float) -> bool:
        return mcnemar_power(n, max(discordant, difference), difference, family) >= POWER

    return _crossing(shows, 0.0, 1.0)


def _crossing(shows: Callable[[float], bool], low: float, high: float) -> float:
    for _ in range(17):
        middle = (low + high) / 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


@lru_cache(maxsize=4096)
def least_items(discordant: float, difference: float, family: int = 1) -> int | None:
    """How many items show `difference` > 0 with 80 % power; None where that is beyond MOST_ITEMS.

    >>> least_items(0.3, 0.1), least_items(0.3, 0.1, 45), least_items(1.0, 1.0)
    (249, 517, 6)
    """
    share = max(discordant, difference)
    return _fewest(lambda n: mcnemar_power(n, share, difference, family) >= POWER, least_units(family))


def _fewest(shows: Callable[[int], bool], least: int) -> int | None:
    low, high = least - 1, least
    while not shows(high):
        low, high = high, 2 * high
        if high > MOST_ITEMS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high


def least_units(family: int = 1) -> int:
    """How many items or clusters any test of signs needs: with fewer not even all to one side would show anything.

    >>> least_units(), least_units(45)
    (6, 11)
    """
    return math.floor(math.log2(2 * family / ALPHA)) + 1


# Everything else ---------------------------------------------------------------------------------


def errors_to_show(freedom: float = math.inf, family: int = 1) -> float:
    """How many standard errors the smallest difference is that a mean of so many degrees of freedom shows, 80 % power.

    2.80 for many items and one comparison. For few, Student's quantile and the normal approximation of the
    noncentral t (Johnson and Welch 1940): the difference d of P(t' > c) = 0.8 is c (1 - 1/4v) + z sqrt(1 + c^2/2v).
    Infinite where so few units can show nothing.

    >>> round(errors_to_show(), 3), round(errors_to_show(19), 3), round(errors_to_show(family=45), 3)
    (2.802, 2.954, 4.102)
    """
    v, edge = freedom, edge_of(family)
    if v + 1 < least_units(family):
        return math.inf
    if math.isinf(v):
        return edge + POWER_Z
    edge = _student(edge, v)
    return edge * (1 - 1 / (4 * v)) + POWER_Z * math.sqrt(1 + edge**2 / (2 * v))


def items_of_mean(spread: float, difference: float, family: int = 1) -> int | None:
    """How many items show `difference` > 0 in a mean of item differences with this standard deviation.

    >>> items_of_mean(0.4, 0.05), items_of_mean(0.4, 0.05, 45)
    (505, 1083)
    """

    def shows(n: int) -> bool:
        return errors_to_show(n - 1, family) * spread / math.sqrt(n) <= difference

    return _fewest(shows, least_units(family))


def _student(z: float, v: float) -> float:
    """The quantile of Student's t where the normal's is z, (Abramowitz and Stegun 1964, 26.7.5)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / v + second / v**2 + third / v**3
