"""Looking at a file: what is in it, how it was understood, what is wrong with it, what it could show.

On a server the look at a packed or large file is taken by a process of its own, within bounds of memory and time: a
file may come from anybody, and readers of packed formats abort, or unpack without end, when it was made for that.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, DataError, ProctorError
from proctor.references import ExamRef
from proctor.service.datasets.layout import Findings, FirstRow, Layout, findings_from, layout_from, to_json
from proctor.service.datasets.looked import look_at_requests
from proctor.service.datasets.reading import Found, Reading, found_from, reading_from, reading_json
from proctor.service.forecast.forecast import power_of
from proctor.sources.exams.files.columns import KNOWN_NAMES, Columns, find_columns, parse_chosen
from proctor.sources.exams.files.questions import open_table
from proctor.sources.exams.files.records import Records, read_records
from proctor.sources.exams.files.user_suites import open_user_suite
from proctor.sources.exams.source import SuiteSource
from proctor.stats.power import Assumed

FIRST_ROWS = 10
CELL_CHARS = 300
PROMPT_CHARS = 2000
PACKED = (b"PK\x03\x04", b"PAR1")
SMALL_BYTES = 300_000  # of text, which is sooner looked at here than a process is started
LOOK_S = 120.0
LOOK_BYTES_PER_S = 2_000_000  # of requests, by the slowest machine
MOST_LOOK_S = 1200.0
LOOK_MEMORY_BYTES = 4 * 2**30


def look(path: Path, layout: Layout) -> Findings:
    """What is in a file, or a TOML suite whose files lie beside it. Raises: DataError for what is no table at all."""
    ref = layout.of(ExamRef("file", str(path)))
    if path.suffix.lower() == ".toml":
        source = open_user_suite(path, ref)
        return _shown(Findings("a suite in TOML", len(source.row_ids), tasks=tuple(source.tasks)), source)
    table = read_records(path, KNOWN_NAMES, sheet=layout.sheet)
    plain = _first(table)
    try:
        columns = find_columns(table, chosen=parse_chosen(layout.columns))
        plain = replace(plain, parts=_parts(columns))
        return _shown(plain, open_table(ref, table))
    except (ConfigError, DataError) as error:
        return replace(plain, error=str(error))


def some_rows(path: Path, layout: Layout, offset: int, limit: int) -> tuple[FirstRow, ...]:
    """Rows of a file that was looked at before. Raises: DataError."""
    return _rows(read_records(path, KNOWN_NAMES, sheet=layout.sheet), offset, limit)


def _rows(table: Records, offset: int, limit: int) -> tuple[FirstRow, ...]:
    return tuple(
        [
            FirstRow(record.where, tuple([_cell(record.values.get(name)) for name in table.columns]))
            for record in table.records[offset : offset + limit]
        ]
    )


def _first(table: Records) -> Findings:
    rows = _rows(table, 0, FIRST_ROWS)
    return Findings(table.form, len(table.records), table.columns, table.sheets, rows)


def _cell(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else _json(value)
    return text if len(text) <= CELL_CHARS else f"{text[:CELL_CHARS]}..."


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _parts(columns: Columns) -> dict[str, tuple[str, ...]]:
    found = {
        "question": (columns.question,),
        "answer": (columns.answer,),
        "choices": (columns.choices,) if columns.choices else columns.wide,
        "id": (columns.id,),
        "cluster": (columns.cluster,),
    }
    return {part: tuple([name for name in names if name]) for part, names in found.items()}


def _shown(plain: Findings, source: SuiteSource) -> Findings:
    power = power_of(source, Assumed())
    kinds = {task.kind for task in source.tasks.values()}
    item = next(islice(source.items(), 1))
    prompt = "\n\n".join(message.content for message in item.ask.messages)
    left_out, copies = source.facts.left_out, source.facts.copies
    return replace(
        plain,
        items=len(source),
        answer_type=kinds.pop() if len(kinds) == 1 else None,
        understood=tuple(source.understood),
        left_out=left_out.rows if left_out else 0,
        copies=copies.rows if copies else 0,
        half_width=power.half_width,
        detectable=power.detectable,
        prompt=prompt if len(prompt) <= PROMPT_CHARS else f"{prompt[:PROMPT_CHARS]}...",
        target=item.target,
    )


def bounded_look(path: Path, layout: Layout) -> Findings:
    """`look` as a server takes it. Raises: DataError."""
    with path.open("rb") as file:
        packed = file.read(4) in PACKED
    large = sum(each.stat().st_size for each in path.parent.iterdir()) > SMALL_BYTES
    suite = path.suffix.lower() == ".toml"  # whose files may be of any kind
    return (look_apart if packed or large or suite else look)(path, layout)


# In a process of its own ---------------------------------------------------------------------------------


def look_apart(path: Path, layout: Layout) -> Findings:
    """`look`, taken by a process that may use so much memory and time. Raises: DataError."""
    asked = {"path": str(path), "layout": to_json(layout)}
    return findings_from(_found_apart(asked, path.name, LOOK_S))


def look_at_file_of_requests(path: Path, reading: Reading, *, named: str) -> Found:
    """What is in a file of requests, which is called so by its user. Raises: DataError, ConfigError."""
    size = path.stat().st_size
    with path.open("rb") as file:
        packed = file.read(4) in PACKED
    if not packed and size <= SMALL_BYTES:
        return look_at_requests(path, reading, named=named)
    asked = {"path": str(path), "reading": reading_json(reading), "named": named}
    return found_from(_found_apart(asked, named, LOOK_S + size / LOOK_BYTES_PER_S))


def _found_apart(asked: Mapping[str, str], named: str, seconds: float) -> str:
    """What a process of its own found, as JSON. Raises: DataError."""
    command = [sys.executable, "-m", "proctor", "look-at"]
    try:
        done = subprocess.run(
            command, input=json.dumps(asked).encode(), capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise DataError(
            f"{named}: not read after {seconds:.0f} seconds. Split it, or save it as JSON lines."
        ) from None
    if done.returncode != 0 or not done.stdout:
        raise DataError(
            f"{named}: reading it took more than {LOOK_MEMORY_BYTES // 2**30} GiB of memory, or broke its reader. "
            "Split it, or save it as JSON lines or CSV (UTF-8)."
        )
    told = json.loads(done.stdout)
    if told["error"] is not None:
        raise DataError(told["error"])
    found: str = told["found"]
    return found


def answer(asked: bytes) -> bytes:
    """What that process writes, for what it read."""
    record = json.loads(asked)
    path = Path(record["path"])
    try:
        if "reading" in record:
            found = reading_json(
                look_at_requests(path, reading_from(record["reading"]), named=record["named"])
            )
        else:
            found = to_json(look(path, layout_from(record["layout"])))
    except ProctorError as error:
        return json.dumps({"error": str(error), "found": None}).encode()
    return json.dumps({"error": None, "found": found}).encode()
