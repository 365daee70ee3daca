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
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import ConfigError, DataError
from proctor.findings import OF_LABELS
from proctor.suites.asking import SEED
from proctor.suites.columns import (
    ANSWER,
    CHOICES,
    IDS,
    KNOWN_NAMES,
    Columns,
    choices,
    find_columns,
    first,
    question_fields,
    row_ids,
    where,
    wide_columns,
)
from proctor.suites.prompts_form import Fields, Prompt, Writer, lettered, placeholders
from proctor.suites.records import Record, Records, read_records
from proctor.suites.rows import Row
from proctor.suites.sampling import spread
from proctor.suites.shapes import Kind, Label, Task
from proctor.suites.source import SuiteSource, item_ids, make_source
from proctor.suites.targets import TARGETS, Given, Targets, given_answers, kind_of, spelled
from proctor.suites.texts import key
from proctor.suites.user_tables import UserSuite, UserTask, parse_suite
from proctor.types import SourceRef


@dataclass(frozen=True, slots=True)
class Exam:
    """One task with its rows, ready to be asked."""

    task: Task
    rows: tuple[Row, ...]
    table: Records
    writers: tuple[Writer, ...] | None  # of a prompt of its own
    dev: Callable[[], Sequence[Row]]


def open_user_suite(path: Path, ref: SourceRef | None = None) -> SuiteSource:
    """The items of the suite in a TOML file; `ref` says which tasks, how many and how they are put.

    Raises: ConfigError for what the TOML says, DataError for rows, naming file and line.
    """
    ref = ref or SourceRef("file", str(path))
    if ref.answer_type is not None:
        raise ConfigError(f"{path.name} says itself how answers are read: leave out --answer-type")
    try:
        body = path.read_bytes()
        suite = parse_suite(tomllib.loads(body.decode()), path.name)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Name the TOML file of a suite.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name}: not TOML in UTF-8 ({error})") from None
    exams = {one.key: open_task(one, suite, path, ref) for one in chosen(suite, ref, path.name)}
    rows = [row for exam in exams.values() for row in exam.rows]
    tasks = {name: exam.task for name, exam in exams.items()}
    some = f": {', '.join(tasks)}" if len(tasks) < len(suite.tasks) else ""
    plain = make_source(
        ref,
        tuple(tasks.values()),
        spread(rows, tasks, seed=SEED),
        title=f"{suite.title}{some}",
        facts={
            "suite": suite.name,
            "rows": "file",
            "data_sha256": {name: exam.table.sha256 for name, exam in exams.items()},
            "toml_sha256": hashlib.sha256(body).hexdigest(),
            "aggregate": suite.aggregate,
            "scored_tasks": len(suite.tasks),
        },
        teaching=lambda name: exams[name].dev(),
        own={name: exam.writers for name, exam in exams.items() if exam.writers},
    )
    said = tuple(in_words(exam) for exam in exams.values())
    return replace(plain, row_ids=item_ids(plain, rows), understood=(*said, *plain.understood))


def chosen(suite: UserSuite, ref: SourceRef, place: str) -> tuple[UserTask, ...]:
    known = [one.key for one in suite.tasks]
    if unknown := [name for name in ref.tasks if name not in known]:
        raise ConfigError(f"{place}: no task {unknown[0]!r}. Its tasks: {', '.join(known)}")
    return tuple(one for one in suite.tasks if not ref.tasks or one.key in ref.tasks)


def in_words(exam: Exam) -> str:
    named = f" ({', '.join(label.name for label in exam.task.labels)})" if exam.task.labels else ""
    return (
        f"{exam.task.key}: {len(exam.rows):,} rows from {exam.table.name} ({exam.table.form}), "
        f"answers are {exam.task.kind}{named}"
    )


def open_task(one: UserTask, suite: UserSuite, toml: Path, ref: SourceRef) -> Exam:
    """A task with its rows read. Raises: ConfigError, DataError."""
    table = read_records(toml.parent / one.file, KNOWN_NAMES)
    columns = columns_of(one, table)
    given = given_answers(table, columns)
    kind = one.kind or ("labels" if one.labels else kind_of(given, has_choices(columns)))
    if kind == "choices" and not has_choices(columns):
        raise DataError(f"{table.name}: no column with choices, which task {one.key} needs")
    task = Task(one.key, one.title, kind, one.key if one.prompt else prompt_name(columns, kind))
    check_prompt(one, kind, table, ref)
    texts = options(table, columns, kind)
    targets = named(given, one.labels) if one.labels else TARGETS[kind](given, texts, columns.answer)
    task = replace(
        task,
        labels=targets.labels,
        metrics=one.metrics,
        also=() if "accuracy" in one.metrics else ("accuracy",),
        positive=one.positive,
        cluster=one.cluster,
    )
    check_metrics(one, task, toml.name)
    rows = to_rows(one, task, table, columns, targets, one.key)
    writers = written_prompt(suite, one) if one.prompt else None
    return Exam(task, rows, table, writers, partial(dev_rows, one, task, toml))


