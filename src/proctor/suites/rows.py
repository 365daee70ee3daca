"""Rows in their normal form: one JSONL file and one manifest for each task and split, checked on reading.

    HOME/suites/<task>/<split>.jsonl           {"id": "boolq/17", "target": "yes", "fields": {...}}
    HOME/suites/<task>/<split>.manifest.json   where they came from, how many, their SHA-256

Sample rows of our own lie beside this file in the same form.
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
from proctor.suites.tasks import TASKS

Origin = Literal["imported", "sample"]


@dataclass(frozen=True, slots=True)
class Row:
    """One question before it is put into words: `fields` is exactly what its prompt shows."""

    id: str
    task: str
    target: str
    fields: Mapping[str, Any]
    aliases: tuple[str, ...] = ()


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


def rows_path(home: Path, task: str, split: str) -> Path:
    return home / "suites" / task / f"{split}.jsonl"


def manifest_path(home: Path, task: str, split: str) -> Path:
    return home / "suites" / task / f"{split}.manifest.json"


def dump(rows: Iterable[Row]) -> bytes:
    """Rows as JSONL; the same rows give the same bytes."""
    option = orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    return b"".join(
        orjson.dumps({"id": row.id, "target": row.target, "fields": row.fields}, option=option)
        for row in rows
    )


def parse(body: bytes, where: str, task: str | None = None) -> list[Row]:
    """Rows from JSONL. Raises DataError naming the line. The task is the id's first part unless given."""
    rows = []
    for number, line in enumerate(body.splitlines(), 1):
        try:
            raw = orjson.loads(line)
            row_id, target, fields = raw["id"], raw["target"], raw["fields"]
        except (orjson.JSONDecodeError, KeyError, TypeError) as error:
            raise DataError(
                f"{where}, line {number}: not a row with id, target and fields ({error!r}). "
                "The file was changed by hand or cut: import the official file again."
            ) from None
        rows.append(Row(row_id, task or row_id.partition("/")[0], target, fields))
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


def write_rows(
    home: Path,
    task: str,
    split: str,
    rows: Sequence[Row],
    *,
    source: Sequence[str],
    now: float,
) -> tuple[RowManifest, bool]:
    """Store the rows of one task and split; False when the same rows were there already.

    Raises: DataError when the folder cannot be written.
    """
    body = dump(rows)
    labels = dict(sorted(Counter(row.target for row in rows).items()))
    sha256 = hashlib.sha256(body).hexdigest()
    path = rows_path(home, task, split)
    try:
        known = read_manifest(home, task, split)
        if known is not None and known.sha256 == sha256 and path.is_file() and path.read_bytes() == body:
            return known, False
        manifest = RowManifest(task, split, tuple(source), None, sha256, len(rows), labels, now)
        replace_file(path, body)
        replace_file(
            manifest_path(home, task, split), orjson.dumps(asdict(manifest), option=orjson.OPT_INDENT_2)
        )
    except OSError as error:
        raise DataError(
            f"{path}: {error.strerror}. Free disk space or make the folder writable, then import again."
        ) from None
    return manifest, True


def read_manifest(home: Path, task: str, split: str) -> RowManifest | None:
    """The manifest of stored rows; None when there is none or it is not one of ours."""
    try:
        raw = orjson.loads(manifest_path(home, task, split).read_bytes())
        return RowManifest(**{**raw, "source": tuple(raw["source"])})
    except (FileNotFoundError, orjson.JSONDecodeError, KeyError, TypeError):
        return None


def read_rows(task: str, rows: Origin, home: Path, *, split: str = "eval") -> RowSet:
    """The rows of one task. Raises: DataMissing, DataError (see `read_imported`)."""
    return read_tasks([task], rows, home, split=split)[task]


def read_tasks(tasks: Sequence[str], rows: Origin, home: Path, *, split: str = "eval") -> dict[str, RowSet]:
    """The rows of several tasks. Raises: DataMissing naming the tasks that lack rows, DataError."""
    read = {"imported": read_imported, "sample": read_sample}[rows]
    return read(tasks, home, split)


def read_imported(tasks: Sequence[str], home: Path, split: str) -> dict[str, RowSet]:
    """Rows that were imported, refused unless they are those that the manifest describes."""
    if missing := [task for task in tasks if not rows_path(home, task, split).is_file()]:
        some = ", ".join(missing[:5]) + (f" and {len(missing) - 5} more" if len(missing) > 5 else "")
        raise DataMissing(f"No imported rows for {some} in {home / 'suites'}")
    return {task: checked(task, home, split) for task in tasks}


def checked(task: str, home: Path, split: str) -> RowSet:
    """Stored rows whose hash, number and answers agree with their manifest. Raises: DataError."""
    path = rows_path(home, task, split)
    again = "Import the official file again with `proctor data import PATH`."
    manifest = read_manifest(home, task, split)
    if manifest is None:
        raise DataError(
            f"{path}: its manifest {manifest_path(home, task, split).name} is missing or unreadable. {again}"
        )
    body = path.read_bytes()
    sha256 = hashlib.sha256(body).hexdigest()
    if sha256 != manifest.sha256:
        raise DataError(
            f"{path}: the rows are not those that were imported (SHA-256 {sha256[:12]}, "
            f"manifest {manifest.sha256[:12]}). {again}"
        )
    rows = parse(body, str(path), task)
    if len(rows) != manifest.n:
        raise DataError(f"{path}: {len(rows)} rows, the manifest says {manifest.n}. {again}")
    labels = Counter(row.target for row in rows)
    if labels != Counter(manifest.labels):
        raise DataError(f"{path}: answers {dict(labels)}, the manifest says {dict(manifest.labels)}. {again}")
    return RowSet(task, split, tuple(rows), sha256, manifest)


SAMPLE = Path(__file__).parent / "sample"
# A file of its own where the name is a task's; the subjects of MMLU share two.
SHARED_SAMPLES = ("mmlu-a", "mmlu-b")


def read_sample(tasks: Sequence[str], home: Path, split: str) -> dict[str, RowSet]:
    """The rows that come with proctor, a few for each task. Raises: DataMissing for a task without any."""
    wanted: dict[str, list[Row]] = {task: [] for task in tasks}
    names = [task for task in tasks if TASKS[task].kind != "choices"]
    shared = SHARED_SAMPLES if len(names) < len(tasks) else ()
    for name in (*names, *shared):
        path = SAMPLE / f"{name}.{split}.jsonl"
        for row in parse(path.read_bytes(), str(path)) if path.is_file() else []:
            if row.task in wanted:
                wanted[row.task].append(row)
    if empty := [task for task, rows in wanted.items() if not rows]:
        raise DataMissing(f"No sample rows for {', '.join(empty)}. Import the official files instead.")
    return {
        task: RowSet(task, split, tuple(rows), hashlib.sha256(dump(rows)).hexdigest())
        for task, rows in wanted.items()
    }


def item_set_sha256(rows: Iterable[Row]) -> str:
    """One hash for a set of rows whatever their order: ids, fields and targets are in it."""
    lines = sorted(
        orjson.dumps([row.id, row.target, row.aliases, row.fields], option=orjson.OPT_SORT_KEYS)
        for row in rows
    )
    return hashlib.sha256(b"\n".join(lines)).hexdigest()
