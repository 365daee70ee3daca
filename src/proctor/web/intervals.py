"""Scores with their intervals on one axis, one line a model: drawn in a table, so that it needs no script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.figures import fraction
from proctor.findings import Estimate
from proctor.service.evidence.axes import ticks_of

MARGIN = 2.0  # per cent of the drawing left and right of the axis, for dots that stand at its ends


@dataclass(frozen=True, slots=True)
class ScoreLine:
    """A model's line: `place` is its rank in words, `tied` that it is not shown to be worse than the best."""

    name: str
    href: str
    of: Estimate
    tied: bool = False
    place: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """The same with places on the drawing, in per cent of its width; None where there is nothing to draw."""

    of: ScoreLine
    at: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class IntervalPlot:
    """`ticks` are places with their figures; `band` is the best one's interval; `part`: the axis is a part alone."""

    metric: str
    lines: tuple[DrawnLine, ...]
    ticks: tuple[tuple[float, str], ...]
    zero: float | None
    band: tuple[float, float] | None
    part: bool

    @property
    def places(self) -> bool:
        return any(line.of.place for line in self.lines)


def plot_of(lines: Sequence[ScoreLine], metric: str) -> IntervalPlot:
    """In the order given; the first line is the best's."""
    ticks = ticks_of(metric, [line.of for line in lines])
    if not ticks:
        return IntervalPlot(
            metric, tuple(DrawnLine(line, None, None, None) for line in lines), (), None, None, False
        )
    first, last = ticks[0], ticks[-1]

    def at(value: float | None) -> float | None:
        return None if value is None else MARGIN + (100 - 2 * MARGIN) * (value - first) / (last - first)

    drawn = tuple(DrawnLine(line, at(line.of.value), at(line.of.low), at(line.of.high)) for line in lines)
    best = drawn[0]
    band = (
        (best.low, best.high) if best.low is not None and best.high is not None and len(drawn) > 1 else None
    )
    zero = at(0.0) if first < 0 else None
    marks = tuple((at(tick) or 0.0, fraction(tick).rstrip("0").rstrip(".") or "0") for tick in ticks)
    return IntervalPlot(metric, drawn, marks, zero, band, (first, last) not in ((0.0, 1.0), (-1.0, 1.0)))
