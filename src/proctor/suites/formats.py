"""The official files of the suites: how each is recognised, and how its rows become ours.

A file that belongs to no known set gives a reason to skip it; a bad row in a known file is an error.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.suites.archives import ARCHIVE_ENDINGS, Entry, Listing
from proctor.suites.rows import Row
from proctor.suites.tasks import BOOLQ, MMLU, PUBMEDQA


@dataclass(frozen=True, slots=True)
class Parsed:
    """The rows that a file holds for one task and split."""

    task: str
    split: str
    rows: tuple[Row, ...]
    source: tuple[str, ...]


Outcome = list[Parsed] | str  # rows, or why there are none


def read_entry(entry: Entry, found: Listing) -> Outcome:
    """The rows of a file, or the reason to skip it. Raises: DataError naming file and row."""
    name = entry.name.lower()
    if name.endswith(ARCHIVE_ENDINGS):
        return "an archive inside an archive: unpack it first"
    read = READERS.get(PurePosixPath(name).suffix)
    return read(entry, found) if read else "not a CSV, JSON or JSONL file"


def decoded(body: bytes, name: str) -> str:
    """The text of a file, without a byte order mark. Raises: DataError naming the line."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}, line {line}: not UTF-8; save the file as UTF-8") from None


# MMLU: <subject>_<split>.csv --------------------------------------------------------------------

MMLU_NAME = re.compile(r"(.+)_(test|dev|val)\.csv", re.IGNORECASE)
MMLU_SPLITS = {"test": "eval", "dev": "dev", "val": "val"}


def read_csv(entry: Entry, found: Listing) -> Outcome:
    """A subject of MMLU: no header, a question, four choices and a letter in each row."""
    match = MMLU_NAME.fullmatch(PurePosixPath(entry.name).name)
    subject = match[1].lower() if match else ""
    if match is None or subject not in MMLU:
        return "not named after a subject of MMLU, as in anatomy_test.csv"
    lines = csv.reader(io.StringIO(decoded(entry.read(), entry.name), newline=""), strict=True)
    rows: list[Row] = []
    try:
        for cells in lines:
            if cells:
                rows.append(mmlu_row(subject, len(rows), cells, f"{entry.name}, line {lines.line_num}"))
    except csv.Error as error:
        raise DataError(f"{entry.name}, line {lines.line_num}: {error}") from None
    if not rows:
        raise DataError(f"{entry.name}: the file is empty")
    return [Parsed(subject, MMLU_SPLITS[match[2].lower()], tuple(rows), (entry.name,))]


def mmlu_row(subject: str, index: int, cells: Sequence[str], where: str) -> Row:
    if len(cells) != 6:
        raise DataError(f"{where}: {len(cells)} columns; a question, four choices and a letter make 6")
    question, *choices, letter = cells
    target = letter.strip().upper()
    if target not in {"A", "B", "C", "D"}:
        raise DataError(f"{where}: the answer is {letter!r}; it has to be A, B, C or D")
    return Row(
        f"{subject}/{index}", subject, target, {"subject": subject, "question": question, "choices": choices}
    )


# JSON and JSON lines ----------------------------------------------------------------------------

# Sets that people keep beside the known ones, told by keys of their first row.
OTHER_SETS: Mapping[str, frozenset[str]] = {
    "COPA": frozenset({"premise", "choice1", "choice2"}),
    "WSC": frozenset({"text", "target"}),
    "WiC": frozenset({"word", "sentence1", "sentence2"}),
    "MedMCQA": frozenset({"opa", "cop"}),
    "MedQA": frozenset({"options", "answer_idx"}),
    "an entailment set": frozenset({"premise", "hypothesis"}),
}
TRUTH = "test_ground_truth.json"
LABELLED = "ori_pqal.json"


def read_json(entry: Entry, found: Listing) -> Outcome:
    """BoolQ as JSON lines, PubMedQA as one JSON object; both endings are in use for both."""
    base = PurePosixPath(entry.name).name.lower()
    if base == TRUTH:
        with_rows = found.beside(entry, LABELLED)
        return [] if with_rows else f"the official test ids of PubMedQA; {LABELLED} is not beside it"
    body = entry.read()
    first = first_object(body)
    if base == LABELLED:
        return read_pubmedqa(entry, body, found)
    if "boolq" in entry.name.lower() or (first and looks_like_boolq(first)):
        return read_boolq(entry, body, first)
    if first is None:
        return "not rows of a known set"
    if any(isinstance(value, dict) and "CONTEXTS" in value for value in first.values()):
        return f"PubMedQA rows, but not the official {LABELLED}"
    for name, keys in OTHER_SETS.items():
        if keys <= first.keys():
            return f"looks like {name}, which is not among the tasks of this version"
    return f"rows of no known set (keys {', '.join(sorted(first)[:6])})"


def first_object(body: bytes) -> dict[str, Any] | None:
    """The first row of JSON lines, or a whole file that is one JSON object."""
    plain = body.removeprefix(b"\xef\xbb\xbf").lstrip()
    for text in (plain.split(b"\n", 1)[0], plain):
        try:
            parsed = orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
        if isinstance(parsed, dict):
            return parsed
    return None


# BoolQ ------------------------------------------------------------------------------------------

BOOLQ_KEYS = frozenset({"question", "passage", "title", "label", "answer", "idx"})
BOOLQ_SPLITS = {"val": "eval", "validation": "eval", "dev": "eval", "train": "dev"}
BOOLQ_LABELS = {"true": "yes", "1": "yes", "false": "no", "0": "no"}


