"""A sheet of a workbook (XLSX) as rows of text, as its CSV has them. Its reader, openpyxl, is loaded when needed.

A workbook comes from anywhere, and 2 kB of one can name 17 billion cells. So it is read as a stream, row by row,
and what it may unpack to, how many cells it may have and where they may stand is bounded.
"""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any
from xml.etree import ElementTree

from proctor.errors import DataError

MAGIC = b"PK\x03\x04"
UNPACKED_LIMIT_BYTES = 256 * 2**20
CELL_LIMIT = 2_000_000
ROW_LIMIT, COLUMN_LIMIT = 1_048_576, 16_384  # of the format itself
MERGED_LIMIT = 100_000
BOOK = "xl/workbook.xml"
RELATIONS = "xl/_rels/workbook.xml.rels"
ERRORS = frozenset({"#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"})
# What openpyxl and zipfile raise for a workbook that is cut, changed, or another program's idea of one.
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, ElementTree.ParseError, EOFError, OSError, NotImplementedError),
    *(KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError, RuntimeError),
)
# A formula whose result was never kept, since no program that reckons has saved the file.
UNRECKONED = re.compile(
    rb'<(?:\w+:)?c\b[^>]*?\br="([A-Z]{1,3}[0-9]{1,7})"[^>]*>\s*<(?:\w+:)?f\b'
    rb"(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v></(?:\w+:)?v>)?\s*</(?:\w+:)?c>"
)
MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*?\bref="([A-Z]{1,3})([0-9]{1,7}):([A-Z]{1,3})([0-9]{1,7})"')
CELL = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")

Rows = tuple[tuple[int, tuple[str, ...]], ...]
Bad = dict[int, dict[int, str]]


@dataclass(frozen=True, slots=True)
class WorkbookSheet:
    """One sheet's cells as text, each row with its number in the sheet, from 1; `rows` has none that are empty.

    `bad` are cells without a value that could be asked: row number -> column from 0 -> why.
    `sheets` are the names of all sheets that are shown, `hidden` of those that are not.
    """

    name: str
    rows: Rows
    bad: Bad
    sheets: tuple[str, ...]
    hidden: tuple[str, ...]


def is_workbook(body: bytes) -> bool:
    """Whether the bytes are an XLSX; archives of other kinds begin alike."""
    if not body.startswith(MAGIC):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            return BOOK in archive.namelist()
    except BROKEN:
        return False


def read_sheet(body: bytes, name: str, wanted: str | None = None) -> WorkbookSheet:
    """The sheet of that name; else the first one shown that has cells, else the first. Raises: DataError."""
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what openpyxl does without: styles, charts, rules for cells
            _check_size(archive, name)
            places = _places(archive)
            book = load_workbook(io.BytesIO(body), read_only=True, data_only=True, keep_links=False)
            shown = tuple(each.title for each in book.worksheets if each.sheet_state == "visible")
            hidden = tuple(each.title for each in book.worksheets if each.sheet_state != "visible")
            for title in _candidates(wanted, shown, hidden, name):
                plain, bad = _cells(book[title], name)
                if plain or wanted is not None:
                    break
            xml = archive.read(places[title]) if title in places else b""
        book.close()
    except (*BROKEN, InvalidFileException) as error:
        raise DataError(
            f"{name}: not a whole workbook, or none that can be read ({_said(error)}). Open it in a spreadsheet "
            "program and save it anew as XLSX, or as CSV (UTF-8)."
        ) from None
    rows, bad = _finished(plain, bad, xml, name)
    return WorkbookSheet(title, rows, bad, shown, hidden)


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:120] or type(error).__name__


def _check_size(archive: zipfile.ZipFile, name: str) -> None:
    """zipfile gives no more of a member than its entry says, so that what the entries say can be relied on."""
    if (size := sum(each.file_size for each in archive.infolist())) > UNPACKED_LIMIT_BYTES:
        raise DataError(
            f"{name}: the workbook unpacks to {size / 2**20:,.0f} MiB, and it may have "
            f"{UNPACKED_LIMIT_BYTES // 2**20}. Save the sheet as CSV (UTF-8)."
        )


def _places(archive: zipfile.ZipFile) -> dict[str, str]:
    """The sheets' names with the members of the archive that hold their cells."""
    targets = {
        each.get("Id"): str(each.get("Target"))
        for each in ElementTree.fromstring(archive.read(RELATIONS)).iter()
        if each.get("Target")
    }
    found = {}
    for each in ElementTree.fromstring(archive.read(BOOK)).iter():
        if each.tag.rpartition("}")[2] == "sheet":
            link = next((value for key, value in each.attrib.items() if key.endswith("}id")), None)
            target = targets.get(link, "")
            found[str(each.get("name"))] = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    there = set(archive.namelist())
    return {title: place for title, place in found.items() if place in there}


