"""When a pair would hardly be decided any more: its conditional power."""

from __future__ import annotations

import math
from statistics import NormalDist

from proctor.stats.sequential.search import SequentialWalk

FROM = 0.1  # of the items
UNDER = 0.1  # conditional power
HOPE = 0.84  # standard errors that are added to the trend: the 80 % quantile of the normal distribution


def conditional_power(walk: SequentialWalk, alpha: float | None = None) -> float:
    """The probability that all the items will show a difference at level `alpha`, if the trend holds and HOPE more.

    The walk goes on as a Brownian motion with the drift seen so far (Lan, Simon and Halperin 1982, Seq. Anal.
    1:207) and HOPE of its standard errors, to the side on which it is, and varies as much an item as it did so far.
    What is asked of the end is what a test that looks only once asks, which is a little less than the boundary: so
    a pair ends rather too late than too early.
    """
    if not walk.points or walk.spread <= 0:
        return 1.0
    t, far = walk.points[-1].items, abs(walk.points[-1].walk)
    rest = walk.n - t
    single = NormalDist().inv_cdf(1 - (walk.alpha if alpha is None else alpha) / 2)
    over = far + rest * (far + HOPE * walk.spread) / t - single * walk.spread * math.sqrt(walk.n / t)
    return NormalDist().cdf(over / (walk.spread * math.sqrt(rest / t))) if rest else float(over >= 0)


def futile(walk: SequentialWalk, alpha: float | None = None) -> bool:
    """Whether the pair would hardly be decided with the rest: conditional power under 10 %, from a tenth on.

    Nothing is gained for "better" by ending there, so the level holds whether one stops or not.
    """
    if walk.crossed or not walk.points or walk.points[-1].items == walk.n:
        return False
    return walk.points[-1].items >= FROM * walk.n and conditional_power(walk, alpha) < UNDER
