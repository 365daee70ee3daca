"""Workbooks and Parquet as files of questions: read like their CSV, and bounded whatever the file says of itself."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hub_server import parquet
from question_files import by_id, source

from proctor.errors import DataError
from proctor.sources.exams.files.columns import KNOWN_NAMES
from proctor.sources.exams.files.records import read_records
from uploads import workbook

ROWS = [["question", "answer", "when"], ["1 + 1?", 2, None], ["Half of 1?", 0.1 + 0.4, None]]
SHEET = "xl/worksheets/sheet1.xml"


def kept(tmp_path: Path, body: bytes, name: str = "q.xlsx") -> Path:
    path = tmp_path / name
    path.write_bytes(body)
    return path


def changed(body: bytes, change: Callable[[bytes], bytes], member: str = SHEET) -> bytes:
    """The same archive with another member's text."""
    old, new = zipfile.ZipFile(io.BytesIO(body)), io.BytesIO()
    with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in old.namelist():
            archive.writestr(name, change(old.read(name)) if name == member else old.read(name))
    return new.getvalue()


def said_to_be(body: bytes, size: int) -> bytes:
    """The same archive, whose last entry says that it unpacks to so many bytes."""
    at = body.rfind(b"PK\x01\x02") + 24
    return body[:at] + size.to_bytes(4, "little") + body[at + 4 :]


def refused(tmp_path: Path, body: bytes) -> str:
    with pytest.raises(DataError) as error:
        read_records(kept(tmp_path, body), KNOWN_NAMES)
    return str(error.value)


def test_a_workbook_reads_as_its_csv_would(tmp_path: Path) -> None:
    moment = datetime.datetime(2024, 5, 1, 13, 30)
    rows = [[], *ROWS, ["Is it?", True, moment], [None], ["When?", datetime.datetime(2024, 5, 1), None]]
    table = read_records(kept(tmp_path, workbook(rows)), KNOWN_NAMES)
    assert table.form == "the sheet 'Questions' of a workbook" and table.columns == (
        "question",
        "answer",
        "when",
    )
    assert [(record.where, record.values["answer"]) for record in table.records] == [
        ("row 3", "2"), ("row 4", "0.5"), ("row 5", "TRUE"), ("row 7", "2024-05-01"),
    ]  # fmt: skip
    assert table.records[2].values["when"] == "2024-05-01 13:30:00"
    found = by_id(source(kept(tmp_path, workbook(ROWS))))
    assert {ident: item.target for ident, item in found.items()} == {"q/0": "2", "q/1": "0.5"}


def test_a_cell_over_several_rows_says_something_of_each_of_them(tmp_path: Path) -> None:
    rows = [["cluster", "question", "answer"], ["one", "a?", "A"], [None, "b?", "B"], [None, "c?", "C"]]
    body = workbook(rows, more=lambda book: book.active.merge_cells("A2:A3"))
    table = read_records(kept(tmp_path, body), KNOWN_NAMES)
    assert [record.values["cluster"] for record in table.records] == ["one", "one", ""]


def test_hidden_sheets_are_read_only_by_name_and_others_are_offered(tmp_path: Path) -> None:
    def more(book) -> None:
        book.create_sheet("Empty", 0)
        for title, state in (("Later", "visible"), ("Secret", "hidden")):
            sheet = book.create_sheet(title)
            sheet.sheet_state = state
            sheet.append(["question", "answer"])
            sheet.append([title, "yes"])

    path = kept(tmp_path, workbook(ROWS, more=more))
    assert read_records(path, KNOWN_NAMES).sheets == ("Questions", "Empty", "Later")
    assert read_records(path, KNOWN_NAMES, sheet="Secret").records[0].values["question"] == "Secret"
    with pytest.raises(
        DataError, match=r"no sheet 'No'. Its sheets: Empty, Questions, Later; hidden: Secret"
    ):
        read_records(path, KNOWN_NAMES, sheet="No")


