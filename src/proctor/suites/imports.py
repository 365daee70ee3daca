"""Bringing official files in: find what is known below a path, store its rows, account for every file."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import DataError
from proctor.suites.archives import listing
from proctor.suites.formats import Parsed, read_entry
from proctor.suites.rows import dump, write_rows
from proctor.suites.tasks import TASKS


@dataclass(frozen=True, slots=True)
class Imported:
    """Rows that are on this machine now; `changed` is False when the same ones were there before."""

    task: str
    split: str
    n: int
    source: str
    changed: bool = True


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of every file: imported, skipped because it is of no known set, or failed.

    `warnings` name rows that differ in number or answers from the official set.
    """

    imported: tuple[Imported, ...]
    skipped: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]
    warnings: tuple[str, ...]


def import_path(path: Path, home: Path, *, now: float) -> ImportReport:
    """Import every known set at or below a file, folder or archive into `home`.

    A damaged file is reported and the others are imported. Raises: DataError when there is nothing
    at the path, or the home folder cannot be written.
    """
    imported: list[Imported] = []
    warnings: list[str] = []
    taken: dict[tuple[str, str], tuple[str, bytes]] = {}
    with listing(path) as found:
        skipped, failed = list(found.skipped), list(found.failed)
        for entry in found.entries:
            try:
                outcome = read_entry(entry, found)
            except DataError as error:
                failed.append((entry.name, str(error)))
                continue
            if isinstance(outcome, str):
                skipped.append((entry.name, outcome))
                continue
            for parsed in outcome:
                if repeated := seen_before(parsed, taken):
                    skipped.append((entry.name, repeated))
                    continue
                imported.append(keep(parsed, home, now))
                warnings += differences(parsed)
    return ImportReport(tuple(imported), tuple(skipped), tuple(failed), tuple(warnings))


def seen_before(parsed: Parsed, taken: dict[tuple[str, str], tuple[str, bytes]]) -> str | None:
    """Why a second file with the same task and split is left out; the first is remembered."""
    body = dump(parsed.rows)
    first, rows = taken.setdefault((parsed.task, parsed.split), (parsed.source[0], body))
    if first == parsed.source[0]:
        return None
    if rows == body:
        return f"the same rows as {first}"
    return f"{first} was taken for {parsed.task} ({parsed.split}), and these rows differ: import it by itself"


def keep(parsed: Parsed, home: Path, now: float) -> Imported:
    _, changed = write_rows(home, parsed.task, parsed.split, parsed.rows, source=parsed.source, now=now)
    return Imported(parsed.task, parsed.split, len(parsed.rows), " + ".join(parsed.source), changed)


def differences(parsed: Parsed) -> list[str]:
    """How the rows differ from the official split: sentences for a person, none when they agree."""
    task = TASKS[parsed.task]
    what = f"{parsed.source[0]}: {task.title} ({parsed.split})"
    size = task.official.get(parsed.split)
    if size is not None and len(parsed.rows) != size:
        return [f"{what} has {len(parsed.rows):,} rows, the official set {size:,}."]
    labels = Counter(row.target for row in parsed.rows)
    if parsed.split == "eval" and task.histogram and labels != Counter(task.histogram):
        return [f"{what} has the answers {dict(labels)}, the official set {dict(task.histogram)}."]
    return []
