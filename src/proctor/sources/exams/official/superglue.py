"""SuperGLUE's JSON lines: which task the keys of a row tell, and its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from proctor.errors import DataError
from proctor.sources.exams.official.archives import ArchiveListing, Member
from proctor.sources.exams.official.text import (
    Outcome,
    Parsed,
    has_gaps,
    indices,
    json_lines,
    located,
    split_named,
)
from proctor.sources.exams.rows.forms import to_rows
from proctor.sources.exams.rows.labels import Record, given_label, hidden
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.rows.passages import multirc_answers, multirc_rows, record_queries, record_rows
from proctor.sources.exams.tables.superglue import SUPERGLUE

TITLES: Mapping[str, str] = {task.key: task.title.partition(",")[0] for task in SUPERGLUE.tasks}
# Tasks whose one split is published without answers, or with them only here and there.
DIAGNOSTICS = frozenset({"axb", "axg"})
ENTAILMENT = frozenset({"premise", "hypothesis"})
ENTAILMENT_NAMES: Mapping[str, str] = {
    "rte": "rte",
    "axg": "axg",
    "winogender": "axg",
    "winogenderdiagnostic": "axg",
    "cb": "cb",
    "commitmentbank": "cb",
}
# What the authors of AX-b note beside some of its rows.
AXB_NOTES = frozenset({"logic", "knowledge", "lexical-semantics", "predicate-argument-structure"})


@dataclass(frozen=True, slots=True)
class KeyShape:
    """What the keys of a row say about its task."""

    task: str
    keys: frozenset[str]
    fits: Callable[[Mapping[str, Any]], bool] = lambda row: True


SHAPES: tuple[KeyShape, ...] = (
    KeyShape("multirc", frozenset({"passage"}), lambda row: "questions" in _inside(row, "passage")),
    KeyShape("record", frozenset({"passage", "qas"}), lambda row: "text" in _inside(row, "passage")),
    KeyShape(
        "boolq",
        frozenset({"question", "passage"}),
        lambda row: (
            isinstance(row["passage"], str)
            and row.keys() <= {"question", "passage", "title", "label", "answer", "idx"}
        ),
    ),
    KeyShape("copa", frozenset({"premise", "choice1", "choice2", "question"})),
    KeyShape("wic", frozenset({"word", "sentence1", "sentence2"})),
    KeyShape("wsc", frozenset({"text", "target"}), lambda row: "span1_text" in _inside(row, "target")),
    KeyShape("wsc", frozenset({"text", "span1_text", "span2_text"})),
    KeyShape("axb", frozenset({"sentence1", "sentence2"}), lambda row: bool(AXB_NOTES & row.keys())),
)


def _inside(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = row[key]
    return value if isinstance(value, dict) else {}


def superglue_task(first: Mapping[str, Any], around: set[str]) -> str | None:
    """The task that the first row's keys tell, or the names around the file where keys are the same."""
    for shape in SHAPES:
        if shape.keys <= first.keys() and shape.fits(first):
            return shape.task
    if {"sentence1", "sentence2"} <= first.keys() and "axb" in around:
        return "axb"
    if first.keys() >= ENTAILMENT:
        if "pair_id" in first:
            return "axg"
        return next((task for word, task in ENTAILMENT_NAMES.items() if word in around), "entailment")
    return None


def read_superglue(entry: Member, body: bytes, task: str, found: ArchiveListing) -> Outcome:
    """The rows of a file of SuperGLUE, or the reason to skip it. Raises: DataError."""
    split = "eval" if task in DIAGNOSTICS else split_named(entry.name)
    lines = json_lines(entry.name, body)
    if task == "entailment":
        guessed = entailment_task(lines)
        if guessed is None:
            return (
                "premises and hypotheses of RTE, CB or AX-g; put the file in a folder of that name, "
                "such as RTE/val.jsonl"
            )
        task = guessed
    title = TITLES[task]
    if split == "test" or (task not in DIAGNOSTICS and not any(answered(task, row) for _, row in lines)):
        return f"{title} without answers (the hidden test split)"
    if split is None:
        return f"{title}, but the name does not say which split: val.jsonl, dev.jsonl or train.jsonl"
    rows, partly = NESTED.get(task, partial(one_row_each, task))(entry.name, lines)
    if task not in DIAGNOSTICS and (silent := [n for n, row in enumerate(rows) if row.target is None]):
        first = silent[0]
        place = rows[first].id if task in NESTED else f"line {lines[first][0]}"
        raise DataError(f"{entry.name}, {place}: no answer is given, but other rows have one")
    return [Parsed(task, split, tuple(rows), (entry.name,), partly)]


def entailment_task(lines: Sequence[tuple[int, Mapping[str, Any]]]) -> str | None:
    """CB has three labels; RTE and AX-g have the same two, which tell nothing."""
    labels = {str(given_label(row)) for _, row in lines}
    return "cb" if labels & {"neutral", "contradiction"} else None


def answered(task: str, row: Mapping[str, Any]) -> bool:
    """Whether a line says what is right."""
    if task == "record":
        queries = row.get("qas")
        asked = queries if isinstance(queries, list) else []
        return any(isinstance(query, dict) and query.get("answers") for query in asked)
    if task == "multirc":
        return any(not hidden(record.get("label")) for _, record in multirc_answers("", row))
    return not hidden(given_label(row))


def one_row_each(
    task: str, name: str, lines: Sequence[tuple[int, Mapping[str, Any]]]
) -> tuple[list[Row], bool]:
    places = indices(name, lines)
    return to_rows(task, located(name, lines), places), has_gaps(places)


def nested(
    unfold: Callable[[str, Mapping[str, Any]], Iterator[Record]],
    make: Callable[[Sequence[Record]], list[Row]],
    name: str,
    lines: Sequence[tuple[int, Mapping[str, Any]]],
) -> tuple[list[Row], bool]:
    """The rows of lines that hold a passage with all that is asked about it."""
    return make([record for where, line in located(name, lines) for record in unfold(where, line)]), False


NESTED: Mapping[str, Callable[[str, Sequence[tuple[int, Mapping[str, Any]]]], tuple[list[Row], bool]]] = {
    "multirc": partial(nested, multirc_answers, multirc_rows),
    "record": partial(nested, record_queries, record_rows),
}
