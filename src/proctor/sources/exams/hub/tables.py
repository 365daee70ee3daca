"""The hub's tables as rows: which form is read how, and which split becomes which half."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from proctor.errors import DataError
from proctor.sources.exams.files.parquet import read_parquet
from proctor.sources.exams.official.text import json_lines
from proctor.sources.exams.rows.exams import medmcqa_rows, medqa_rows, mmlu_rows, pubmedqa_rows
from proctor.sources.exams.rows.forms import READ, to_rows
from proctor.sources.exams.rows.labels import Record
from proctor.sources.exams.rows.normal_form import Row
from proctor.sources.exams.rows.passages import multirc_rows, record_rows

# The hub's splits that are halves of one of ours.
HALVES: Mapping[str, str] = {"validation_matched": "m", "validation_mismatched": "mm"}
FORMS: Mapping[str, Callable[[str, Sequence[Record]], list[Row]]] = {
    "mmlu": mmlu_rows,
    "multirc": lambda task, records: multirc_rows(records),
    "record": lambda task, records: record_rows(records),
    "medqa": lambda task, records: medqa_rows(records, range(len(records))),
    "medmcqa": lambda task, records: medmcqa_rows(records, 0),  # the hub's `cop` counts from 0
    "pubmedqa": lambda task, records: pubmedqa_rows(records),
}


def read_records(body: bytes, name: str) -> list[Record]:
    """The records of a Parquet file or of JSON lines, each with its place. Raises: DataError."""
    if PurePosixPath(name).suffix == ".parquet":
        return [(f"{name}, row {n}", row) for n, row in enumerate(read_parquet(body, name), 1)]
    return [(f"{name}, line {n}", row) for n, row in json_lines(name, body)]


def hub_rows(task: str, form: str, split: str, records: Sequence[Record]) -> list[Row]:
    """The rows of one split of the hub's. Raises: DataError naming the record, or an unknown form."""
    kind = form.rpartition("/")[2]
    if kind in FORMS:
        return FORMS[kind](task, records)
    if kind not in READ:
        raise DataError(f"{task}: no reader for rows of the form {form!r}")
    return to_rows(task, records, places([record for _, record in records]), half=HALVES.get(split))


def places(records: Sequence[Mapping[str, Any]]) -> list[int]:
    """Each record's place in the split: its `idx` where these number the split, else its place here.

    MRPC's on the hub do not: they count pairs of all splits together, in the authors' order.
    """
    given = [record.get("idx") for record in records]
    numbers = [idx for idx in given if isinstance(idx, int)]
    if len(numbers) == len(given) and sorted(numbers) == list(range(len(given))):
        return numbers
    return list(range(len(given)))
