"""The words for a heat map: what models scored task by task, with how many items each value is of.

    HeatCell    one value with its interval, or why there is none
    HeatColumn  a model, an agent, a batch
    HeatRow     a task or a suite; a group of tasks has theirs below it
    Heat        the table

The service makes them from what was kept or counted, views draw them. Everything here is frozen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Told = Literal["better", "worse", ""]


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A value with the ends of its 95 % interval, of `n` items (of agents: trials).

    `value` is None where there is none, and `why` says the reason. `told`: whether it is shown to be better or worse
    than the first column's, by the test of the pair.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why: str = ""
    told: Told = ""
    run_id: str = ""  # whose items it is of, where that is not the column's run


@dataclass(frozen=True, slots=True)
class HeatColumn:
    """`key` is what addresses need of it: a run's id, or a model's name."""

    key: str
    title: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class HeatRow:
    """Values of one thing in the order of the columns. `below` are the rows that a group is made of."""

    key: str
    title: str
    metric: str
    cells: tuple[HeatCell, ...]
    note: str = ""
    below: tuple[HeatRow, ...] = ()

    @property
    def known(self) -> list[tuple[float, int]]:
        """The values that there are, with the place of their column, the best first."""
        found = [(cell.value, place) for place, cell in enumerate(self.cells) if cell.value is not None]
        return sorted(found, key=lambda each: -each[0])

    @property
    def gap(self) -> float | None:
        """The best value minus the worst; None where fewer than two are known."""
        return self.known[0][0] - self.known[-1][0] if len(self.known) > 1 else None


@dataclass(frozen=True, slots=True)
class Heat:
    """Rows by columns. `what` are the items called that the cells count; `notes` say what the values are of."""

    columns: tuple[HeatColumn, ...]
    rows: tuple[HeatRow, ...]
    what: str = "items"
    notes: tuple[str, ...] = ()
