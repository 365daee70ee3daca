"""Rows in their normal form: one JSONL file and one manifest for each task and split, checked on reading.

    HOME/suites/<task>/<split>.jsonl           {"id": "boolq/17", "target": "yes", "fields": {...}}
    HOME/suites/<task>/<split>.manifest.json   where they came from, how many, their SHA-256
    HOME/hub/<task>/...                        the same for rows that were downloaded

A row whose answer is not published has a null target; other right answers stand in "aliases". Sample rows
of our own lie beside this file in the same form.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import orjson

from proctor.errors import DataError, DataMissing
from proctor.references import Rows

Stored = Literal["imported", "hub"]
FOLDERS: Mapping[Stored, str] = {"imported": "suites", "hub": "hub"}
AGAIN: Mapping[Stored, str] = {
    "imported": "Import the official file again with `proctor data import PATH`.",
    "hub": "Delete the file and its manifest: the next run downloads them again.",
}
# More different answers than this (numbers, names) make no histogram worth keeping.
MOST_LABELS = 100
HIDDEN = ""  # stands in histograms for answers that are not published


@dataclass(frozen=True, slots=True)
class Row:
    """One question before it is put into words: `fields` is exactly what its prompt shows.

    `cluster` is what it hangs together with where that is known of the row and not by the task's field, and
    `grader` the one that the row itself names.
    """

    id: str
    task: str
    target: str | None
    fields: Mapping[str, Any]
    aliases: tuple[str, ...] = ()
    cluster: str | None = None
    grader: str | None = None


@dataclass(frozen=True, slots=True)
class RowManifest:
    """What is known of a stored file of rows; `sha256` is that of the JSONL's bytes."""

    task: str
    split: str
    source: tuple[str, ...]
    revision: str | None
    sha256: str
    n: int
    labels: Mapping[str, int]
    imported_at: float


@dataclass(frozen=True, slots=True)
class RowSet:
    """The rows of one task and split, with the hash of the bytes they were read from."""

    task: str
    split: str
    rows: tuple[Row, ...]
    sha256: str
    manifest: RowManifest | None = None  # sample rows have none
    origin: Rows = "imported"


def rows_path(home: Path, task: str, split: str, origin: Stored = "imported") -> Path:
    return home / FOLDERS[origin] / task / f"{split}.jsonl"


def manifest_path(home: Path, task: str, split: str, origin: Stored = "imported") -> Path:
    return home / FOLDERS[origin] / task / f"{split}.manifest.json"


def dump(rows: Iterable[Row]) -> bytes:
    """Rows as JSONL; the same rows give the same bytes."""
    option = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    return b"".join(orjson.dumps(plain_row(row), option=option) for row in rows)


def plain_row(row: Row) -> dict[str, Any]:
    """A row as it is stored."""
    stored: dict[str, Any] = {"id": row.id, "target": row.target, "fields": row.fields}
    return {**stored, "aliases": row.aliases} if row.aliases else stored


def parse(body: bytes, where: str, task: str | None = None) -> list[Row]:
    """Rows from JSONL. Raises DataError naming the line. The task is the id's first part unless given."""
    rows = []
    for number, line in enumerate(body.splitlines(), 1):
        try:
            raw = orjson.loads(line)
            row_id, target, fields = raw["id"], raw["target"], raw["fields"]
            aliases = tuple(raw.get("aliases", ()))
            name = task or row_id.partition("/")[0]
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{where}, line {number}: not a row with id, target and fields ({error!r}). "
                "The file was changed by hand or cut: import the official file again."
            ) from None
        rows.append(Row(row_id, name, target, fields, aliases))
    return rows


