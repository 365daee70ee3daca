"""The axis on which scores are drawn: where it begins and ends, and the figures below it."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.figures import least_of
from proctor.findings import Estimate
from proctor.report.blocks import Dot
from proctor.report.plot import axis

BELOW_ZERO = (-1.0, -0.5, 0.0, 0.5, 1.0)


def ticks_of(metric: str, estimates: Sequence[Estimate]) -> tuple[float, ...]:
    """Round numbers from the first to the last of the axis: -1 to 1 for what may be below 0, else 0 to 1 or a part.

    Empty where no estimate has an interval.
    """
    dots = [
        Dot("", e.value, e.low, e.high)
        for e in estimates
        if e.value is not None and e.low is not None and e.high is not None
    ]
    if not dots:
        return ()
    least, most = min(dot.low for dot in dots), max(dot.high for dot in dots)
    if least_of(metric, [least]) < 0 and least >= -1 and most <= 1:
        return BELOW_ZERO
    return axis(dots).ticks
