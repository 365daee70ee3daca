"""A user's own question file as a source, and in words what was understood of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from proctor.errors import ConfigError, DataError
from proctor.suites.asking import SEED
from proctor.suites.columns import (
    ANSWER,
    CHOICES,
    KNOWN_NAMES,
    QUESTION,
    Columns,
    choices,
    find_columns,
    question_fields,
    row_ids,
)
from proctor.suites.own_cue import in_own_words, language_of
from proctor.suites.prompts_exams import EXAM_PROMPTS
from proctor.suites.reading.ladder import EXTRACTOR
from proctor.suites.reading.languages import ENGLISH
from proctor.suites.records import Records, read_records
from proctor.suites.rows import Row
from proctor.suites.sampling import spread
from proctor.suites.shapes import Task
from proctor.suites.source import SuiteSource, item_ids, make_source
from proctor.suites.targets import TARGETS, Targets, given_answers, kind_of
from proctor.suites.user_suites import open_user_suite
from proctor.types import SourceRef


def open_file(ref: SourceRef) -> SuiteSource:
    """The items of a file of questions, or of a user's suite when it is a TOML file.

    Raises: DataError naming file, line and column; ConfigError.
    """
    path = Path(ref.name)
    if path.suffix.lower() == ".toml":
        return open_user_suite(path, ref)
    if ref.tasks:
        raise ConfigError(f"A file has no tasks to select; leave out {', '.join(ref.tasks)}")
    table = read_records(path, KNOWN_NAMES)
    columns = find_columns(table)
    has_choices = columns.choices is not None or bool(columns.wide)
    given = given_answers(table, columns)
    kind = ref.answer_type or kind_of(given, has_choices)
    if kind == "choices" and not has_choices:
        raise DataError(
            f"{table.name}: no column with choices. Recognised: {', '.join(CHOICES)}; A, B, C ...; "
            "choice1, choice2 ..."
        )
    options = [choices(table, record, columns) for record in table.records] if kind == "choices" else []
    targets = TARGETS[kind](given, options, columns.answer)
    rows = to_rows(path.stem, table, columns, targets, options)
    prompt = "verbatim" if columns.question.lower() == "messages" else kind
    task = Task(path.stem, path.name, kind, prompt, labels=targets.labels)
    language = language_of(str(row.fields.get("question", "")) for row in rows)
    # The other extractors know the English cue only, so they are asked for that.
    asks_own = prompt != "verbatim" and language is not ENGLISH and ref.extractor in (None, EXTRACTOR)
    plain = make_source(
        ref,
        (task,),
        spread(rows, {task.key: task}, seed=SEED),
        title=path.name,
        facts={
            "suite": path.stem,
            "rows": "file",
            "data_sha256": {path.stem: table.sha256},
            "answer_type": kind,
            "aggregate": "micro",
        },
        own={task.key: in_own_words(EXAM_PROMPTS[prompt], language)} if asks_own and not ref.style else None,
    )
    said = sentences(table, columns, targets, options)
    if asks_own:
        said = (*said, f"questions in {language.name}: the last line is asked for as '{language.cue}: ...'")
    return replace(plain, row_ids=item_ids(plain, rows), understood=(*said, *plain.understood))


def to_rows(
    stem: str, table: Records, columns: Columns, targets: Targets, options: list[tuple[str, ...]]
) -> list[Row]:
    """The file's rows in normal form; `fields` holds what the prompt shows."""
    shown: dict[str, Any] = {"labels": [label.name for label in targets.labels]} if targets.labels else {}
    rows = []
    for place, (record, row_id) in enumerate(zip(table.records, row_ids(table, columns), strict=True)):
        more = {"choices": list(options[place])} if options else shown
        target, *aliases = targets.answers[place]
        row_fields = {**question_fields(table, record, columns), **more}
        rows.append(Row(f"{stem}/{row_id}", stem, target, row_fields, tuple(aliases)))
    return rows


def sentences(
    table: Records, columns: Columns, targets: Targets, options: list[tuple[str, ...]]
) -> tuple[str, ...]:
    """What was understood, for a person to check before anything is spent."""
    said = [
        f"{len(table.records):,} rows from {table.name} ({table.form}): "
        f"question from column {columns.question!r}, answer from {columns.answer!r}",
        f"answers: {answers_in_words(columns, targets, options)}",
    ]
    if columns.id is not None:
        said.append(f"ids from column {columns.id!r}")
    if columns.ignored:
        also = [name for name in columns.ignored if name.lower() in {*QUESTION, *ANSWER, *CHOICES}]
        note = f" (among them {', '.join(also)}: another column was taken first)" if also else ""
        said.append(f"ignored columns: {', '.join(columns.ignored)}{note}")
    return tuple(said)


def answers_in_words(columns: Columns, targets: Targets, options: list[tuple[str, ...]]) -> str:
    first = [answers[0] for answers in targets.answers]
    counts = Counter(first)
    listed = ", ".join(
        f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda p: (-p[1], p[0]))
    )
    if targets.kind == "labels":
        return f"{len(targets.labels)} labels ({listed})"
    if targets.kind == "text":
        several = sum(len(answers) > 1 for answers in targets.answers)
        return f"free text, {len(counts):,} different" + (
            f"; {several:,} rows accept several" if several else ""
        )
    sizes = sorted({len(texts) for texts in options})
    number = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    source = f"column {columns.choices!r}" if columns.choices else f"columns {', '.join(columns.wide)}"
    used = ", ".join(f"{letter} {counts[letter]:,}" for letter in ascii_uppercase if letter in counts)
    return f"one of {number} choices from {source} ({used})"