def dev_rows(one: UserTask, task: Task, toml: Path) -> Sequence[Row]:
    """The rows that worked examples are taken from; none without a dev_file. Raises: DataError."""
    if one.dev_file is None:
        return ()
    table = read_records(toml.parent / one.dev_file, KNOWN_NAMES)
    columns = columns_of(one, table)
    given = given_answers(table, columns)
    if task.labels:
        targets = named(given, task.labels)
    else:
        targets = TARGETS[task.kind](given, options(table, columns, task.kind), columns.answer)
    return to_rows(one, task, table, columns, targets, f"{one.key}/dev")


def prompt_name(columns: Columns, kind: Kind) -> str:
    return "verbatim" if columns.question.lower() == "messages" else kind


def columns_of(one: UserTask, table: Records) -> Columns:
    """The columns in use; with a prompt of its own a task needs no column of questions."""
    if one.prompt is None:
        return find_columns(table)
    by_name = {name.lower(): name for name in reversed(table.columns)}
    answer = first(ANSWER, by_name)
    if answer is None:
        raise DataError(
            f"{table.name}: no column with answers, and scoring needs one. Its columns: "
            f"{', '.join(table.columns)}. Recognised names: {', '.join(ANSWER)}."
        )
    listed = first(CHOICES, by_name)
    return Columns("", answer, listed, () if listed else wide_columns(by_name), first(IDS, by_name), ())


def has_choices(columns: Columns) -> bool:
    return columns.choices is not None or bool(columns.wide)


def options(table: Records, columns: Columns, kind: Kind) -> list[tuple[str, ...]]:
    return [choices(table, record, columns) for record in table.records] if kind == "choices" else []


def named(rows: Sequence[Given], labels: Sequence[Label]) -> Targets:
    """Answers under the labels that the task names. Raises: DataError for an answer that is none of them."""
    words = {key(word): label.name for label in labels for word in (*label.synonyms, label.shown)}
    words |= {key(label.name): label.name for label in labels}
    if not words.keys() & {"yes", "no"}:
        # JSON's true and false are yes and no, unless the labels call them true and false.
        words |= {yes: words[true] for yes, true in (("yes", "true"), ("no", "false")) if true in words}
    answers = []
    for row in rows:
        for answer in row.answers:
            if key(spelled(answer)) not in words:
                raise DataError(
                    f"{row.place}: the answer {spelled(answer)!r} is none of the labels: "
                    f"{', '.join(label.name for label in labels)}"
                )
        answers.append(tuple(dict.fromkeys(words[key(spelled(answer))] for answer in row.answers)))
    return Targets("labels", tuple(answers), tuple(labels))


# What a prompt may show besides the columns, for tasks of these kinds.
MADE: dict[Kind, str] = {"choices": "choices", "labels": "labels"}


def check_prompt(one: UserTask, kind: Kind, table: Records, ref: SourceRef) -> None:
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


METRICS: dict[Kind, tuple[str, ...]] = {
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


def to_rows(
    one: UserTask, task: Task, table: Records, columns: Columns, targets: Targets, stem: str
) -> tuple[Row, ...]:
    """The rows in normal form; `fields` holds what the prompt shows and what the clusters rest on."""
    texts = options(table, columns, task.kind)
    labels = {"labels": [label.shown for label in task.labels]} if task.labels else {}
    needed = [name for name in placeholders(one.prompt or "") if name in table.columns]
    rows = []
    for place, (record, row_id) in enumerate(zip(table.records, row_ids(table, columns), strict=True)):
        fields: dict[str, Any] = {} if one.prompt else question_fields(table, record, columns)
        for name in (*needed, *([one.cluster] if one.cluster else [])):
            fields.setdefault(name, in_text(table, record, name))
        if texts:
            fields["choices"] = list(texts[place])
        target, *aliases = targets.answers[place]
        rows.append(Row(f"{stem}/{row_id}", one.key, target, {**fields, **labels}, tuple(aliases)))
    return tuple(rows)


def in_text(table: Records, record: Record, name: str) -> str:
    """A field as a prompt shows it. Raises: DataError when the row lacks it."""
    value = record.values.get(name)
    if value is None:
        raise DataError(f"{where(table, record, name)}: missing; the prompt or cluster of the task needs it")
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
