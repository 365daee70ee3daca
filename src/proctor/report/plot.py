"""Drawings as inline SVG: intervals on one axis, a dot and a whisker a model; a pair's walk between its boundaries."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from proctor.figures import amount, fraction, steps
from proctor.report.blocks import Dot, PairWalked, Plot, plain

# Units of the drawing: it is scaled to the page, down to a phone's width, so the letters are large.
WIDTH = 460
EDGE = 24  # half a tick's label must fit left and right of the axis
TOP = 8
ROW = 46
FOOT = 26
MOST_LETTERS = 31  # of a name, which stands in full in the table and in the plot's description

STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
MOST_TICKS = 7
WHOLE_AXIS = 0.5  # values spread wider than this are shown on the whole axis
# Of a walk between its boundaries.
WALK_HEIGHT, WALK_LEFT, WALK_RIGHT, WALK_TOP, WALK_FOOT = 230, 40, 12, 12, 34
SEEN, EARLY = 3, 5  # what was stopped before a fifth of the items fills a third of the picture


Place = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Axis:
    """From the first tick to the last."""

    ticks: tuple[float, ...]

    @property
    def zoomed(self) -> bool:
        return (self.ticks[0], self.ticks[-1]) != (0.0, 1.0)

    def x(self, value: float) -> float:
        first, last = self.ticks[0], self.ticks[-1]
        return EDGE + (WIDTH - 2 * EDGE) * (value - first) / (last - first)


def axis(dots: Sequence[Dot]) -> Axis:
    """0 to 1, or the part of it where all intervals lie, between round numbers.

    >>> axis([Dot("m", 0.55, 0.508, 0.595)]).ticks
    (0.5, 0.52, 0.54, 0.56, 0.58, 0.6)
    >>> axis([Dot("m", 0.5, 0.2, 0.9)]).ticks
    (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    """
    low, high = min(dot.low for dot in dots), max(dot.high for dot in dots)
    if low >= 0 and high <= 1 and high - low > WHOLE_AXIS:
        low, high = 0.0, 1.0
    step = next(
        (s for s in STEPS if math.ceil(high / s - 1e-9) - math.floor(low / s + 1e-9) < MOST_TICKS), 1.0
    )
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 2)  # a whisker of no width still wants an axis
    if last * step > 1 >= high:  # but not one beyond 1
        first, last = min(first, round(1 / step) - 2), round(1 / step)
    return Axis(tuple(round(i * step, 6) for i in range(first, last + 1)))


def svg(plot: Plot) -> str:
    """The drawing; its title and description say the same in words."""
    scale = axis(plot.dots)
    bottom = TOP + ROW * len(plot.dots)
    said = "; ".join(f"{plain(dot.label)}: {_numbers(dot)}" for dot in plot.dots)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {bottom + FOOT}" role="img" aria-labelledby="plot-title plot-text">',
        f'<title id="plot-title">{escape(plain(plot.title))}</title>',
        f'<desc id="plot-text">{escape(said)}</desc>',
        *_ticks(scale, bottom),
    ]
    for index, dot in enumerate(plot.dots):
        parts += _row(dot, scale, TOP + ROW * index)
    return "\n".join([*parts, "</svg>"])


def _numbers(dot: Dot) -> str:
    return f"{fraction(dot.value)} [{fraction(dot.low)}, {fraction(dot.high)}]"


def _ticks(scale: Axis, bottom: int) -> Iterator[str]:
    for tick in scale.ticks:
        x = f"{scale.x(tick):.1f}"
        yield f'<line class="grid" x1="{x}" y1="{TOP}" x2="{x}" y2="{bottom}"/>'
        yield f'<text class="tick" x="{x}" y="{bottom + 17}" text-anchor="middle">{fraction(tick)}</text>'


def _row(dot: Dot, scale: Axis, top: int) -> Iterator[str]:
    middle = top + 30
    low, at, high = (f"{scale.x(v):.1f}" for v in (dot.low, dot.value, dot.high))
    yield f'<text class="name" x="{EDGE}" y="{top + 15}">{escape(shortened(plain(dot.label)))}</text>'
    yield f'<text class="value" x="{WIDTH - EDGE}" y="{top + 15}" text-anchor="end">{_numbers(dot)}</text>'
    yield f'<line class="whisker" x1="{low}" y1="{middle}" x2="{high}" y2="{middle}"/>'
    for end in (low, high):
        yield f'<line class="whisker" x1="{end}" y1="{middle - 5}" x2="{end}" y2="{middle + 5}"/>'
    yield f'<circle class="dot" cx="{at}" cy="{middle}" r="5"/>'


def shortened(name: str, most: int = MOST_LETTERS) -> str:
    """The name if it fits, else its beginning and end: models differ at both.

    >>> shortened("ollama/" + "x" * 40 + "-q4_0", 20)
    'ollama/xx…xxxxx-q4_0'
    """
    # East Asian letters are twice as wide.
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in name)
    if wide <= most:
        return name
    keep = most // 2 - 1 if wide == len(name) else most // 4 - 1
    return f"{name[:keep]}…{name[-keep - 1 :]}"


class _Scale:
    """From items and steps to the drawing's units."""

    def __init__(self, block: PairWalked) -> None:
        items = block.points[-1][0] if block.points else 0
        far = [abs(walk) for _, walk, _ in block.points]
        far += [bound for *_, bound in block.points if bound is not None]
        self.end = SEEN * items if 0 < EARLY * items < block.of else block.of
        self.most = 1.2 * max([1.0, *far])
        self.middle = WALK_TOP + (WALK_HEIGHT - WALK_TOP - WALK_FOOT) / 2

    def at(self, items: float, walk: float) -> Place:
        x = WALK_LEFT + (WIDTH - WALK_LEFT - WALK_RIGHT) * items / self.end
        return x, self.middle - (self.middle - WALK_TOP) * walk / self.most


def walk_svg(block: PairWalked) -> str:
    """The drawing; the figure's caption says the same in words."""
    scale = _Scale(block)
    said = escape(plain(block.said), quote=True)
    parts = [f'<svg viewBox="0 0 {WIDTH} {WALK_HEIGHT}" role="img" aria-label="{said}">']
    parts += _fields(block, scale)
    parts += _axes(block, scale)
    places = [scale.at(0, 0), *(scale.at(items, walk) for items, walk, _ in block.points)]
    parts.append(f'<polyline class="path" points="{_listed(places)}"/>')
    x, y = places[-1]
    parts.append(f'<circle class="path-end" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
    return "\n".join([*parts, "</svg>"])


def _fields(block: PairWalked, scale: _Scale) -> Iterator[str]:
    """Where either model is better: from the boundary to the edge."""
    bounds = [(items, bound) for items, _, bound in block.points if bound is not None]
    right = WIDTH - WALK_RIGHT - 4
    for sign, kind, name in ((1, "up", block.first), (-1, "down", block.second)):
        if bounds:
            edge = [scale.at(items, sign * bound) for items, bound in bounds]
            outer = [scale.at(items, sign * scale.most) for items, _ in reversed(bounds)]
            yield f'<polygon class="field-{kind}" points="{_listed([*edge, *outer])}"/>'
            yield f'<polyline class="bound-{kind}" points="{_listed(edge)}"/>'
        y = WALK_TOP + 14 if sign > 0 else WALK_HEIGHT - WALK_FOOT - 6
        words = escape(shortened(plain(name)))
        yield f'<text class="value" x="{right}" y="{y}" text-anchor="end">{words} better</text>'


def _axes(block: PairWalked, scale: _Scale) -> Iterator[str]:
    (left, middle), (right, _) = scale.at(0, 0), scale.at(scale.end, 0)
    yield f'<line class="zero" x1="{left:.1f}" y1="{middle:.1f}" x2="{right:.1f}" y2="{middle:.1f}"/>'
    yield f'<text class="tick" x="{WALK_LEFT - 6}" y="{middle + 4:.1f}" text-anchor="end">0</text>'
    reached = max((abs(walk) for _, walk, _ in block.points), default=0.0)
    if reached >= scale.most / 4:
        for sign in (1, -1):
            _, y = scale.at(0, sign * reached)
            yield f'<text class="tick" x="{WALK_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{steps(reached)}</text>'
    last = block.points[-1][0] if block.points else 0
    for items in dict.fromkeys((0, last, scale.end)):
        x, _ = scale.at(items, 0)
        anchor = "end" if items == scale.end else "middle"
        y = WALK_HEIGHT - WALK_FOOT + 14
        yield f'<text class="tick" x="{x:.1f}" y="{y}" text-anchor="{anchor}">{amount(items)}</text>'
    what = f"items that both have answered, of {amount(block.of)}"
    yield f'<text class="tick" x="{(left + right) / 2:.1f}" y="{WALK_HEIGHT - 4}" text-anchor="middle">{what}</text>'


def _listed(places: Sequence[Place]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
