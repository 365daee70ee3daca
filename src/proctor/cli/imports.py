"""What `proctor data` says: about every file it met, about the rows that are here, and while it downloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from proctor.cli.tables import columns
from proctor.service.data.transfer import Imported, ImportReport

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


NOTHING_HERE = (
    "No rows are here. `proctor data import PATH` takes the official files; `--data sample` needs none."
)
LONGEST_FIELD = 160  # characters of a field that are shown
HEAD = ("task", "split", "origin", "rows", "revision", "sha256", "from")


def list_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not rows:
        yield NOTHING_HERE
        return
    cells = [
        (
            *(r["task"], r["split"], origin(r), f"{r['n']:,}", (r["revision"] or "-")[:12], r["sha256"][:12]),
            ", ".join(r["source"]),
        )
        for r in rows
    ]
    yield from columns(cells, HEAD)


def origin(row: Mapping[str, Any]) -> str:
    """Only the hub's rows have a revision."""
    return "hub" if row["revision"] else "imported"


def show_lines(sets: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for each in sets:
        revision = f" at {each['revision'][:12]}" if each["revision"] else ""
        yield f"{each['task']} ({each['split']}, {origin(each)}): {each['n']:,} rows"
        yield f"  from {', '.join(each['source'])}{revision}"
        yield f"  sha256 {each['sha256']}"
        yield f"  answers: {answers(each['labels'])}"
        for row in each["first"]:
            yield f"  {row['id']} -> {row['target'] if row['target'] is not None else 'not published'}"
            yield from (f"    {name}: {short(value)}" for name, value in row["fields"].items())
        yield ""


def answers(labels: Mapping[str, int]) -> str:
    """A histogram in words; an empty one stands for too many different answers to list."""
    if not labels:
        return "too many different ones to list"
    return ", ".join(f"{name or 'not published'} {n:,}" for name, n in labels.items())


def short(value: Any) -> str:
    """A field on one line.

    >>> short(["a", "b"]), short("x" * 200)[-4:]
    ('a | b', 'x...')
    """
    line = " ".join((" | ".join(value) if isinstance(value, list) else str(value)).split())
    return line if len(line) <= LONGEST_FIELD else f"{line[:LONGEST_FIELD]}..."


def verify_lines(verdicts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not verdicts:
        yield NOTHING_HERE
        return
    for verdict in verdicts:
        yield from (f"DIFFERS {fault}" for fault in verdict["faults"])
    wrong = sum(1 for verdict in verdicts if verdict["faults"])
    yield f"{len(verdicts)} sets checked; {f'{wrong} differ' if wrong else 'all are as they should be'}."
