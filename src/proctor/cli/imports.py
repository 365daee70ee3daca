"""What `proctor data import` says about every file it met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from proctor.service.transfer import ImportReport

MOST_LINES = 12  # MMLU alone is 114 files; the rest is counted
MOST_SKIPPED = 20


def import_lines(report: ImportReport) -> Iterator[str]:
    by_source = _grouped(report)
    yield from by_source[:MOST_LINES]
    if len(by_source) > MOST_LINES:
        yield f"... and {len(by_source) - MOST_LINES} more sets (proctor data list)"
    new = sum(1 for i in report.imported if i.changed)
    total = sum(i.n for i in report.imported)
    yield f"{len(report.imported)} sets, {total:,} rows; {new} new or changed."
    for name, reason in report.failed:
        yield f"FAILED  {name}: {reason}"
    for name, reason in report.skipped[:MOST_SKIPPED]:
        yield f"skipped {name}: {reason}"
    if len(report.skipped) > MOST_SKIPPED:
        why = Counter(reason for _, reason in report.skipped[MOST_SKIPPED:])
        yield f"skipped {len(report.skipped) - MOST_SKIPPED} more: " + "; ".join(
            f"{n} {r}" for r, n in why.items()
        )
    for warning in report.warnings:
        yield f"Warning: {warning}"


def _grouped(report: ImportReport) -> list[str]:
    return [
        f"{i.task} ({i.split}): {i.n:,} rows from {i.source}{'' if i.changed else ', as before'}"
        for i in report.imported
    ]


def import_record(report: ImportReport) -> dict[str, Any]:
    return {
        "imported": [asdict(i) for i in report.imported],
        "skipped": [{"file": name, "reason": reason} for name, reason in report.skipped],
        "failed": [{"file": name, "reason": reason} for name, reason in report.failed],
        "warnings": list(report.warnings),
    }
