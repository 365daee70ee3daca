"""A user's own question file as a source, and in words what was understood of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from string import ascii_uppercase

from proctor.errors import ConfigError
from proctor.figures import left_out_mark
from proctor.grading.reading.ladder import EXTRACTOR
from proctor.grading.reading.languages import ENGLISH, Language
from proctor.manifest import ExamFacts, TaskSpec
from proctor.references import ExamRef
from proctor.sources.exams.asking import SEED
from proctor.sources.exams.files.columns import (
    ANSWER,
    CHOICES,
    KNOWN_NAMES,
    QUESTION,
    Columns,
    asked_by,
    find_columns,
    kind_by_grader,
    parse_chosen,
    question_fields,
)
from proctor.sources.exams.files.records import Records, read_records
from proctor.sources.exams.files.rows import FileReading, FileRows, file_rows, with_odd
from proctor.sources.exams.files.user_suites import open_user_suite
from proctor.sources.exams.prompts.exams import EXAM_PROMPTS
from proctor.sources.exams.prompts.own_cue import in_own_words, language_of
from proctor.sources.exams.sampling import spread
from proctor.sources.exams.source import SuiteSource, item_ids, make_source
from proctor.sources.exams.tables.shapes import Task


def open_file(ref: ExamRef) -> SuiteSource:
    """The items of a file of questions, or of a user's suite if it is TOML. Raises DataError with every fault."""
    path = Path(ref.name)
    if path.suffix.lower() == ".toml":
        return open_user_suite(path, ref)
    if ref.tasks:
        raise ConfigError(f"A file has no tasks to select; leave out {', '.join(ref.tasks)}")
    return open_table(ref, read_records(path, KNOWN_NAMES, sheet=ref.sheet))


def open_table(ref: ExamRef, table: Records) -> SuiteSource:
    """The items of records that were read. Raises DataError with every fault."""
    path = Path(table.name)
    columns = find_columns(table, chosen=parse_chosen(ref.columns))
    read = file_rows(
        table,
        columns,
        FileReading(
            stem=path.stem,
            task=path.stem,
            fields=lambda record: question_fields(record, columns),
            shown=asked_by(columns),
            kind=ref.answer_type or kind_by_grader(columns, ref.grader),
            numbers=ref.numbers,
            lenient=ref.lenient,
            cluster=columns.cluster,
        ),
    )
    kind = read.targets.kind
    title = path.name + left_out_mark(read.left_out)
    prompt = "verbatim" if columns.questions_are_messages else kind
    task = Task(path.stem, title, kind, prompt, labels=read.targets.labels)
    language = _own_language(ref, read, prompt)
    plain = make_source(
        ref,
        (task,),
        spread(read.rows, {task.key: task}, seed=SEED),
        title=title,
        facts=with_odd(
            ExamFacts(
                suite=path.stem,
                rows="file",
                tasks={task.key: TaskSpec(title, data_sha256=table.sha256)},
                answer_type=kind,
                aggregate="micro",
            ),
            [read],
        ),
        own={task.key: in_own_words(EXAM_PROMPTS[prompt], language)} if language else None,
    )
    said = [*sentences(table, columns, read)]
    if language is not None:
        said.append(f"questions in {language.name}: the last line is asked for as '{language.cue}: ...'")
    ids = item_ids(plain, [(task.key, ident) for ident in read.ids])
    return replace(plain, row_ids=ids, understood=(*said, *plain.understood))


def _own_language(ref: ExamRef, read: FileRows, prompt: str) -> Language | None:
    """The language in whose words the last line is asked for; None: in English.

    The other extractors know the English cue only, and a style has words of its own.
    """
    if prompt == "verbatim" or ref.style or ref.extractor not in (None, EXTRACTOR):
        return None
    language = language_of(str(row.fields.get("question", "")) for row in read.rows)
    return None if language is ENGLISH else language


def sentences(table: Records, columns: Columns, read: FileRows) -> tuple[str, ...]:
    """What was understood, for a person to check before anything is spent."""
    said = [
        f"{len(table.records):,} rows from {table.name} ({table.form}): "
        f"question from column {columns.question!r}, answer from {columns.answer!r}",
        f"answers: {answers_in_words(columns, read)}",
        *read.said,
    ]
    if columns.id is not None:
        said.append(f"ids from column {columns.id!r}")
    if columns.cluster is not None:
        said.append(f"rows hang together by column {columns.cluster!r}")
    if columns.ignored:
        also = [name for name in columns.ignored if name.lower() in {*QUESTION, *ANSWER, *CHOICES}]
        note = f" (among them {', '.join(also)}: another column was taken first)" if also else ""
        said.append(f"ignored columns: {', '.join(columns.ignored)}{note}")
    return tuple(said)


def answers_in_words(columns: Columns, read: FileRows) -> str:
    targets = read.targets
    counts = Counter(row.target for row in read.rows if row.target is not None)
    listed = ", ".join(
        f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda p: (-p[1], p[0]))
    )
    if targets.kind == "labels":
        return f"{len(targets.labels)} labels ({listed})"
    if targets.kind == "text":
        several = sum(bool(row.aliases) for row in read.rows)
        return f"free text, {len(counts):,} different" + (
            f"; {several:,} rows accept several" if several else ""
        )
    sizes = sorted({len(row.fields["choices"]) for row in read.rows})
    number = str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    source = f"column {columns.choices!r}" if columns.choices else f"columns {', '.join(columns.wide)}"
    used = ", ".join(f"{letter} {counts[letter]:,}" for letter in ascii_uppercase if letter in counts)
    return f"one of {number} choices from {source} ({used})"
