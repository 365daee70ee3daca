"""Lists of runs as files: one record a run, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from io import StringIO
from typing import Any

from proctor.service.jobs_view import RunLine
from proctor.service.overview import Mean
from proctor.web.render import stamp


def line_record(line: RunLine, means: Mapping[str, Mean]) -> dict[str, Any]:
    """`accuracy` and `f1` are of complete runs only; a run that lacks items has none."""
    complete = line.status == "completed" and line.settled >= line.planned and not line.stopped
    means = means if complete else {}
    return {
        "job_id": line.id,
        "model": line.full_model,
        "suite": line.source,
        "status": "partial" if line.status == "completed" and line.settled < line.planned else line.status,
        "sample_data": line.sample,
        "settled": line.settled,
        "planned": line.planned,
        **_figures("accuracy", means),
        **_figures("f1", means),
        "created_at": stamp(line.created_at),
        "completed_at": stamp(line.finished_at),
        "project_id": line.project_id,
        "error": line.error,
    }


def _figures(metric: str, means: Mapping[str, Mean]) -> dict[str, float | None]:
    value, low, high = means.get(metric, (None, None, None))
    return {metric: value, f"{metric}_low": low, f"{metric}_high": high}


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    out = StringIO()
    if records:
        writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _inert(value) for name, value in record.items()} for record in records)
    return out.getvalue()


def _inert(value: object) -> object:
    """A spreadsheet takes a text that begins so for a formula.

    >>> _inert("=1+1"), _inert("glue"), _inert(-1.5)
    ("'=1+1", 'glue', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t")) else value
