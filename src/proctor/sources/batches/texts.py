"""The lines of a file of requests, one by one with their numbers: of JSON lines as they stand, of tables as JSON.

A file of JSON lines is never in memory. A table is, as its reader gives it; each of its rows is then told as a line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Protocol

import orjson

from proctor.errors import DataError, DataMissing
from proctor.references import BatchRef
from proctor.sources.batches.checked import LineFault
from proctor.sources.batches.dialects import ENVELOPES, PLAIN
from proctor.sources.exams.files.records import Record, read_records, refuse_others

MOST_LINE_BYTES = 64 * 2**20
CHUNK_BYTES = 2**20
BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
PACKED = (b"PAR1", b"PK\x03\x04")
FLAT = {".csv", ".tsv"}
# Names of columns that a table of requests has, by which its delimiter is told.
NAMES = frozenset({"custom_id", *ENVELOPES, *PLAIN, "text", "question"})

TextAt = tuple[int, int, bytes]  # the line's number from 1, where it begins, and its text


class LineTexts(Protocol):
    """The lines of a file. `read` gives all in order, blank ones too; `at` one, by where it begins."""

    @property
    def form(self) -> str: ...

    @property
    def flat(self) -> bool:
        """Whether its lines are rows of a table, which no dialect of requests fits."""

    @property
    def broken(self) -> tuple[LineFault, ...]:
        """Rows of which the reader could make nothing."""

    def read(self) -> Iterator[TextAt]: ...

    def some(self, places: Iterable[int]) -> Iterator[bytes]:
        """The texts that begin at these places, in this order."""


@dataclass(frozen=True, slots=True)
class JsonLines:
    """A file of JSON lines, read as it is asked for. A line longer than MOST_LINE_BYTES is cut."""

    path: Path
    form: str = "JSON lines"
    flat: bool = False
    broken: tuple[LineFault, ...] = ()

    def read(self) -> Iterator[TextAt]:
        with self.path.open("rb", buffering=CHUNK_BYTES) as file:
            number = at = 0
            while text := file.readline(MOST_LINE_BYTES):
                number += 1
                yield number, at, text
                at += len(text)
                while len(text) == MOST_LINE_BYTES and not text.endswith(b"\n"):
                    text = file.readline(MOST_LINE_BYTES)
                    at += len(text)

    def some(self, places: Iterable[int]) -> Iterator[bytes]:
        with self.path.open("rb") as file:
            for at in places:
                file.seek(at)
                yield file.readline(MOST_LINE_BYTES)


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of a table as lines of JSON, by the names of its columns."""

    form: str
    flat: bool
    broken: tuple[LineFault, ...]
    records: tuple[Record, ...] = field(repr=False)

    def read(self) -> Iterator[TextAt]:
        gone = {fault.line for fault in self.broken}
        for index, record in enumerate(self.records):
            number = number_of(record.where)
            if number not in gone:
                yield number, index, _line_of(record)

    def some(self, places: Iterable[int]) -> Iterator[bytes]:
        return (_line_of(self.records[at]) for at in places)


def _line_of(record: Record) -> bytes:
    try:
        return orjson.dumps(record.values, default=str, option=orjson.OPT_NON_STR_KEYS)
    except TypeError:
        raise DataError(f"{record.where}: nested more deeply than JSON is written") from None


def number_of(where: str) -> int:
    """
    >>> number_of("element 12")
    12
    """
    return int(re.findall(r"\d+", where)[-1])


def open_texts(path: Path, ref: BatchRef) -> LineTexts:
    """Raises: DataMissing where there is no such file, DataError for what is neither lines nor a table."""
    try:
        with path.open("rb") as file:
            head = file.read(65536)
    except OSError as error:
        raise DataMissing(
            f"{path}: {error.strerror}. Name a file of requests: JSON lines, or a table"
        ) from None
    if head.startswith(UTF16):
        raise DataError(f"{ref.listed}: text in UTF-16; save it as UTF-8")
    if not head.startswith(PACKED):
        refuse_others(head, ref.listed)
        blank = not head.removeprefix(BOM).strip()
        if blank or not (_is_spread(head) or _is_flat(path, ref, head)):
            return JsonLines(path)
    return _table(path, ref)


def _is_flat(path: Path, ref: BatchRef, head: bytes) -> bool:
    """Whether a file of text is a table: by its ending, or since neither of its first two lines begins an object."""
    if FLAT & {path.suffix.lower(), PurePath(ref.name).suffix.lower()}:
        return True
    first, *others = [line for line in head.removeprefix(BOM).splitlines() if line.strip()][:2]
    return not any(line.lstrip().startswith(b"{") for line in (first, *others)) and bool(others)


def _is_spread(head: bytes) -> bool:
    """Whether a file is one JSON text over several lines."""
    first = head.removeprefix(BOM).lstrip().split(b"\n", 1)[0].strip()
    return first == b"{" or first.startswith(b"[")


def _table(path: Path, ref: BatchRef) -> TableRows:
    table = read_records(path, [frozenset({name}) for name in sorted(NAMES)])
    broken = tuple(
        LineFault(number_of(where), "invalid_row", what, column)
        for where, column, what in table.faults.each_found()
    )
    known = ENVELOPES if not table.form.startswith("JSON") else (*ENVELOPES, *PLAIN)
    flat = not any(name in table.columns for name in known)
    return TableRows(table.form, flat, broken, table.records)


def digest_of(path: Path) -> tuple[str, int]:
    """The SHA-256 of a file's bytes, and how many they are."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size


def lines_in(path: Path) -> int:
    """How many lines a file has, or rows below a header, at the speed of the disk. Raises: DataMissing."""
    try:
        with path.open("rb") as file:
            count, last = 0, b""
            while chunk := file.read(CHUNK_BYTES):
                count, last = count + chunk.count(b"\n"), chunk[-1:]
    except OSError as error:
        raise DataMissing(f"{path}: {error.strerror}") from None
    return count + (last not in (b"", b"\n"))
