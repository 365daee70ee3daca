"""What `proctor data import` says about every file it met."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from proctor.service.transfer import Imported, ImportReport

MOST_SKIPPED = 20
ALONE = 3  # more sets than this from one folder are told in one line, as MMLU's 57 subjects are


def import_lines(report: ImportReport) -> Iterator[str]:
    yield from _set_lines(report.imported)
    new = sum(1 for i in report.imported if i.changed)
    yield f"{len(report.imported)} sets, {sum(i.n for i in report.imported):,} rows; {new} new or changed."
    for name, reason in report.failed:
        yield f"FAILED  {name}: {reason}"
    for name, reason in report.skipped[:MOST_SKIPPED]:
        yield f"skipped {name}: {reason}"
    if len(report.skipped) > MOST_SKIPPED:
        yield f"skipped {len(report.skipped) - MOST_SKIPPED} more files (--json lists them all)"
    for warning in report.warnings:
        yield f"Warning: {warning}"


def _set_lines(imported: Sequence[Imported]) -> Iterator[str]:
    folders: dict[tuple[str, str], list[Imported]] = {}
    for each in imported:
        folders.setdefault((each.source.rpartition("/")[0], each.split), []).append(each)
    for (folder, split), sets in folders.items():
        if len(sets) > ALONE:
            yield f"{len(sets)} tasks ({split}): {sum(s.n for s in sets):,} rows from {folder}"
            continue
        for each in sets:
            before = "" if each.changed else ", as before"
            yield f"{each.task} ({split}): {each.n:,} rows from {each.source}{before}"


def import_record(report: ImportReport) -> dict[str, Any]:
    return {
        "imported": [asdict(i) for i in report.imported],
        "skipped": [{"file": name, "reason": reason} for name, reason in report.skipped],
        "failed": [{"file": name, "reason": reason} for name, reason in report.failed],
        "warnings": list(report.warnings),
    }
