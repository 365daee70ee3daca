"""A user's file as records: JSON lines, JSON, CSV, Parquet or a workbook, each with its place for error texts."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.sources.exams.files import parquet
from proctor.sources.exams.files.faults import Faults

ZIPPED = b"PK"  # a workbook is a zip archive

ACCEPTED = "JSON lines (an object per line), a JSON array of objects, CSV with a header line, Parquet or XLSX"
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
CELL_LIMIT_CHARS = 16 * 2**20  # the csv module's own limit is 131,072, which a long passage passes
LINE_LIMIT_BYTES = 64 * 2**20
FILE_LIMIT_BYTES = 2**30
BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# How files begin that people give by mistake, and what to do with them.
OTHERS = {
    b"PK\x03\x04": "an archive, and no workbook that can be read. Unpack it, or save it as CSV (UTF-8), first.",
    b"\xd0\xcf\x11\xe0": "an old workbook, not text. Save it as XLSX or CSV (UTF-8) first.",
    b"%PDF": "a PDF, not text. Give the questions as CSV or JSON lines.",
    b"\x1f\x8b": "packed with gzip. Unpack it first.",
    b"SQLite format 3": "a database, not text. Write the questions as CSV or JSON lines first.",
}
HTML = (b"<!doctype", b"<html", b"<?xml")


@dataclass(frozen=True, slots=True)
class Record:
    """One record, its number in the file from 0, and where it stands: "line 12" or "element 3".

    `unread` are columns whose cell has no value that could be asked, with the reason.
    """

    index: int
    where: str
    values: dict[str, Any]
    unread: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """All records of a file; `form` says in words what the file is, `columns` are in order of first use.

    Records that cannot be used are among them, empty; `faults` knows them, and takes what else is found.
    """

    name: str
    form: str
    columns: tuple[str, ...]
    records: tuple[Record, ...]
    sha256: str
    faults: Faults
    sheets: tuple[str, ...] = ()  # of a workbook, those that are shown; the one that was read comes first


Table = tuple[str, tuple[str, ...], list[Record]]  # the form in words, the columns, the records


def read_records(path: Path, names: Sequence[frozenset[str]], *, sheet: str | None = None) -> Records:
    """The records of a file. `names` are groups of column names; they settle which delimiter a CSV has.

    `sheet` is the one to read of a workbook; None: the first that is shown and has cells. Raises: DataError for what
    is wrong with the file as a whole; `faults` has what is wrong with single rows.
    """
    body = read_body(path)
    sha256 = hashlib.sha256(body).hexdigest()
    faults = Faults(path.name)
    sheets: tuple[str, ...] = ()
    if body.startswith(ZIPPED) and _is_workbook(body):
        (form, columns, records), sheets = sheet_records(body, faults, sheet)
    elif sheet is not None:
        raise DataError(f"{path.name}: a sheet is named, and the file is no workbook. Leave out the sheet.")
    elif body.startswith(parquet.MAGIC):
        records = elements(parquet.read_parquet(body, path.name), faults, "row")
        form, columns = "Parquet", columns_of(records)
    else:
        form, columns, records = text_records(body, path, names, faults)
    if not records:
        raise DataError(f"{path.name}: the file holds no rows. Accepted: {ACCEPTED}.")
    if len(faults.rows) == len(records):
        faults.settle(len(records), lenient=False)
    return Records(path.name, form, columns, tuple(records), sha256, faults, sheets)


def _is_workbook(body: bytes) -> bool:
    from proctor.sources.exams.files.workbook import (
        is_workbook,  # what reads XML takes its time, and few files are one
    )

    return is_workbook(body)


def text_records(body: bytes, path: Path, names: Sequence[frozenset[str]], faults: Faults) -> Table:
    """The records of a file of text. Raises: DataError."""
    refuse_others(body, path.name)
    body = as_utf8(body, path.name)
    start = body.lstrip()[:1]
    if not start:
        raise DataError(f"{path.name}: the file is empty. Accepted: {ACCEPTED}.")
    if path.suffix.lower() not in {".csv", ".tsv"} and start in (b"[", b"{"):
        form, records = json_records(body, start, faults, names)
        return form, columns_of(records), records
    return csv_text(decoded(body, path.name), names, faults)


def sheet_records(body: bytes, faults: Faults, wanted: str | None) -> tuple[Table, tuple[str, ...]]:
    """The records of a sheet, whose first row names the columns, and the sheets there are. Raises: DataError."""
    from proctor.sources.exams.files.workbook import read_sheet  # see _is_workbook

    sheet = read_sheet(body, faults.name, wanted)
    if not sheet.rows:
        raise DataError(f"{faults.name}: the sheet {sheet.name!r} has no cells. Accepted: {ACCEPTED}.")
    number, cells = sheet.rows[0]
    header = csv_header(cells, f"{faults.name}, row {number}")
    records = []
    for index, (number, cells) in enumerate(sheet.rows[1:]):
        where = f"row {number}"
        if any(cell.strip() for cell in cells[len(header) :]):
            why = f"{len(cells)} cells under {len(header)} columns; name every column in the first row"
            faults.broken(index, where, why)
        odd = sheet.bad.get(number, {})
        unread = {name: odd[place] for place, name in enumerate(header) if place in odd}
        records.append(Record(index, where, dict(zip(header, cells, strict=False)), unread or None))
    others = tuple(name for name in sheet.sheets if name != sheet.name)
    form = f"the sheet {sheet.name!r} of a workbook"
    return (form, tuple(name for name in header if name), records), (sheet.name, *others)


def read_body(path: Path) -> bytes:
    """The bytes of a file of questions. Raises: DataError for one that is too large, or that cannot be read."""
    try:
        if (size := path.stat().st_size) > FILE_LIMIT_BYTES:
            raise DataError(
                f"{path.name}: {size / 2**30:.1f} GiB, and a file of questions may have "
                f"{FILE_LIMIT_BYTES / 2**30:.0f}. Split it."
            )
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}. Name a file with questions: {ACCEPTED}.") from None


def refuse_others(body: bytes, name: str) -> None:
    """Raises: DataError for what cannot be text, by its beginning, and for pages."""
    for beginning, what in OTHERS.items():
        if body.startswith(beginning):
            raise DataError(f"{name}: {what}")
    if body[:512].lstrip().lower().startswith(HTML):
        raise DataError(
            f"{name}: a page of HTML or XML, not questions. Where a site shows a file in a page, "
            f"download the file itself. Accepted: {ACCEPTED}."
        )


def as_utf8(body: bytes, name: str) -> bytes:
    """The body without a byte order mark, which tells the encoding. Raises: DataError."""
    encoding = next((encoding for bom, encoding in BOMS.items() if body.startswith(bom)), None)
    if encoding is None:
        if b"\0" in body[:4096]:
            raise DataError(f"{name}: not text, or text in UTF-16 without its mark. Save it as UTF-8.")
        return body
    if encoding == "utf-8-sig":
        return body[3:]
    try:
        return body.decode(encoding).encode()
    except UnicodeError:
        raise DataError(
            f"{name}: not whole as UTF-16, which its first bytes call it; save it as UTF-8"
        ) from None


def decoded(body: bytes, name: str) -> str:
    """The text of a file. Raises: DataError naming the line."""
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        line = body.count(b"\n", 0, error.start) + 1
        raise DataError(f"{name}, line {line}: {not_utf8(body[error.start : error.start + 1])}") from None


def not_utf8(at: bytes) -> str:
    return (
        f"not UTF-8 text (byte 0x{at.hex()}); save the file as UTF-8: in Excel as 'CSV UTF-8', in a terminal with "
        "`iconv -f WINDOWS-1252 -t UTF-8 OLD > NEW` if it was written on Windows in a western language"
    )


def columns_of(records: Iterable[Record]) -> tuple[str, ...]:
    seen: dict[str, None] = {}
    known = seen.keys()
    for record in records:
        if not record.values.keys() <= known:
            seen.update(dict.fromkeys(name for name in record.values if name))
    return tuple(seen)


# JSON ---------------------------------------------------------------------------------------------


def json_records(
    body: bytes, start: bytes, faults: Faults, names: Sequence[frozenset[str]]
) -> tuple[str, list[Record]]:
    """The records of JSON lines, of an array, or of one object that holds them.

    Raises: DataError where a file that is one JSON text is not whole.
    """
    if start == b"[":
        return "JSON array", elements(whole_json(body, faults.name), faults, "element")
    first = next((line for line in io.BytesIO(body) if line.strip()), b"")
    try:
        values = orjson.loads(first)
    except orjson.JSONDecodeError:
        values = None  # a text over several lines, or a bad first line
    # One line with none of the names that rows have may hold the rows further in.
    one = values is None or not frozenset().union(*names) & lowered(values)
    if one and (nested := in_one_object(body, faults)) is not None:
        return nested
    return "JSON lines", json_lines(body, faults)


def lowered(values: Any) -> set[str]:
    return {name.strip().lower() for name in values} if isinstance(values, dict) else set()


def in_one_object(body: bytes, faults: Faults) -> tuple[str, list[Record]] | None:
    """The rows of `{"data": [{...}, ...]}` or `{"ID": {...}, ...}`; None where the text is neither."""
    try:
        whole = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    lists = [(k, v) for k, v in whole.items() if isinstance(v, list) and v and isinstance(v[0], dict)]
    if len(lists) == 1:
        name, rows = lists[0]
        return f"JSON, the list {name!r}", elements(rows, faults, f"{name}, element")
    if whole and all(isinstance(values, dict) for values in whole.values()):
        rows = [{"id": name, **values} for name, values in whole.items()]
        return "JSON, an object by id", elements(rows, faults, "element")
    return None


def whole_json(body: bytes, name: str) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise DataError(
            f"{name}, line {error.lineno}, column {error.colno}: not JSON ({error.msg}). Accepted: {ACCEPTED}."
        ) from None


def json_lines(body: bytes, faults: Faults) -> list[Record]:
    records: list[Record] = []
    # Not splitlines(): a JSON string may hold characters that it takes for line ends.
    for number, line in enumerate(io.BytesIO(body), 1):
        if line.isspace():
            continue
        where = f"line {number}"
        try:
            values = orjson.loads(line) if len(line) <= LINE_LIMIT_BYTES else None
        except orjson.JSONDecodeError:
            faults.broken(len(records), where, bad_line(line.rstrip()))
            records.append(Record(len(records), where, {}))
            continue
        records.append(an_object(values, len(records), where, faults, len(line)))
    return records


def bad_line(line: bytes) -> str:
    """Why a line is no JSON."""
    try:
        orjson.loads(line.decode())
    except UnicodeDecodeError as bad:
        return not_utf8(line[bad.start : bad.start + 1])
    except orjson.JSONDecodeError as error:
        return f"not JSON ({error.msg}, character {error.colno})"
    return "not JSON"


def elements(rows: Sequence[Any], faults: Faults, word: str) -> list[Record]:
    return [an_object(values, index, f"{word} {index + 1}", faults) for index, values in enumerate(rows)]


def an_object(values: Any, index: int, where: str, faults: Faults, size: int = 0) -> Record:
    """The values by column name, white space around names taken off."""
    if size > LINE_LIMIT_BYTES:
        faults.broken(index, where, f"longer than {LINE_LIMIT_BYTES // 2**20} MiB; one line is one question")
        return Record(index, where, {})
    if not isinstance(values, dict):
        faults.broken(index, where, f"not a JSON object but {type(values).__name__}")
        return Record(index, where, {})
    for name in values:
        if name[:1].isspace() or name[-1:].isspace():
            values = {name.strip(): value for name, value in values.items()}
            break
    return Record(index, where, values)


# CSV ----------------------------------------------------------------------------------------------


def csv_text(text: str, names: Sequence[frozenset[str]], faults: Faults) -> Table:
    """The form in words, the columns and the records of a CSV. Raises: DataError."""
    delimiter = sniff(text, names)
    form = "CSV" if delimiter == "," else f"CSV with {DELIMITERS[delimiter]}"
    header, records = csv_records(text, delimiter, faults)
    return form, tuple(name for name in header if name), records


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


def csv_records(text: str, delimiter: str, faults: Faults) -> tuple[list[str], list[Record]]:
    """The header and the rows below it; quoted cells may hold line ends, and blank lines do not count.

    Raises: DataError for quotes that do not close: behind them no row can be told from another.
    """
    csv.field_size_limit(CELL_LIMIT_CHARS)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    records: list[Record] = []
    header: list[str] = []
    end = 0
    try:
        for cells in lines:
            where, end = f"line {end + 1}", lines.line_num
            if not any(cells) or not any(cell.strip() for cell in cells):
                continue
            if not header:
                header = csv_header(cells, f"{faults.name}, {where}")
                continue
            values = dict(zip(header, cells, strict=False))
            if len(cells) > len(header) and any(cell.strip() for cell in cells[len(header) :]):
                faults.broken(len(records), where, too_many(cells, header, delimiter))
                values = {}
            records.append(Record(len(records), where, values))
    except csv.Error as error:
        raise DataError(
            f"{faults.name}, line {lines.line_num}: {error}; a quote inside a cell is written twice"
        ) from None
    return header, records


def too_many(cells: Sequence[str], header: Sequence[str], delimiter: str) -> str:
    return (
        f"{len(cells)} cells under {len(header)} columns; "
        f'a cell that holds a delimiter ({DELIMITERS[delimiter]}) needs "quotes"'
    )


def csv_header(cells: Sequence[str], where: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    counts = Counter(names)
    if twice := [name for name in names if name and counts[name] > 1]:
        raise DataError(f"{where}: two columns are named {twice[0]!r}; rename one")
    return names