def replace_file(path: Path, body: bytes) -> None:
    """Write a file so that a reader sees all of it or the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(body)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def histogram(rows: Iterable[Row]) -> dict[str, int]:
    """How often each answer stands in the rows; empty where there are too many different ones."""
    counts = Counter(HIDDEN if row.target is None else row.target for row in rows)
    return dict(sorted(counts.items())) if len(counts) <= MOST_LABELS else {}


def write_rows(
    home: Path,
    task: str,
    split: str,
    rows: Sequence[Row],
    *,
    source: Sequence[str],
    now: float,
    revision: str | None = None,
) -> tuple[RowManifest, bool]:
    """Store the rows of one task and split; False when the same rows were there already.

    Rows with a revision are the hub's and are kept apart from imported ones. Raises: DataError when
    the folder cannot be written.
    """
    body = dump(rows)
    origin: Stored = "imported" if revision is None else "hub"
    sha256 = hashlib.sha256(body).hexdigest()
    path = rows_path(home, task, split, origin)
    try:
        known = read_manifest(home, task, split, origin)
        if known is not None and (known.sha256, known.revision) == (sha256, revision) and is_body(path, body):
            return known, False
        manifest = RowManifest(task, split, tuple(source), revision, sha256, len(rows), histogram(rows), now)
        replace_file(path, body)
        replace_file(
            manifest_path(home, task, split, origin),
            orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2),
        )
    except OSError as error:
        raise DataError(
            f"{path}: {error.strerror}. Free disk space or make the folder writable, then import again."
        ) from None
    return manifest, True


def is_body(path: Path, body: bytes) -> bool:
    return path.is_file() and path.read_bytes() == body


def read_manifest(home: Path, task: str, split: str, origin: Stored = "imported") -> RowManifest | None:
    """The manifest of stored rows; None when there is none or it is not one of ours."""
    try:
        raw = orjson.loads(manifest_path(home, task, split, origin).read_bytes())
        return RowManifest(**{**raw, "source": tuple(raw["source"])})
    except (FileNotFoundError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def read_rows(task: str, rows: Rows | None, home: Path, *, split: str = "eval") -> RowSet:
    """The rows of one task. Raises: DataMissing, DataError (see `read_tasks`)."""
    return read_tasks([task], rows, home, split=split)[task]


def read_tasks(
    tasks: Sequence[str], rows: Rows | None, home: Path, *, split: str = "eval"
) -> dict[str, RowSet]:
    """The rows of several tasks, all of one origin; None takes imported rows, else the hub's.

    Raises: DataMissing naming the tasks that lack rows, DataError for rows that are not those which
    their manifest describes.
    """
    origin = rows or present_origin(tasks, home, split)
    if origin == "sample":
        return read_sample(tasks, home, split)
    if missing := missing_tasks(tasks, home, split, origin or "imported"):
        some = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        kind = "imported rows" if origin != "hub" else "downloaded rows"
        raise DataMissing(f"No {kind} for {some} in {home / FOLDERS[origin or 'imported']}")
    return {task: checked(task, home, split, origin or "imported") for task in tasks}


def present_origin(tasks: Sequence[str], home: Path, split: str = "eval") -> Stored | None:
    """Which stored rows are there for every task: the imported ones first; None when neither are."""
    origins: tuple[Stored, ...] = ("imported", "hub")
    return next((origin for origin in origins if not missing_tasks(tasks, home, split, origin)), None)


def missing_tasks(tasks: Sequence[str], home: Path, split: str, origin: Stored) -> list[str]:
    return [task for task in tasks if not rows_path(home, task, split, origin).is_file()]


def checked(task: str, home: Path, split: str, origin: Stored = "imported") -> RowSet:
    """Stored rows whose hash, number and answers agree with their manifest. Raises: DataError."""
    path = rows_path(home, task, split, origin)
    again = AGAIN[origin]
    manifest = read_manifest(home, task, split, origin)
    if manifest is None:
        raise DataError(
            f"{path}: its manifest {manifest_path(home, task, split, origin).name} is missing or "
            f"unreadable. {again}"
        )
    body = path.read_bytes()
    sha256 = hashlib.sha256(body).hexdigest()
    if sha256 != manifest.sha256:
        raise DataError(
            f"{path}: the rows are not those that were {'imported' if origin == 'imported' else 'downloaded'} "
            f"(SHA-256 {sha256[:12]}, manifest {manifest.sha256[:12]}). {again}"
        )
    rows = parse(body, str(path), task)
    if len(rows) != manifest.n:
        raise DataError(f"{path}: {len(rows)} rows, the manifest says {manifest.n}. {again}")
    labels = histogram(rows)
    if labels != dict(manifest.labels):
        raise DataError(f"{path}: answers {labels}, the manifest says {dict(manifest.labels)}. {again}")
    return RowSet(task, split, tuple(rows), sha256, manifest, origin)


SAMPLE = Path(__file__).parents[1] / "sample"
# Tasks without a file of their own, the subjects of MMLU, share two.
SHARED_SAMPLES = ("mmlu-a", "mmlu-b")


def read_sample(tasks: Sequence[str], home: Path, split: str) -> dict[str, RowSet]:
    """The rows that come with proctor, a few for each task. Raises: DataMissing for a task without any."""
    wanted: dict[str, list[Row]] = {task: [] for task in tasks}
    own = [task for task in tasks if (SAMPLE / f"{task}.{split}.jsonl").is_file()]
    shared = SHARED_SAMPLES if len(own) < len(tasks) else ()
    for name in (*own, *shared):
        path = SAMPLE / f"{name}.{split}.jsonl"
        for row in parse(path.read_bytes(), str(path)) if path.is_file() else []:
            if row.task in wanted:
                wanted[row.task].append(row)
    if empty := [task for task, rows in wanted.items() if not rows]:
        raise DataMissing(f"No sample rows for {', '.join(empty)}. Import the official files instead.")
    return {
        task: RowSet(task, split, tuple(rows), hashlib.sha256(dump(rows)).hexdigest(), origin="sample")
        for task, rows in wanted.items()
    }


def item_set_sha256(rows: Iterable[Row]) -> str:
    """One hash for a set of rows whatever their order: ids, fields and targets are in it."""
    lines = sorted(
        orjson.dumps([row.id, row.target, row.aliases, row.fields], option=orjson.OPT_SORT_KEYS)
        for row in rows
    )
    return hashlib.sha256(b"\n".join(lines)).hexdigest()
