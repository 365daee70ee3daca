"""The rows of a user's file in normal form: every row read, all faults told at once, copies found."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.grading.formats import AnswerFormat, Label
from proctor.manifest import CopiedRows, ExamFacts, LeftOut
from proctor.references import Numbers
from proctor.sources.exams.files.columns import CHOICES, Columns, choices, row_grader, row_ids
from proctor.sources.exams.files.copies import Copies, alike, clustered
from proctor.sources.exams.files.faults import left_out_of
from proctor.sources.exams.files.records import Record, Records
from proctor.sources.exams.files.targets import (
    TARGETS,
    AnswerColumn,
    Targets,
    given_answers,
    given_rows,
    kind_of,
    named_targets,
)
from proctor.sources.exams.rows.normal_form import Row


@dataclass(frozen=True, slots=True)
class FileReading:
    """How the rows of a file are to be read.

    `fields` gives what a row's prompt is made of, `shown` the names of those by which two rows ask the same,
    and `cluster` the column, or field, by which rows hang together. `check` hears what kind the answers are
    before any row is judged by it, and may raise.
    """

    stem: str  # what ids begin with
    task: str
    fields: Callable[[Record], dict[str, Any]]
    shown: tuple[str, ...]
    kind: AnswerFormat | None = None
    labels: tuple[Label, ...] = ()
    numbers: Numbers | None = None
    lenient: bool = False
    cluster: str | None = None
    check: Callable[[AnswerFormat], None] = lambda kind: None


@dataclass(frozen=True, slots=True)
class FileRows:
    """What was read. `ids` are those of all rows of the file in its order, of the ones left out too."""

    rows: tuple[Row, ...]
    ids: tuple[str, ...]
    targets: Targets
    left_out: LeftOut | None
    copies: Copies | None
    said: tuple[str, ...]


def with_odd(facts: ExamFacts, parts: Sequence[FileRows]) -> ExamFacts:
    """The facts with what is odd in the rows of files: some are left out, questions stand there more than once."""
    copies = [part.copies for part in parts if part.copies is not None]
    total = sum(len(part.ids) for part in parts)
    return replace(
        facts,
        left_out=left_out_of([part.left_out for part in parts], total),
        copies=CopiedRows(sum(c.questions for c in copies), sum(c.rows for c in copies)) if copies else None,
    )


def file_rows(table: Records, columns: Columns, wanted: FileReading) -> FileRows:
    """The usable rows of a file. Raises: DataError with all faults of the file, unless it may do without bad rows."""
    faults, records = table.faults, table.records
    answers = faults.each(records, lambda record: given_answers(record, columns.answer))
    kind = kind_wanted(table, columns, wanted, answers)
    wanted.check(kind)
    lettered = kind == "choices"
    options: Sequence[tuple[str, ...] | None] = (
        faults.each(records, lambda record: choices(record, columns)) if lettered else [()] * len(records)
    )
    fields = faults.each(records, wanted.fields)
    names = row_ids(table, columns)
    graders = faults.each(records, lambda record: row_grader(record, columns)) if columns.grader else ()
    asked = AnswerColumn(columns, faults, wanted.numbers)
    given = given_rows(table, answers, options)
    targets = named_targets(given, asked, wanted.labels) if wanted.labels else TARGETS[kind](given, asked)
    left_out = faults.settle(len(records), lenient=wanted.lenient)
    ids = tuple([f"{wanted.stem}/{name}" for name in names])
    good = [record for record in records if record.index not in faults.rows]
    made, copies = to_rows(good, wanted, Parts(ids, fields, options, targets, graders))
    said = (*targets.said, *odd_words(good, options, copies), *left_out_words(left_out))
    return FileRows(tuple(made), ids, targets, left_out, copies, said)


def kind_wanted(
    table: Records, columns: Columns, wanted: FileReading, answers: Sequence[tuple[Any, ...] | None]
) -> AnswerFormat:
    if wanted.kind is None and not wanted.labels and not columns.has_choices:
        return kind_of([answer for answer in answers if answer is not None])
    kind = wanted.kind or ("labels" if wanted.labels else "choices")
    if kind == "choices" and not columns.has_choices:
        raise DataError(
            f"{table.name}: no column with choices. Recognised: {', '.join(CHOICES)}; A, B, C ...; "
            "choice1, choice2 ..."
        )
    return kind


@dataclass(frozen=True, slots=True)
class Parts:
    """What was read of the rows, by their index in the file."""

    ids: Sequence[str]
    fields: Sequence[dict[str, Any] | None]
    options: Sequence[tuple[str, ...] | None]
    targets: Targets
    graders: Sequence[str | None]


def to_rows(good: Sequence[Record], wanted: FileReading, of: Parts) -> tuple[list[Row], Copies | None]:
    """The rows in normal form; `fields` holds what the prompt shows, and what user suites' clusters rest on."""
    labels = [label.shown for label in of.targets.labels]
    found = [asked_of(record, wanted, of) for record in good]
    rights = of.targets.answers
    clusters, copies = clustered(
        [key for _, key in found],
        [cluster_name(record, fields, wanted) for record, (fields, _) in zip(good, found, strict=True)],
        _Rights(good, of),
    )
    rows = []
    for record, (fields, _), cluster in zip(good, found, clusters, strict=True):
        if of.targets.kind == "choices":
            fields["choices"] = list(of.options[record.index] or ())
        elif labels:
            fields["labels"] = labels
        target, *aliases = rights[record.index]
        grader = (of.graders[record.index] if of.graders else None) or None
        rows.append(Row(of.ids[record.index], wanted.task, target, fields, tuple(aliases), cluster, grader))
    return rows, copies


