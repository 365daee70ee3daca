"""Worked examples: which dev rows are shown, with their answers, before the question."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Sequence
from itertools import chain, zip_longest

from proctor.errors import DataError
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.sampling import like
from proctor.sources.exams.tables.shapes import Task

CURE = "import the set's train or dev rows with `proctor data import PATH`"


def choose(
    task: Task,
    dev: Sequence[Row],
    count: int,
    *,
    seed: int,
    shown: Callable[[Row], str],
    asked: Container[str],
) -> tuple[Row, ...]:
    """The dev rows to show, the same for every item.

    The first ones where the authors fixed their order; else drawn by a seeded hash, each answer as
    often as the others. `shown` is how a row looks to the model: none that looks like a row of `asked`
    is taken. Raises: DataError when there are too few.
    """
    usable = [row for row in dev if row.target is not None and shown(row) not in asked]
    if len(usable) < count:
        known = f"there are {len(usable)}" if dev else "there are no dev rows here"
        fewer = f"ask for at most {len(usable)} with --shots, or " if usable else "leave out --shots, or "
        raise DataError(f"{task.key}: {worked(count)} wanted, and {known}: {fewer}{CURE}")
    if task.ordered_dev:
        return tuple(usable[:count])
    return tuple(sorted(balanced(task, usable, seed)[:count], key=lambda row: luck(row, seed)))


def worked(count: int) -> str:
    """
    >>> worked(1), worked(2)
    ('1 worked example', '2 worked examples')
    """
    return f"{count} worked example{'s' if count != 1 else ''}"


def balanced(task: Task, rows: Sequence[Row], seed: int) -> list[Row]:
    """The rows so that in every beginning each answer stands as often as the others, give or take one."""
    groups: dict[str, list[Row]] = {}
    for row in sorted(rows, key=lambda row: luck(row, seed)):
        groups.setdefault(like(task.kind, row.target), []).append(row)
    rounds = zip_longest(*(groups[name] for name in sorted(groups)))
    return [row for row in chain.from_iterable(rounds) if row is not None]


def luck(row: Row, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}|shots|{row.id}".encode()).digest()
