"""A suite of one's own as a source: one TOML file that describes the tasks, and a file of rows for each.

[suite]
name = "kitchen"
title = "Kitchen knowledge"
aggregate = "micro"

[[tasks]]
key = "storage"
file = "storage.jsonl"
labels = ["fridge", { name = "cupboard", synonyms = ["pantry"] }]
prompt = "Where does one keep {food}? ... Answer: <fridge|cupboard>"

A table [judge] names a model that grades the replies afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import ConfigError, DataError
from proctor.figures import left_out_mark
from proctor.findings import OF_LABELS
from proctor.given_files import toml_table
from proctor.grading.formats import AnswerFormat
from proctor.manifest import ExamFacts, TaskSpec
from proctor.references import ExamRef
from proctor.sources.exams.asking import SEED
from proctor.sources.exams.files.columns import (
    KNOWN_NAMES,
    Columns,
    asked_by,
    find_columns,
    kind_by_grader,
    question_fields,
)
from proctor.sources.exams.files.faults import RowFault
from proctor.sources.exams.files.records import Record, Records, read_records
from proctor.sources.exams.files.rows import FileReading, FileRows, file_rows, with_odd
from proctor.sources.exams.files.user_tables import UserSuite, UserTask, parse_suite
from proctor.sources.exams.prompts.form import Fields, Prompt, Writer, lettered, placeholders
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.sampling import spread
from proctor.sources.exams.source import SuiteSource, item_ids, make_source
from proctor.sources.exams.tables.shapes import Task


@dataclass(frozen=True, slots=True)
class TaskRows:
    """One task with its rows, ready to be asked."""

    task: Task
    read: FileRows
    table: Records
    writers: tuple[Writer, ...] | None  # of a prompt of its own
    dev: Callable[[], Sequence[Row]]


def open_user_suite(path: Path, ref: ExamRef | None = None) -> SuiteSource:
    """The items of the suite in a TOML file; `ref` says which tasks, how many and how they are put.

    Raises: ConfigError for what the TOML says, DataError for rows, naming file and line.
    """
    ref = ref or ExamRef("file", str(path))
    if ref.answer_type is not None:
        raise ConfigError(f"{path.name} says itself how answers are read: leave out --answer-type")
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Name the TOML file of a suite.") from None
    suite = parse_suite(toml_table(body, path.name), path.name)
    exams = {one.key: open_task(one, suite, path, ref) for one in chosen(suite, ref, path.name)}
    rows = [row for exam in exams.values() for row in exam.read.rows]
    facts = ExamFacts(
        suite=suite.name,
        rows="file",
        tasks={name: TaskSpec(name, data_sha256=exam.table.sha256) for name, exam in exams.items()},
        toml_sha256=hashlib.sha256(body).hexdigest(),
        aggregate=suite.aggregate,
        scored_tasks=len(suite.tasks),
    )
    facts = with_odd(facts, [exam.read for exam in exams.values()])
    tasks = {name: exam.task for name, exam in exams.items()}
    some = f": {', '.join(tasks)}" if len(tasks) < len(suite.tasks) else ""
    plain = make_source(
        ref,
        tuple(tasks.values()),
        spread(rows, tasks, seed=SEED),
        title=f"{suite.title}{some}{left_out_mark(facts.left_out)}",
        facts=facts,
        teaching=lambda name: exams[name].dev(),
        own={name: exam.writers for name, exam in exams.items() if exam.writers},
    )
    said = tuple(line for exam in exams.values() for line in in_words(exam))
    ids = item_ids(plain, [(name, ident) for name, exam in exams.items() for ident in exam.read.ids])
    return replace(plain, row_ids=ids, understood=(*said, *plain.understood))


def chosen(suite: UserSuite, ref: ExamRef, place: str) -> tuple[UserTask, ...]:
    known = [one.key for one in suite.tasks]
    if unknown := [name for name in ref.tasks if name not in known]:
        raise ConfigError(f"{place}: no task {unknown[0]!r}. Its tasks: {', '.join(known)}")
    return tuple(one for one in suite.tasks if not ref.tasks or one.key in ref.tasks)


def in_words(exam: TaskRows) -> Iterator[str]:
    named = f" ({', '.join(label.name for label in exam.task.labels)})" if exam.task.labels else ""
    yield (
        f"{exam.task.key}: {len(exam.table.records):,} rows from {exam.table.name} ({exam.table.form}), "
        f"answers are {exam.task.kind}{named}"
    )
    yield from (f"{exam.task.key}: {line}" if line[:1].strip() else line for line in exam.read.said)


def open_task(one: UserTask, suite: UserSuite, toml: Path, ref: ExamRef) -> TaskRows:
    """A task with its rows read. Raises: ConfigError, DataError."""
    table = read_records(toml.parent / one.file, KNOWN_NAMES)
    columns = find_columns(table, asks=one.prompt is None)
    wanted = replace(
        wanted_of(one, table, columns, one.key),
        kind=one.kind or kind_by_grader(columns, one.grader or ref.grader) if not one.labels else None,
        numbers=ref.numbers,
        lenient=ref.lenient,
        check=lambda kind: check_prompt(one, kind, table, ref),
    )
    read = file_rows(table, columns, wanted)
    kind = read.targets.kind
    task = Task(
        one.key,
        one.title + left_out_mark(read.left_out),
        kind,
        one.key if one.prompt else prompt_name(columns, kind),
        labels=read.targets.labels,
        metrics=one.metrics,
        also=() if "accuracy" in one.metrics else ("accuracy",),
        positive=one.positive,
        cluster=one.cluster,
        grader=grader_of(one, toml),
    )
    check_metrics(one, task, toml.name)
    writers = written_prompt(suite, one) if one.prompt else None
    return TaskRows(task, read, table, writers, partial(dev_rows, one, task, toml))


def grader_of(one: UserTask, toml: Path) -> str | None:
    """The task's own grader, in words. Raises: ConfigError."""
    if one.grader is None:
        return None
    from proctor.grading.spec import Files, grader_of_table  # see sources/exams/graded.py

    where = f"{toml.name}, task {one.key}: grader"
    if one.kind not in (None, "text") or one.labels:
        raise ConfigError(
            f"{where}: it grades answers in free text; leave out kind and labels, or the grader"
        )
    return grader_of_table(one.grader, where=where, files=Files(toml.parent)).words


