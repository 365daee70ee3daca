"""Bringing official files in: find what is known below a path, store its rows, account for every file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import DataError
from proctor.sources.exams.official.archives import listing
from proctor.sources.exams.official.formats import read_entry
from proctor.sources.exams.official.text import Parsed
from proctor.sources.exams.rows.normal_form import Row, checked, dump, read_manifest, write_rows
from proctor.sources.exams.rows.stored import remarks


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


@dataclass(frozen=True, slots=True)
class Piece:
    """A file that was taken for a task and split in this import: what a second one is compared with."""

    name: str
    sha256: str
    ids: frozenset[str]  # of a part of a split; empty for a whole one
    answered: bool


Key = tuple[str, str]  # task and split


@dataclass(slots=True)
class Shelf:
    """What one import has brought so far."""

    home: Path
    now: float
    pieces: dict[Key, list[Piece]] = field(default_factory=dict)
    imported: dict[Key, Imported] = field(default_factory=dict)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def import_path(path: Path, home: Path, *, now: float) -> ImportReport:
    """Import every known set at or below a file, folder or archive into `home`.

    A damaged file is reported and the others are imported. Raises: DataError when there is nothing
    at the path, or the home folder cannot be written.
    """
    shelf = Shelf(home, now)
    with listing(path) as found:
        shelf.skipped += found.skipped
        failed = list(found.failed)
        for entry in found.entries:
            try:
                outcome = read_entry(entry, found)
            except DataError as error:
                failed.append((entry.name, str(error)))
                continue
            if isinstance(outcome, str):
                shelf.skipped.append((entry.name, outcome))
                continue
            for parsed in outcome:
                shelve(parsed, shelf)
    manifests = (read_manifest(home, task, split) for task, split in shelf.imported)
    warnings = [text for manifest in manifests if manifest for text in remarks(manifest)]
    return ImportReport(
        tuple(shelf.imported.values()), tuple(shelf.skipped), tuple(failed), (*shelf.notes, *warnings)
    )


def shelve(parsed: Parsed, shelf: Shelf) -> None:
    """Store the rows of a file, unless another file of this import gave the same split already."""
    key = (parsed.task, parsed.split)
    piece = piece_of(parsed)
    others = shelf.pieces.setdefault(key, [])
    if all(not other.answered for other in others) and piece.answered and others:
        shelf.skipped += [(o.name, f"without answers; {piece.name} has them") for o in others]
        others.clear()
        del shelf.imported[key]
    if repeated := next((why for other in others if (why := repeats(piece, other, parsed))), None):
        shelf.skipped.append((piece.name, repeated))
        return
    others.append(piece)
    shelf.imported[key] = keep(parsed, shelf, shelf.imported.get(key))
    shelf.notes += parsed.notes


def piece_of(parsed: Parsed) -> Piece:
    ids = frozenset(row.id for row in parsed.rows) if parsed.partial else frozenset[str]()
    answered = any(row.target is not None for row in parsed.rows)
    return Piece(parsed.source[0], hashlib.sha256(dump(parsed.rows)).hexdigest(), ids, answered)


def repeats(piece: Piece, other: Piece, parsed: Parsed) -> str | None:
    """Why a second file with the same task and split is left out; None when it is another part."""
    if piece.sha256 == other.sha256:
        return f"the same rows as {other.name}"
    if piece.ids and other.ids and not piece.ids & other.ids:
        return None
    if piece.name == other.name:
        return None
    return f"{other.name} was taken for {parsed.task} ({parsed.split}), and these rows differ: import it by itself"


def keep(parsed: Parsed, shelf: Shelf, before: Imported | None) -> Imported:
    """Store rows; a part of a split is joined with the other rows of the split that are here."""
    rows, source = parsed.rows, parsed.source
    if parsed.partial:
        rows, source = joined(parsed, shelf.home)
    manifest, changed = write_rows(shelf.home, parsed.task, parsed.split, rows, source=source, now=shelf.now)
    named = parsed.source if before is None else (before.source, *parsed.source)
    return Imported(
        parsed.task,
        parsed.split,
        manifest.n,
        " + ".join(named),
        changed or (before is not None and before.changed),
    )


def joined(parsed: Parsed, home: Path) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The rows of a part with the stored rows that are not in it, in the order of the split."""
    try:
        stored = checked(parsed.task, home, parsed.split)
    except (DataError, FileNotFoundError):
        return parsed.rows, parsed.source  # none, or damaged ones: this import mends them
    mine = {row.id for row in parsed.rows}
    others = [row for row in stored.rows if row.id not in mine]
    if not others:
        return parsed.rows, parsed.source
    known = stored.manifest.source if stored.manifest else ()
    source = (*known, *(name for name in parsed.source if name not in known))
    return tuple(sorted([*others, *parsed.rows], key=place)), source


def place(row: Row) -> tuple[str, int]:
    """Where a row stands in its split: the half of MNLI, then the index.

    >>> place(Row("mnli/mm-12", "mnli", None, {}))
    ('mm', 12)
    """
    half, _, index = row.id.partition("/")[2].rpartition("-")
    return half, int(index)
