"""The items that runs share. Sampling is nested: of the same words, a smaller run's items are among a larger one's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from proctor.findings import Sharing
from proctor.service.results.results import shape
from proctor.stats.estimates import Scored, Shape, exams_of
from proctor.stats.estimates_sheet import base_id
from proctor.types import Run

Asked = frozenset[tuple[str, str]]  # id and hash of what was asked; one for each wording


def shape_over(runs: Sequence[Run]) -> Shape:
    """What the statistics need of several runs: of the one with most tasks, and the tasks that it lacks."""
    shapes = sorted(map(shape, runs), key=lambda of: -len(of.tasks))
    tasks = {key: spec for of in reversed(shapes) for key, spec in of.tasks.items()}
    widest = shapes[0].tasks
    lacking = {key: spec for key, spec in tasks.items() if key not in widest}
    return replace(shapes[0], tasks={**widest, **lacking})


def asked(rows: Iterable[Scored], of: Shape) -> Asked:
    """What a run was asked of the tasks that count in the headline, whatever became of it."""
    counted = {key for key, spec in of.tasks.items() if not spec.extra} or of.tasks.keys()
    return frozenset((row.item, row.content) for row in rows if row.task in counted)


def scored(rows: Iterable[Scored], of: Shape) -> Asked:
    """What of it was measured."""
    exams = exams_of(rows, of)
    counted = [one for one in exams if not one.spec.extra] or exams
    return frozenset((row.item, row.content) for one in counted for row in one.sheet.rows)


def only(rows: Iterable[Scored], these: Asked) -> list[Scored]:
    return [row for row in rows if (row.item, row.content) in these]


def items(these: Asked, of: Shape) -> int:
    """How many items it is: three wordings of one are one."""
    return len({base_id(item, of.worded) for item, _ in these})


def sharing(first: Asked, second: Asked, of: Shape, what: Literal["items", "tasks"] = "items") -> Sharing:
    both = first if first == second else first & second
    return Sharing(items(first, of), items(second, of), items(both, of), what)
