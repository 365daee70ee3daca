"""Looking at a file of questions: what is in it, how it was understood, what is wrong with it, what it could show."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from proctor.errors import ConfigError, DataError
from proctor.references import ExamRef
from proctor.service.datasets.layout import Findings, FirstRow, Layout
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