def looks_like_boolq(row: Mapping[str, Any]) -> bool:
    return {"question", "passage"} <= row.keys() <= BOOLQ_KEYS and isinstance(row["passage"], str)


def read_boolq(entry: Entry, body: bytes, first: Mapping[str, Any] | None) -> Outcome:
    words = re.split(r"[^a-z]+", PurePosixPath(entry.name).stem.lower())
    split = next((BOOLQ_SPLITS[word] for word in words if word in BOOLQ_SPLITS), None)
    if first is not None and "question" in first and not {"label", "answer"} & first.keys():
        return "BoolQ without answers (the hidden test split)"
    if split is None:
        return "BoolQ, but the name does not say which split: val.jsonl, dev.jsonl or train.jsonl"
    raw = boolq_lines(entry.name, body)
    ids = boolq_ids(entry.name, raw)
    rows = tuple(
        boolq_row(row, index, f"{entry.name}, line {line}")
        for (line, row), index in zip(raw, ids, strict=True)
    )
    return [Parsed(BOOLQ.key, split, rows, (entry.name,))]


def boolq_lines(name: str, body: bytes) -> list[tuple[int, dict[str, Any]]]:
    """The rows with their line numbers."""
    raw = []
    for number, line in enumerate(body.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise DataError(f"{name}, line {number}, column {error.colno}: not JSON ({error.msg})") from None
        if not isinstance(row, dict):
            raise DataError(f"{name}, line {number}: not a JSON object")
        raw.append((number, row))
    if not raw:
        raise DataError(f"{name}: the file is empty")
    return raw


def boolq_ids(name: str, raw: Sequence[tuple[int, Mapping[str, Any]]]) -> list[int]:
    """Each row's place in the official split: its `idx` where the file has them, else its place here."""
    if not any("idx" in row for _, row in raw):
        return list(range(len(raw)))
    lines: dict[int, int] = {}
    for number, row in raw:
        index = row.get("idx")
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise DataError(f"{name}, line {number}: idx is {index!r}; it has to be a number from 0")
        if index in lines:
            raise DataError(f"{name}, line {number}: idx {index} stands in line {lines[index]} too")
        lines[index] = number
    return list(lines)


def boolq_row(row: Mapping[str, Any], index: int, where: str) -> Row:
    for name in ("question", "passage"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise DataError(f"{where}: no text in {name!r}")
    given = row.get("label", row.get("answer"))
    target = BOOLQ_LABELS.get(str(given).strip().lower())
    if target is None:
        raise DataError(f"{where}: the label is {given!r}; it has to be true or false")
    fields = {"question": row["question"], "passage": row["passage"]}
    return Row(f"{BOOLQ.key}/{index}", BOOLQ.key, target, fields)


# PubMedQA ---------------------------------------------------------------------------------------

DECISIONS = frozenset({"yes", "no", "maybe"})


def read_pubmedqa(entry: Entry, body: bytes, found: Listing) -> Outcome:
    """The labelled articles: those of the official test ids are the evaluation, the others dev."""
    beside = found.beside(entry, TRUTH)
    if beside is None:
        return f"{TRUTH} is missing beside it; it says which 500 articles are the official test"
    articles = json_object(entry.name, body)
    truth = json_object(beside.name, beside.read())
    if strangers := sorted(truth.keys() - articles.keys()):
        raise DataError(f"{beside.name}: article {strangers[0]} is not in {entry.name}")
    rows = {pmid: pubmedqa_row(pmid, article, entry.name) for pmid, article in articles.items()}
    for pmid, decision in truth.items():
        if rows[pmid].target != decision:
            raise DataError(
                f"{beside.name}: article {pmid} is {decision!r}, in {entry.name} {rows[pmid].target!r}"
            )
    return [
        Parsed(
            PUBMEDQA.key, split, tuple(row for pmid, row in rows.items() if (pmid in truth) is chosen), source
        )
        for split, chosen, source in (
            ("eval", True, (entry.name, beside.name)),
            ("dev", False, (entry.name, beside.name)),
        )
    ]


def json_object(name: str, body: bytes) -> dict[str, Any]:
    try:
        parsed = orjson.loads(body.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        raise DataError(f"{name}, line {error.lineno}: not JSON ({error.msg})") from None
    if not isinstance(parsed, dict) or not parsed:
        raise DataError(f"{name}: not a JSON object by article number")
    return parsed


def pubmedqa_row(pmid: str, article: Any, name: str) -> Row:
    where = f"{name}: article {pmid}"
    if not isinstance(article, dict):
        raise DataError(f"{where}: not a JSON object")
    question, contexts = article.get("QUESTION"), article.get("CONTEXTS")
    if not isinstance(question, str) or not isinstance(contexts, list) or not contexts:
        raise DataError(f"{where}: QUESTION or CONTEXTS is missing")
    if not all(isinstance(text, str) for text in contexts):
        raise DataError(f"{where}: CONTEXTS holds something that is not text")
    decision = article.get("final_decision")
    if decision not in DECISIONS:
        raise DataError(f"{where}: final_decision is {decision!r}; it has to be yes, no or maybe")
    return Row(f"{PUBMEDQA.key}/{pmid}", PUBMEDQA.key, decision, {"question": question, "contexts": contexts})


READERS: Mapping[str, Callable[[Entry, Listing], Outcome]] = {
    ".csv": read_csv,
    ".json": read_json,
    ".jsonl": read_json,
}
