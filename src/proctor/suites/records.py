"""A user's file as records: JSON lines, a JSON array or CSV, each with its place for error texts."""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import DataError

ACCEPTED = "JSON lines (an object per line), a JSON array of objects, or CSV with a header line"
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
CELL_LIMIT_CHARS = 16 * 2**20  # the csv module's own limit is 131,072, which a long passage passes
ZIP = b"PK\x03\x04"  # how workbooks of Excel and LibreOffice begin, too
BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


@dataclass(frozen=True, slots=True)
class Record:
    """One record and where it stands: "line 12" or "element 3"."""

    where: str
    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a file; `form` says in words what the file is, `columns` are in order of first use."""

    name: str
    form: str
    columns: tuple[str, ...]
    records: tuple[Record, ...]
    sha256: str


def read_records(path: Path, names: Sequence[frozenset[str]]) -> Records:
    """The records of a file. `names` are groups of column names; they settle which delimiter a CSV has.

    Raises: DataError naming file and line.
    """
    try:
        body = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Name a file with questions: {ACCEPTED}.") from None
    if body.startswith(ZIP):
        raise DataError(f"{path.name}: a workbook or an archive, not text. Save it as CSV (UTF-8) first.")
    text = decoded(body, path.name)
    start = text.lstrip()[:1]
    if not start:
        raise DataError(f"{path.name}: the file is empty. Accepted: {ACCEPTED}.")
    if path.suffix.lower() not in {".csv", ".tsv"} and start in "[{":
        form, records = (
            ("JSON array", json_array(text, path.name))
            if start == "["
            else ("JSON lines", json_lines(text, path.name))
        )
    else:
        delimiter = sniff(text, names)
        form, records = csv_form(delimiter), csv_records(text, delimiter, path.name)
    if not records:
        raise DataError(f"{path.name}: the file holds no rows. Accepted: {ACCEPTED}.")
    columns = dict.fromkeys(name for record in records for name in record.values if name)
    sha256 = hashlib.sha256(body).hexdigest()
    return Records(path.name, form, tuple(columns), tuple(records), sha256)


def decoded(body: bytes, name: str) -> str:
    """The text of a file; a byte order mark tells the encoding. Raises: DataError naming the line."""
    encoding = next((encoding for bom, encoding in BOMS.items() if body.startswith(bom)), "utf-8")
    try:
        return body.decode(encoding)
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}, line {line}: not UTF-8 text; save the file as UTF-8") from None


def json_lines(text: str, name: str) -> list[Record]:
    records = []
    # Not splitlines(): a JSON string may hold characters that it takes for line ends.
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            raise DataError(
                f"{name}, line {number}, column {error.colno}: not JSON ({error.msg}). Accepted: {ACCEPTED}."
            ) from None
        records.append(Record(f"line {number}", an_object(values, f"{name}, line {number}")))
    return records


def json_array(text: str, name: str) -> list[Record]:
    try:
        elements = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise DataError(
            f"{name}, line {error.lineno}, column {error.colno}: not JSON ({error.msg}). "
            f"Accepted: {ACCEPTED}."
        ) from None
    return [
        Record(f"element {number}", an_object(values, f"{name}, element {number}"))
        for number, values in enumerate(elements, 1)
    ]


def an_object(values: Any, where: str) -> dict[str, Any]:
    """The values by column name, white space around names taken off."""
    if not isinstance(values, dict):
        raise DataError(f"{where}: not a JSON object but {type(values).__name__}. Accepted: {ACCEPTED}.")
    return {name.strip(): value for name, value in values.items()}


def csv_form(delimiter: str) -> str:
    return "CSV" if delimiter == "," else f"CSV with {DELIMITERS[delimiter]}"


def sniff(text: str, names: Sequence[frozenset[str]]) -> str:
    """The delimiter under which the header line shows the most known names, then the most columns."""

    def worth(delimiter: str) -> tuple[int, int]:
        lines = csv.reader(io.StringIO(text[:65536], newline=""), delimiter=delimiter)
        try:
            header = [cell.strip().lower() for cell in next(lines, [])]
        except csv.Error:
            return 0, 0
        return sum(bool(group & set(header)) for group in names), len(header)

    return max(DELIMITERS, key=worth)


def csv_records(text: str, delimiter: str, name: str) -> list[Record]:
    """The rows below the header; quoted cells may hold line ends, and blank lines do not count."""
    csv.field_size_limit(CELL_LIMIT_CHARS)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    records: list[Record] = []
    header: list[str] = []
    end = 0
    try:
        for cells in lines:
            where, end = f"line {end + 1}", lines.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = csv_header(cells, f"{name}, {where}")
                continue
            if len(cells) > len(header):
                raise DataError(
                    f"{name}, {where}: {len(cells)} cells under {len(header)} columns; "
                    f'a cell that holds a delimiter ({DELIMITERS[delimiter]}) needs "quotes"'
                )
            records.append(Record(where, dict(zip(header, cells, strict=False))))
    except csv.Error as error:
        raise DataError(
            f"{name}, line {lines.line_num}: {error}; a quote inside a cell is written twice"
        ) from None
    return records


def csv_header(cells: Sequence[str], where: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    if twice := [name for name in names if name and names.count(name) > 1]:
        raise DataError(f"{where}: two columns are named {twice[0]!r}; rename one")
    return names