def dev_rows(one: UserTask, task: Task, toml: Path) -> Sequence[Row]:
    """The rows that worked examples are taken from; none without a dev_file. Raises: DataError."""
    if one.dev_file is None:
        return ()
    table = read_records(toml.parent / one.dev_file, KNOWN_NAMES)
    table.faults.may_go = False  # worked examples are few, and chosen
    columns = find_columns(table, asks=one.prompt is None)
    wanted = replace(wanted_of(one, table, columns, f"{one.key}/dev"), kind=task.kind, labels=task.labels)
    return file_rows(table, columns, wanted).rows


def wanted_of(one: UserTask, table: Records, columns: Columns, stem: str) -> FileReading:
    """How the rows of the task's files are read: what its prompt shows, and what its clusters rest on."""
    needed = tuple(name for name in placeholders(one.prompt or "") if name in table.columns)
    more = (*needed, *([one.cluster] if one.cluster else []))

    def fields(record: Record) -> dict[str, Any]:
        found: dict[str, Any] = {} if one.prompt else question_fields(record, columns)
        for name in more:
            found.setdefault(name, in_text(record, name))
        return found

    shown = needed if one.prompt else asked_by(columns)
    cluster = one.cluster or columns.cluster
    return FileReading(stem, one.key, fields, shown, kind=one.kind, labels=one.labels, cluster=cluster)


def prompt_name(columns: Columns, kind: AnswerFormat) -> str:
    return "verbatim" if columns.questions_are_messages else kind


# What a prompt may show besides the columns, for tasks of these kinds.
MADE: dict[AnswerFormat, str] = {"choices": "choices", "labels": "labels"}


def check_prompt(one: UserTask, kind: AnswerFormat, table: Records, ref: ExamRef) -> None:
    """Raises: DataError when the prompt shows, or the clusters rest on, what the file does not have."""
    shown = placeholders(one.prompt or "")
    known = {*table.columns, *([MADE[kind]] if kind in MADE else [])}
    for name in (*shown, *([one.cluster] if one.cluster else [])):
        if name not in known:
            what = f"the prompt shows {{{name}}}" if name in shown else f"cluster is {name!r}"
            raise DataError(
                f"{table.name}: {what} in task {one.key}, and there is no such field. Fields: "
                f"{', '.join(sorted(known))}. Write {{{{ and }}}} for braces that are no field."
            )
    if ref.shuffle and one.prompt and kind == "choices" and "choices" not in shown:
        raise ConfigError(
            f"Task {one.key} does not show {{choices}} in its prompt, so they cannot be shuffled: "
            "leave out --shuffle"
        )


METRICS: dict[AnswerFormat, tuple[str, ...]] = {
    "choices": ("accuracy",),
    "labels": ("accuracy", *OF_LABELS),
    "text": ("accuracy",),
}


def check_metrics(one: UserTask, task: Task, place: str) -> None:
    """Raises: ConfigError for a metric that the task's kind does not have, or F1 of nothing."""
    known = METRICS[task.kind]
    if unknown := [name for name in one.metrics if name not in known]:
        raise ConfigError(
            f"{place}: task {one.key} has no metric {unknown[0]!r}; for {task.kind} there are {', '.join(known)}"
        )
    names = [label.name for label in task.labels]
    if one.positive is not None and one.positive not in names:
        raise ConfigError(
            f"{place}: task {one.key}: positive = {one.positive!r} is none of {', '.join(names)}"
        )
    if "f1" in one.metrics and one.positive is None:
        raise ConfigError(f"{place}: task {one.key}: f1 needs positive = one of {', '.join(names)}")


def in_text(record: Record, name: str) -> str:
    """A field as a prompt shows it. Raises: RowFault when the row lacks it."""
    value = record.values.get(name)
    if value is None:
        raise RowFault(name, "missing; the prompt or cluster of the task needs it")
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def written_prompt(suite: UserSuite, one: UserTask) -> tuple[Writer, ...]:
    """The task's own template; its version is the hash of its words."""
    template = one.prompt or ""
    version = hashlib.sha256(template.encode()).hexdigest()[:12]
    return (Prompt(f"{suite.name}.{one.key}/{version}", template, ready=shown_fields),)


def shown_fields(fields: Fields) -> Fields:
    """`{choices}` as lettered lines, `{labels}` with | between."""
    made: dict[str, str] = {}
    if isinstance(fields.get("choices"), list):
        made["choices"] = lettered(fields["choices"])
    if isinstance(fields.get("labels"), list):
        made["labels"] = "|".join(fields["labels"])
    return {**fields, **made}
