"""What the readers of official files share: their outcome, text, tables, JSON lines, and splits told by name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.sources.exams.official.archives import ArchiveListing, Member
from proctor.sources.exams.rows.labels import Record
from proctor.sources.exams.rows.normal_form import Row

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Parsed:
    """The rows that a file holds for one task and split.

    `partial`: the file says by its indices, or by its name, that it holds a part of the split; it is
    joined with the rows that are here. `notes` are sentences about rows that were left out.
    """

    task: str
    split: str
    rows: tuple[Row, ...]
    source: tuple[str, ...]
    partial: bool = False
    notes: tuple[str, ...] = ()


Outcome = list[Parsed] | str  # rows, or why there are none
NO_FORMAT = "not a CSV, TSV, JSON or JSONL file"

SPLITS: Mapping[str, str] = {
    "val": "eval",
    "validation": "eval",
    "dev": "eval",
    "matched": "eval",
    "mismatched": "eval",
    "train": "dev",
    "test": "test",
}


def split_named(name: str) -> str | None:
    """Which of our splits a file's name tells of; "test" is nobody's but has to be recognised.

    >>> split_named("CB/val.jsonl"), split_named("train_15pct.tsv"), split_named("some.jsonl")
    ('eval', 'dev', None)
    """
    words = re.split(r"[^a-z]+", PurePosixPath(name).name.lower())
    return next((SPLITS[word] for word in words if word in SPLITS), None)


def folder_words(entry: Member, found: ArchiveListing) -> set[str]:
    """The names around a file in lower-case letters and digits only: "STS-B/dev.tsv" gives stsb and dev."""
    parts = list(PurePosixPath(entry.name).parts)
    if found.folder is not None:
        parts.append(found.folder.name)
    return {re.sub(r"[^a-z0-9]+", "", part.lower().split(".")[0]) for part in parts}


def decoded(body: bytes, name: str) -> str:
    """The text of a file, without a byte order mark. Raises: DataError naming the line."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}, line {line}: not UTF-8; save the file as UTF-8") from None


def tab_lines(body: bytes, name: str) -> list[tuple[int, list[str]]]:
    """The cells of each line with its number. Quotes mean nothing, and only a line feed ends a line."""
    lines = decoded(body, name).split("\n")
    return [(n, line.rstrip("\r").split("\t")) for n, line in enumerate(lines, 1) if line.strip("\r")]


def json_lines(name: str, body: bytes) -> list[tuple[int, dict[str, Any]]]:
    """The objects of JSON lines, or of one JSON array, with their numbers. Raises: DataError."""
    plain = body.removeprefix(BOM)
    if plain.lstrip()[:1] == b"[":
        listed = _array(name, plain)
        if listed is not None:
            return listed
    raw = []
    for number, line in enumerate(plain.split(b"\n"), 1):
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


def _array(name: str, plain: bytes) -> list[tuple[int, dict[str, Any]]] | None:
    """The objects of a file that is one JSON array; None when it is no array."""
    try:
        parsed = orjson.loads(plain)
    except orjson.JSONDecodeError:
        return None
    for number, row in enumerate(parsed, 1):
        if not isinstance(row, dict):
            raise DataError(f"{name}, element {number}: not a JSON object")
    return list(enumerate(parsed, 1))


def first_object(body: bytes) -> dict[str, Any] | None:
    """The first row of JSON lines or of a JSON array, or a whole file that is one JSON object."""
    plain = body.removeprefix(BOM).lstrip()
    for text in (plain.split(b"\n", 1)[0], plain):
        try:
            parsed = orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
        if isinstance(parsed, list) and parsed:
            parsed = parsed[0]
        if isinstance(parsed, dict):
            return parsed
    return None


def located(name: str, lines: Sequence[tuple[int, Mapping[str, Any]]]) -> list[Record]:
    return [(f"{name}, line {number}", row) for number, row in lines]


def indices(name: str, lines: Sequence[tuple[int, Mapping[str, Any]]], key: str = "idx") -> list[int]:
    """Each row's place in the official split: its `key` where the file has one, else its place here.

    Raises: DataError naming a row whose index is missing, no number, or another row's.
    """
    if not any(key in row for _, row in lines):
        return list(range(len(lines)))
    seen: dict[int, int] = {}
    for number, row in lines:
        index = row.get(key)
        if isinstance(index, str) and key != "idx" and index.isascii() and index.isdecimal():
            index = int(index)
        if not isinstance(index, int) or isinstance(index, bool) or index < 0:
            raise DataError(f"{name}, line {number}: {key} is {index!r}; it has to be a number from 0")
        if index in seen:
            raise DataError(f"{name}, line {number}: {key} {index} stands in line {seen[index]} too")
        seen[index] = number
    return list(seen)


def has_gaps(places: Sequence[int]) -> bool:
    """True when the indices are not those of a whole split from 0 on."""
    return bool(places) and max(places) + 1 != len(places)
