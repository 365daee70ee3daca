"""The interval of a difference that holds at whatever look one stops."""

from __future__ import annotations

import math

from proctor.stats.paired import difference_interval

INSIDE = 1e-9  # a walk that stands on its boundary has stopped, so the interval leaves out 0 there


def repeated_shares(only_first: int, only_second: int, n: int, critical: float | None) -> tuple[float, float]:
    """The repeated confidence interval of a difference of shares: Tango's, `critical` standard errors wide.

    Jennison and Turnbull 1989 (J. R. Statist. Soc. B 51:305). It leaves out 0 at a look exactly where the walk stops
    there. `critical` None (nothing could have stopped it): all that a difference can be.
    """
    if critical is None or not n:
        return -1.0, 1.0
    return difference_interval(only_first, only_second, n, z=critical * (1 - INSIDE))


def repeated_interval(
    difference: float, stderr: float, critical: float | None, *, most: float = math.inf
) -> tuple[float, float]:
    """The same of a mean of differences; `most` is the largest that a difference can be, and bounds the interval."""
    if critical is None:
        return -most, most
    wide = critical * (1 - INSIDE) * stderr
    return max(-most, difference - wide), min(most, difference + wide)
