"""The official files of the suites: which reader takes a file, told by its ending, its columns or keys, its names.

A file that belongs to no known set gives a reason to skip it; a bad row in a known file is an error.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

from proctor.errors import DataError
from proctor.sources.exams.official.archives import ARCHIVE_ENDINGS, ArchiveListing, Member
from proctor.sources.exams.official.glue import read_table
from proctor.sources.exams.official.medical import (
    LABELLED,
    TRUTH,
    base_name,
    is_articles,
    medical_task,
    read_medmcqa,
    read_medqa,
    read_pubmedqa,
    read_truth,
)
from proctor.sources.exams.official.superglue import TITLES, read_superglue, superglue_task
from proctor.sources.exams.official.text import (
    NO_FORMAT,
    Outcome,
    Parsed,
    decoded,
    first_object,
    folder_words,
    json_lines,
)
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.tables.exams import MMLU


def read_entry(entry: Member, found: ArchiveListing) -> Outcome:
    """The rows of a file, or the reason to skip it. Raises: DataError naming file and row."""
    name = entry.name.lower()
    if name.endswith(ARCHIVE_ENDINGS):
        return "an archive inside an archive: unpack it first"
    read = READERS.get(PurePosixPath(name).suffix)
    return read(entry, found) if read else NO_FORMAT


MMLU_NAME = re.compile(r"(.+)_(test|dev|val)\.csv", re.IGNORECASE)
MMLU_SPLITS = {"test": "eval", "dev": "dev", "val": "val"}


def read_csv(entry: Member, found: ArchiveListing) -> Outcome:
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


EXAMS: Mapping[str, Callable[[Member, bytes, str, ArchiveListing], Outcome]] = {
    "medqa": read_medqa,
    "medmcqa": read_medmcqa,
}


def read_json(entry: Member, found: ArchiveListing) -> Outcome:
    """JSON lines, a JSON array or one JSON object; both endings are in use for all of them."""
    base = base_name(entry)
    if base == TRUTH:
        return read_truth(entry, found)
    if base == LABELLED:
        return read_pubmedqa(entry, found)
    body = entry.read()
    around = folder_words(entry, found)
    first = first_object(body)
    if first is None:
        if around & TITLES.keys():
            json_lines(entry.name, body)  # a damaged file of a known set: says at which line
        return "not rows of a known set"
    if is_articles(first):
        return f"PubMedQA rows, but not the official {LABELLED}"
    if task := medical_task(first):
        return EXAMS[task](entry, body, task, found)
    if task := superglue_task(first, around):
        return read_superglue(entry, body, task, found)
    return f"rows of no known set (keys {', '.join(sorted(first)[:6])})"


READERS: Mapping[str, Callable[[Member, ArchiveListing], Outcome]] = {
    ".csv": read_csv,
    ".tsv": read_table,
    ".txt": read_table,
    ".json": read_json,
    ".jsonl": read_json,
}
