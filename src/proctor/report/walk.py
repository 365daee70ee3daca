"""A pair's walk between its boundaries as inline SVG: items to the right, who is ahead upwards and downwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from proctor.figures import amount, steps
from proctor.report.blocks import Walk, plain
from proctor.report.plot import shortened

WIDTH, HEIGHT = 460, 230
LEFT, RIGHT, TOP, FOOT = 40, 12, 12, 34
SEEN, EARLY = 3, 5  # what was stopped before a fifth of the items fills a third of the picture

Place = tuple[float, float]


class _Scale:
    """From items and steps to the drawing's units."""

    def __init__(self, block: Walk) -> None:
        items = block.points[-1][0] if block.points else 0
        far = [abs(walk) for _, walk, _ in block.points]
        far += [bound for *_, bound in block.points if bound is not None]
        self.end = SEEN * items if 0 < EARLY * items < block.of else block.of
        self.most = 1.2 * max([1.0, *far])
        self.middle = TOP + (HEIGHT - TOP - FOOT) / 2

    def at(self, items: float, walk: float) -> Place:
        x = LEFT + (WIDTH - LEFT - RIGHT) * items / self.end
        return x, self.middle - (self.middle - TOP) * walk / self.most


def walk_svg(block: Walk) -> str:
    """The drawing; the figure's caption says the same in words."""
    scale = _Scale(block)
    said = escape(plain(block.said), quote=True)
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}">']
    parts += _fields(block, scale)
    parts += _axes(block, scale)
    places = [scale.at(0, 0), *(scale.at(items, walk) for items, walk, _ in block.points)]
    parts.append(f'<polyline class="path" points="{_listed(places)}"/>')
    x, y = places[-1]
    parts.append(f'<circle class="path-end" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
    return "\n".join([*parts, "</svg>"])


def _fields(block: Walk, scale: _Scale) -> Iterator[str]:
    """Where either model is better: from the boundary to the edge."""
    bounds = [(items, bound) for items, _, bound in block.points if bound is not None]
    right = WIDTH - RIGHT - 4
    for sign, kind, name in ((1, "up", block.first), (-1, "down", block.second)):
        if bounds:
            edge = [scale.at(items, sign * bound) for items, bound in bounds]
            outer = [scale.at(items, sign * scale.most) for items, _ in reversed(bounds)]
            yield f'<polygon class="field-{kind}" points="{_listed([*edge, *outer])}"/>'
            yield f'<polyline class="bound-{kind}" points="{_listed(edge)}"/>'
        y = TOP + 14 if sign > 0 else HEIGHT - FOOT - 6
        words = escape(shortened(plain(name)))
        yield f'<text class="value" x="{right}" y="{y}" text-anchor="end">{words} better</text>'


def _axes(block: Walk, scale: _Scale) -> Iterator[str]:
    (left, middle), (right, _) = scale.at(0, 0), scale.at(scale.end, 0)
    yield f'<line class="zero" x1="{left:.1f}" y1="{middle:.1f}" x2="{right:.1f}" y2="{middle:.1f}"/>'
    yield f'<text class="tick" x="{LEFT - 6}" y="{middle + 4:.1f}" text-anchor="end">0</text>'
    reached = max((abs(walk) for _, walk, _ in block.points), default=0.0)
    if reached >= scale.most / 4:
        for sign in (1, -1):
            _, y = scale.at(0, sign * reached)
            yield f'<text class="tick" x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{steps(reached)}</text>'
    last = block.points[-1][0] if block.points else 0
    for items in dict.fromkeys((0, last, scale.end)):
        x, _ = scale.at(items, 0)
        anchor = "end" if items == scale.end else "middle"
        y = HEIGHT - FOOT + 14
        yield f'<text class="tick" x="{x:.1f}" y="{y}" text-anchor="{anchor}">{amount(items)}</text>'
    what = f"items that both have answered, of {amount(block.of)}"
    yield f'<text class="tick" x="{(left + right) / 2:.1f}" y="{HEIGHT - 4}" text-anchor="middle">{what}</text>'


def _listed(places: Sequence[Place]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
