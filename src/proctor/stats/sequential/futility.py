"""When a pair would hardly be decided any more: its conditional power."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from proctor.stats.sequential.search import Walk
from proctor.stats.sequential.sign import SignFront
from proctor.stats.sequential.spending import LOOKS

FROM = 0.1  # of the items
UNDER = 0.1  # conditional power
HOPE = 0.84  # standard errors that are added to the trend: the 80 % quantile of the normal distribution
STEPS = 32  # a look, for the last boundary


@lru_cache(maxsize=256)
def last_critical(alpha: float) -> float:
    """How many standard errors the last look asks for where the items' steps come evenly; about 2.1 at 0.05."""
    front = SignFront([alpha], LOOKS)
    bounds = [float(front.advance(t, STEPS)[0]) for t in range(1, LOOKS + 1)]
    return bounds[-1] / math.sqrt(LOOKS * STEPS)


def conditional_power(walk: Walk, alpha: float | None = None) -> float:
    """The probability of being decided by the last item at level `alpha`, if the trend holds and HOPE more.

    The walk goes on as a Brownian motion (Lan, Simon and Halperin 1982, Seq. Anal. 1:207) with the drift seen so
    far plus HOPE of its standard errors, to the side on which it is, and varies as much an item as it did so far.
    """
    if not walk.points or walk.spread <= 0:
        return 1.0
    t, rest = walk.points[-1].items, walk.n - walk.points[-1].items
    needed = last_critical(walk.alpha if alpha is None else alpha) * walk.spread * math.sqrt(walk.n / t)
    drift = (abs(walk.points[-1].walk) + HOPE * walk.spread) / t
    if not rest:
        return float(abs(walk.points[-1].walk) >= needed)
    left = abs(walk.points[-1].walk) + drift * rest - needed
    return NormalDist().cdf(left / (walk.spread * math.sqrt(rest / t)))


def futile(walk: Walk, alpha: float | None = None) -> bool:
    """Whether the pair would hardly be decided with the rest: conditional power under 10 %, from a tenth on.

    Nothing is gained for "better" by ending there, so the level holds whether one stops or not.
    """
    if walk.crossed or not walk.points or walk.points[-1].items == walk.n:
        return False
    return walk.points[-1].items >= FROM * walk.n and conditional_power(walk, alpha) < UNDER
