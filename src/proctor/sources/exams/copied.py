"""Questions that stand more than once in the rows of a suite: they are one cluster of their task, and told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import orjson

from proctor.manifest import CopiedRows
from proctor.sources.exams.files.copies import clustered
from proctor.sources.exams.items import CHOICES
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.tables.shapes import Task

UNASKED = frozenset({"half", "idx"})  # fields that no prompt shows


def with_copies(rows: Sequence[Row], tasks: Mapping[str, Task]) -> tuple[list[Row], CopiedRows | None]:
    """The rows, copies with a cluster; and how many questions stand more than once. Rows come task by task.

    Tasks whose rows are pairs keep them: the two of a pair differ in a word on purpose.
    """
    found: list[Row] = []
    questions = copied = 0
    for key, some in groupby(rows, key=lambda row: row.task):
        members, task = list(some), tasks[key]
        if task.paired:
            found += members
            continue
        names = [_name(row, task) for row in members]
        clusters, told = clustered(
            [_asked(row, task) for row in members], names, [frozenset()] * len(members)
        )
        if told is None:
            found += members
            continue
        found += [replace(row, cluster=name) for row, name in zip(members, clusters, strict=True)]
        questions, copied = questions + told.questions, copied + told.rows
    return found, CopiedRows(questions, copied) if questions else None


def copies_told(copies: CopiedRows | None) -> tuple[str, ...]:
    if copies is None:
        return ()
    stands = "1 question stands" if copies.questions == 1 else f"{copies.questions:,} questions stand"
    return (
        f"{stands} more than once ({copies.rows:,} rows): copies are one cluster, so that they narrow no interval",
    )


def _asked(row: Row, task: Task) -> bytes:
    """What a row asks, whatever its case and spaces and the order of its choices."""
    fields = {name: value for name, value in row.fields.items() if name not in UNASKED}
    choices = CHOICES.get(task.kind)
    if choices is not None and isinstance(fields.get(choices), list):
        fields[choices] = sorted(map(str, fields[choices]))
    return (
        orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).lower().replace(b"\\n", b"").translate(None, b" ")
    )


def _name(row: Row, task: Task) -> str | None:
    """The cluster that the row has without copies, in the words of which its name is made."""
    return None if task.cluster is None else str(row.fields[task.cluster])