def asked_of(record: Record, wanted: FileReading, of: Parts) -> tuple[dict[str, Any], Hashable]:
    """The row's fields, and what it asks: copies are alike in it, whatever their case, spaces and order of options."""
    fields = of.fields[record.index] or {}
    key: Hashable
    if len(wanted.shown) == 1 and isinstance(value := fields.get(wanted.shown[0]), str):
        key = alike(value)
    else:
        key = orjson.dumps(alike([fields.get(name) for name in wanted.shown]))
    options = of.options[record.index]
    return fields, (key, *sorted(map(alike, options))) if options else key


def cluster_name(record: Record, fields: dict[str, Any], wanted: FileReading) -> str | None:
    if wanted.cluster is None:
        return None
    value = fields.get(wanted.cluster, record.values.get(wanted.cluster))
    return None if value is None or value == "" else str(value)


class _Rights(Sequence[frozenset[str]]):
    """The texts of the right answers by place; made only for the few rows that are asked for."""

    def __init__(self, good: Sequence[Record], of: Parts) -> None:
        self._good, self._of = good, of

    def __len__(self) -> int:
        return len(self._good)

    def __getitem__(self, place: Any) -> Any:
        index = self._good[place].index
        answers, options = self._of.targets.answers[index], self._of.options[index]
        if not options:
            return frozenset(answers)
        return frozenset(options[ascii_uppercase.index(letter)] for letter in answers)


# In words -----------------------------------------------------------------------------------------


def odd_words(
    good: Sequence[Record], options: Sequence[tuple[str, ...] | None], copies: Copies | None
) -> tuple[str, ...]:
    """What a careful user would want to know of the rows that are asked."""
    single = [record for record in good if len(options[record.index] or ()) == 1]
    said = []
    if single:
        rows = (
            "1 row has one option only" if len(single) == 1 else f"{len(single):,} rows have one option only"
        )
        said.append(
            f"{rows} ({single[0].where}): nothing else can be answered, so a right answer shows little"
        )
    if copies is not None:
        said.append(copies_words(good, copies))
    return tuple(said)


def copies_words(good: Sequence[Record], copies: Copies) -> str:
    one = copies.questions == 1
    stands = "1 question stands" if one else f"{copies.questions:,} questions stand"
    first, second = (good[place].where for place in copies.first)
    said = (
        f"{stands} more than once ({copies.rows:,} rows; {first} and {second}): copies are one cluster, so that they "
        "narrow no interval"
    )
    if copies.differing:
        one_place, other = (good[place].where for place in copies.differing[0])
        rows = "1 copy has" if len(copies.differing) == 1 else f"{len(copies.differing):,} copies have"
        said += f"; {rows} another answer than the first ({one_place} and {other})"
    return said


def left_out_words(left_out: LeftOut | None) -> tuple[str, ...]:
    if left_out is None:
        return ()
    head = f"LEFT OUT (--lenient): {left_out.rows:,} of {left_out.of:,} rows cannot be used"
    return (head, *(f"  {fault}" for fault in left_out.faults))
