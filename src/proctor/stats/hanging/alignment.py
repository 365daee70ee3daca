"""Two runs on one task that differ in what hangs together: units are what hangs together in either."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from proctor.stats.estimates_sheet import Sheet, base_id, sheet
from proctor.stats.estimates_task import TaskSheet

if TYPE_CHECKING:
    from proctor.stats.metrics import Array


def aligned(one: TaskSheet, other: TaskSheet) -> tuple[TaskSheet, TaskSheet]:
    """Two exams on the same items, with the same units in the same order.

    They differ where a version has learnt to see copies since the first run, or where the larger of two runs was asked
    copies that the smaller was not.
    """
    import numpy as np

    if np.array_equal(_by_item(one.sheet), _by_item(other.sheet)):
        return one, other
    names = _joined(one, other)
    return _named(one, names), _named(other, names)


def _by_item(of: Sheet) -> Array:
    """The unit of each item; items are in the same order in all runs that share them."""
    import numpy as np

    found = np.zeros(of.items)
    found[of.item.astype(np.int64)] = of.unit
    return found


def _joined(one: TaskSheet, other: TaskSheet) -> dict[str, str]:
    """Item -> the name of its unit: that of a copy, where one is in it, since it may go on in other tasks."""
    above: dict[str, str] = {}

    def root(name: str) -> str:
        while (parent := above.get(name, name)) != name:
            above[name] = above.get(parent, parent)
            name = parent
        return name

    copies: dict[str, str] = {}
    for side in (one, other):
        first: dict[float, str] = {}
        for row, unit in zip(side.sheet.rows, side.sheet.unit.tolist(), strict=True):
            base = base_id(row.item, side.worded)
            if row.together is not None:
                copies.setdefault(base, row.together)
            ends = sorted((root(first.setdefault(unit, base)), root(base)))
            above[ends[1]] = ends[0]
    named: dict[str, str] = {}
    for base, name in sorted(copies.items()):
        named.setdefault(root(base), name)
    return {base: named.get(root(base), f"{one.key} {root(base)}") for base in above}


def _named(of: TaskSheet, names: dict[str, str]) -> TaskSheet:
    rows = tuple(
        replace(row, together=name) if (name := names.get(base_id(row.item, of.worded))) else row
        for row in of.rows
    )
    return replace(of, rows=rows, sheet=sheet(rows, of.spec, worded=of.worded))