def _candidates(
    wanted: str | None, shown: Sequence[str], hidden: Sequence[str], name: str
) -> tuple[str, ...]:
    """Raises: DataError naming the sheets there are."""
    if wanted is None and shown:
        return tuple(shown)
    if wanted in (*shown, *hidden):
        return (str(wanted),)
    also = f"; hidden: {', '.join(hidden)}" if hidden else ""
    which = f"no sheet {wanted!r}" if wanted is not None else "no sheet of cells that is shown"
    raise DataError(f"{name}: {which}. Its sheets: {', '.join(shown) or 'none'}{also}.")


def _cells(sheet: Any, name: str) -> tuple[list[tuple[int, list[str]]], Bad]:
    """The rows that have a value, from the stream. Raises: DataError past what a sheet may have."""
    sheet.reset_dimensions()  # what the file says of its size may be anything, and each row would be filled up to it
    plain: list[tuple[int, list[str]]] = []
    bad: Bad = {}
    cells = 0
    for number, values in enumerate(sheet.iter_rows(values_only=True), 1):
        cells += len(values)
        if cells > CELL_LIMIT or number > ROW_LIMIT or len(values) > COLUMN_LIMIT:
            raise DataError(
                f"{name}: the sheet {sheet.title!r} reaches past {CELL_LIMIT:,} cells, or past row {ROW_LIMIT:,} or "
                f"column {COLUMN_LIMIT:,}. Delete what is empty at its end, or save it as CSV (UTF-8)."
            )
        if any(value not in (None, "") for value in values):
            plain.append((number, [_text(value) for value in values]))
            for column, value in enumerate(values):
                if isinstance(value, str) and value in ERRORS:
                    bad.setdefault(number, {})[column] = (
                        f"the cell shows an error of the spreadsheet ({value})"
                    )
    return plain, bad


def _text(value: Any) -> str:
    """A cell as its CSV has it: whole numbers without a point, 15 digits, dates as ISO 8601 writes them."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime):
        bare = value.time() == time()
        return value.date().isoformat() if bare else value.isoformat(" ", "seconds")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value)


def _finished(plain: list[tuple[int, list[str]]], bad: Bad, xml: bytes, name: str) -> tuple[Rows, Bad]:
    """The rows with merged cells filled, and with formulas told whose value the file does not have."""
    by_number = dict(plain)
    for cell in UNRECKONED.findall(xml):
        number, column = _place(cell.decode())
        bad.setdefault(number, {})[column] = (
            "a formula whose result is not in the file; open it in a spreadsheet program, which reckons, and save it"
        )
        by_number.setdefault(number, [])
    for number, column, text in _merged(xml, by_number, name):
        row = by_number[number]
        row.extend([""] * (column + 1 - len(row)))
        row[column] = row[column] or text
    return tuple((number, tuple(by_number[number])) for number in sorted(by_number)), bad


def _merged(xml: bytes, rows: dict[int, list[str]], name: str) -> Iterator[tuple[int, int, str]]:
    """The cells that stand under a merged one, with its text; below it only, in rows that have something.

    A cell over several rows says something of each of them (a passage beside its questions). One over
    several columns is a heading, and is left where it stands.
    """
    count = 0
    for left, top, right, bottom in MERGED.findall(xml):
        column, first, last = _column(left.decode()), int(top), int(bottom)
        source = rows.get(first, [])
        if left != right or column >= len(source) or not source[column]:
            continue
        for number in range(first + 1, min(last, ROW_LIMIT) + 1):
            count += 1
            if count > MERGED_LIMIT:
                raise DataError(
                    f"{name}: more than {MERGED_LIMIT:,} merged cells. Save the sheet as CSV (UTF-8)."
                )
            if number in rows:
                yield number, column, source[column]


def _place(cell: str) -> tuple[int, int]:
    found = CELL.fullmatch(cell)
    assert found is not None  # the pattern that found the cell says so
    return int(found[2]), _column(found[1])


def _column(letters: str) -> int:
    """The column's place from 0.

    >>> _column("A"), _column("Z"), _column("AA")
    (0, 25, 26)
    """
    place = 0
    for letter in letters:
        place = place * 26 + ord(letter) - 64
    return place - 1
