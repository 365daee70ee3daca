"""A heat map as a page shows it: a table whose cells have a number, a colour, how many items, and where they lead."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from fastapi import Query

from proctor.figures import fraction, least_of
from proctor.findings.heat import Heat, HeatCell, HeatRow
from proctor.web.addresses import query

FEW = 10  # items below which a cell says by its pattern that it shows little
SHADES = 7
# Behind the best by less than this much of the metric's range, shade by shade; what is further is the last.
BEHIND = (0.01, 0.03, 0.06, 0.12, 0.25)
PALE = 2  # the strongest shade of a cell with few items: its gap shows little
Word = Annotated[str, Query(max_length=10)]


@dataclass(frozen=True, slots=True)
class HeatAsked:
    """How a heat map is drawn, as the address has it: coloured by `gap` or `value`, ordered by `gap` or `name`.

    `open` are groups that are unfolded; `ends`: intervals stand in the cells, not on hover alone.
    """

    shade: Word = ""
    order: Word = ""
    ends: Word = ""
    open: Annotated[tuple[str, ...], Query(max_length=100)] = ()

    def query(self) -> dict[str, Any]:
        told = {"shade": self.shade, "order": self.order, "ends": self.ends, "open": list(self.open)}
        return {name: value for name, value in told.items() if value}


@dataclass(frozen=True, slots=True)
class ShownCell:
    """`tone` is its colour's class; `behind` how far it is behind the row's best, in words; `said` all of it."""

    of: HeatCell
    tone: str
    best: bool
    few: bool
    behind: str
    said: str
    href: str | None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row and its cells; `ident` names the rows below a group."""

    of: HeatRow
    title: str
    cells: tuple[ShownCell, ...]
    gap_href: str | None
    ident: str = ""
    unfolded: bool = False
    fold_href: str = ""
    below: tuple[ShownRow, ...] = ()


@dataclass(frozen=True, slots=True)
class HeatView:
    """A heat map with its choices as addresses: name of the choice, its words, its address, whether it is on."""

    of: Heat
    rows: tuple[ShownRow, ...]
    shade: str
    order: str
    ends: bool
    few: bool
    choices: Mapping[str, tuple[tuple[str, str, bool], ...]] = field(default_factory=dict)
    gaps: bool = True

    @property
    def told(self) -> bool:
        return any(cell.of.told for row in self.rows for each in (row, *row.below) for cell in each.cells)


CellPath = Callable[[HeatRow, str], str | None]
GapPath = Callable[[HeatRow, str, str], str | None]


@dataclass(frozen=True, slots=True)
class HeatPlace:
    """Where a heat map stands: the page's path and query, where a cell leads (row, column) and where a gap does."""

    path: str
    asked: Mapping[str, Any]
    cell: CellPath
    gap: GapPath


def heat_view(of: Heat, asked: HeatAsked, place: HeatPlace) -> HeatView:
    """The heat map as it is asked for, its rows ordered: the widest gap first, or by name."""
    one = len(of.columns) < 2
    shade = "value" if one or asked.shade == "value" else "gap"
    order = "name" if one or asked.order == "name" else "gap"
    drawing = _Drawing(of, shade, order, asked, place)
    rows = tuple(drawing.row(row, f"heat-g{n}") for n, row in enumerate(drawing.ordered(of.rows)))
    few = any(cell.few for row in rows for each in (row, *row.below) for cell in each.cells)
    return HeatView(of, rows, shade, order, bool(asked.ends), few, {} if one else drawing.choices(), not one)