def test_cells_without_a_value_are_faults_of_their_rows_where_their_column_counts(tmp_path: Path) -> None:
    rows = [*ROWS, ["2 + 2?", "=2+2", "=NOW()"], ["?", "#N/A", None], ["3 + 3?", "6", "#REF!"]]
    path = kept(tmp_path, workbook(rows))
    with pytest.raises(DataError) as error:
        source(path)
    told = str(error.value)
    assert "row 4, column 'answer': a formula whose result is not in the file" in told
    assert "row 5, column 'answer': the cell shows an error of the spreadsheet (#N/A)" in told
    assert "row 6" not in told and "'when'" not in told
    assert set(by_id(source(path, lenient=True))) == {"q/0", "q/1", "q/4"}


def test_what_a_workbook_could_unpack_to_is_bounded(tmp_path: Path) -> None:
    """Two kilobytes may name 17 billion cells, a row beyond every number, or a text of gigabytes."""
    body = workbook(ROWS, more=lambda book: book.active.merge_cells("A2:A3"))
    far = b'<row r="1048576"><c r="XFD1048576"><v>2</v></c></row></sheetData>'
    corner = changed(body, lambda xml: xml.replace(b"</sheetData>", far))
    assert "row 1048576: 16384 cells under 3 columns" in " ".join(
        read_records(kept(tmp_path, corner), KNOWN_NAMES).faults._listed()
    )
    beyond = changed(body, lambda xml: xml.replace(b'<row r="3"', b'<row r="99999999999"'))
    assert "past row 1,048,576" in refused(tmp_path, beyond)
    merged = changed(body, lambda xml: re.sub(rb"<mergeCell [^>]*>", b'<mergeCell ref="A2:A1048576"/>', xml))
    assert "more than 100,000 merged cells" in refused(tmp_path, merged)
    entities = b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 1000 + b'">'
    entities += b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 50) for n in range(6)) + b"]>"
    bomb = changed(body, lambda xml: entities + xml.replace(b"<v>2</v>", b"<v>&g;</v>"))
    assert "none that can be read" in refused(tmp_path, bomb)
    assert "unpacks to 257 MiB" in refused(tmp_path, said_to_be(body, 257 * 2**20))


def test_a_cut_or_damaged_workbook_is_told_as_one(tmp_path: Path) -> None:
    body = workbook(ROWS)
    assert "an archive, and no workbook that can be read" in refused(tmp_path, body[:-30])
    assert "not a whole workbook" in refused(tmp_path, changed(body, lambda xml: xml[: len(xml) // 2]))
    assert "not a whole workbook" in refused(tmp_path, changed(body, lambda xml: b"<a", "xl/workbook.xml"))


def test_parquet_is_a_file_of_questions(tmp_path: Path) -> None:
    rows = [{"question": "1 + 1?", "choices": ["1", "2"], "answer": 1, "id": "a"}]
    found = source(kept(tmp_path, parquet(*rows), "q.parquet"), numbers="from-0")
    (item,) = found.items()
    assert (item.id, item.target, item.choices) == ("q/a", "B", ("1", "2"))


def test_columns_are_chosen_where_their_names_do_not_tell(tmp_path: Path) -> None:
    path = kept(tmp_path, b"id,Frage,a,b,label\n7,Wer?,ich,du,ich\n7,Wo?,hier,da,da\n", "q.csv")
    words = ("question=Frage", "choices=a", "choices=b", "answer=label", "id=")
    found = by_id(source(path, columns=words))
    assert {ident: (item.target, item.choices) for ident, item in found.items()} == {
        "q/0": ("A", ("ich", "du")),
        "q/1": ("B", ("hier", "da")),
    }
    with pytest.raises(DataError, match=r"no column 'Antwort', which was chosen as the one of answer"):
        source(path, columns=("question=Frage", "answer=Antwort"))