@dataclass(frozen=True, slots=True)
class _Drawing:
    of: Heat
    shade: str
    order: str
    asked: HeatAsked
    place: HeatPlace

    def ordered(self, rows: tuple[HeatRow, ...]) -> list[HeatRow]:
        if self.order == "name":
            return sorted(rows, key=lambda row: row.title.casefold())
        return sorted(rows, key=lambda row: -1.0 if row.gap is None else row.gap, reverse=True)

    def choices(self) -> dict[str, tuple[tuple[str, str, bool], ...]]:
        def address(**changed: Any) -> str:
            return self.place.path + query({**self.place.asked, **self.asked.query()}, **changed) + "#heat"

        return {
            "Colour": (
                ("gap to the best", address(shade=""), self.shade == "gap"),
                ("value", address(shade="value"), self.shade == "value"),
            ),
            "Order": (
                ("widest gap first", address(order=""), self.order == "gap"),
                ("name", address(order="name"), self.order == "name"),
            ),
            "Intervals": (
                ("on hover", address(ends=""), not self.asked.ends),
                ("shown", address(ends="1"), bool(self.asked.ends)),
            ),
        }

    def row(self, row: HeatRow, ident: str = "", before: str = "") -> ShownRow:
        known = row.known
        best = known[0][0] if known else None
        least = least_of(row.metric, [value for value, _ in known])
        title = row.title.removeprefix(before)
        cells = tuple(self.cell(row, place, cell, best, 1.0 - least) for place, cell in enumerate(row.cells))
        keys = [cell.run_id or column.key for cell, column in zip(row.cells, self.of.columns, strict=True)]
        wide = bool(row.gap)
        gap = self.place.gap(row, keys[known[0][1]], keys[known[-1][1]]) if wide else None
        below = tuple(self.row(each, before=_same_start(row.below)) for each in self.ordered(row.below))
        return ShownRow(row, title, cells, gap, ident, row.key in self.asked.open, self._fold(row), below)

    def _fold(self, row: HeatRow) -> str:
        """The address at which a group is the other way round."""
        if not row.below:
            return ""
        now = [key for key in self.asked.open if key != row.key]
        now += [] if row.key in self.asked.open else [row.key]
        asked = {**self.place.asked, **self.asked.query()}
        asked.pop("open", None)
        return self.place.path + query(asked, open=now or None) + "#heat"

    def cell(self, row: HeatRow, place: int, of: HeatCell, best: float | None, span: float) -> ShownCell:
        column = self.of.columns[place]
        if of.value is None or best is None:
            return ShownCell(
                of, "", False, False, "", f"{row.title}, {column.title}: {of.why or 'not measured'}", None
            )
        leads = of.value == best and len(row.known) > 1
        behind = "" if leads or len(row.known) < 2 else f"{fraction(best - of.value)} behind the best"
        ends = "" if of.low is None else f" [{fraction(of.low)}, {fraction(of.high)}]"
        shown = {"better": "; shown better than the first", "worse": "; shown worse than the first", "": ""}[
            of.told
        ]
        said = (
            f"{row.title}, {column.title}: {row.metric} {fraction(of.value)}{ends}, n = {of.n:,} {self.of.what}"
            f"{'; ' + behind if behind else ''}{'; the best of its row' if leads else ''}{shown}"
        )
        few = of.n < FEW
        tone = _by_gap(best - of.value, span, few) if self.shade == "gap" else _by_value(of.value, span)
        return ShownCell(of, tone, leads, few, behind, said, self.place.cell(row, of.run_id or column.key))


def _by_gap(behind: float, span: float, few: bool) -> str:
    """One of six shades by how far a value is behind the best, as a part of the metric's range."""
    if behind <= 0:
        return "heat-g0"
    shade = 1 + sum(behind / span >= edge for edge in BEHIND)
    return f"heat-g{min(shade, PALE) if few else shade}"


def _by_value(value: float, span: float) -> str:
    """One of seven shades from the least that the metric can be to 1."""
    share = (value - (1.0 - span)) / span
    return f"heat-v{min(SHADES - 1, max(0, int(share * SHADES)))}"


def _same_start(rows: tuple[HeatRow, ...]) -> str:
    """What all titles begin with up to a colon, such as `MMLU: `: it is said once."""
    starts = {row.title.partition(": ")[0] for row in rows if ": " in row.title}
    return f"{starts.pop()}: " if len(starts) == 1 and len(rows) > 1 else ""
