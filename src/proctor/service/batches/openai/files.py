"""Files of OpenAI's API: requests that come in, and what a batch's run is written as. Their bytes are the shelf's."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proctor.errors import DataMissing, NotFound, TooLarge
from proctor.references import BatchRef
from proctor.service.batches.openai import output as openai_output
from proctor.service.batches.openai.parameters import bad_parameter
from proctor.service.context import Context
from proctor.service.datasets.arriving import Arrived
from proctor.settings import MB
from proctor.store.batches import entries, files
from proctor.store.batches.files import FileFilter, FileRow
from proctor.store.datasets import shelf
from proctor.store.shared import copies

__all__ = ["FileFilter", "FileRow", "NewFile"]

PURPOSE = "batch"
WRITTEN = "batch_output"
ENDING = ".jsonl"
ANCHOR = "created_at"
SHORTEST_S, LONGEST_S = 3600, 30 * 86_400
KEPT_S = LONGEST_S  # files of requests, where nothing else was asked: so OpenAI has it


@dataclass(frozen=True, slots=True)
class NewFile:
    """What comes with an upload; `expires_s` None where nothing was asked."""

    purpose: str
    expires_s: int | None = None


def new_file(fields: dict[str, str]) -> NewFile:
    """The fields of an upload's form. Raises: ConfigError."""
    purpose = fields.get("purpose", "")
    if not purpose:
        raise bad_parameter("Missing required parameter: 'purpose'.", "purpose", "missing_required_parameter")
    if purpose != PURPOSE:
        raise bad_parameter(
            f"Invalid value: {purpose[:40]!r}. Files here are for batches: 'batch'.",
            "purpose",
            "invalid_value",
        )
    anchor, seconds = fields.get("expires_after[anchor]"), fields.get("expires_after[seconds]")
    if anchor is None and seconds is None:
        return NewFile(purpose)
    if not (seconds or "").isdecimal():
        raise bad_parameter("expires_after[seconds]: give a whole number", "expires_after[seconds]")
    return NewFile(purpose, check_expiry(anchor, int(seconds or 0), "expires_after"))


def only_file(came: Sequence[Arrived]) -> Arrived:
    """Raises: ConfigError."""
    if len(came) != 1:
        raise bad_parameter("Missing required parameter: 'file'.", "file", "missing_required_parameter")
    return came[0]


def check_expiry(anchor: str | None, seconds: int, param: str) -> int:
    """Raises: ConfigError."""
    if anchor != ANCHOR:
        raise bad_parameter(f"{param}[anchor]: give {ANCHOR!r}", f"{param}[anchor]", "invalid_value")
    if not SHORTEST_S <= seconds <= LONGEST_S:
        told = f"{param}[seconds]: give {SHORTEST_S} (an hour) to {LONGEST_S} (30 days)"
        raise bad_parameter(told, f"{param}[seconds]", "invalid_value")
    return seconds


def keep(context: Context, project_id: int, arrived: Arrived, new: NewFile, *, user: str) -> FileRow:
    """Give a file that came whole its place and its row. Raises: ConfigError, TooLarge, DiskFull, NotFound."""
    most = context.settings.batch_file_bytes
    if arrived.bytes > most:
        raise TooLarge(f"The file is larger than {most // MB:,} MB (PROCTOR_BATCH_MB)")
    if not arrived.filename.endswith(ENDING):
        raise bad_parameter(f"A batch's file is JSON lines, and its name ends in {ENDING}", "file")
    if not arrived.bytes:
        raise bad_parameter("The file is empty", "file", "empty_file")
    now = time.time()
    row = FileRow(
        id=f"file-{secrets.token_hex(12)}",
        project_id=project_id,
        filename=arrived.filename,
        purpose=new.purpose,
        bytes=arrived.bytes,
        user=user,
        created_at=now,
        expires_at=now + (new.expires_s or KEPT_S),
        sha256=arrived.sha256,
    )
    with shelf.held(context.settings):
        shelf.keep(arrived.path, context.settings, arrived.sha256)
        kept = files.add(context.store, row)
    copies.share(context.store, context.settings, arrived.sha256)
    return kept


def one(context: Context, ident: str) -> FileRow:
    """Raises: NotFound."""
    return files.one(context.store, ident, now=time.time())


def listed(context: Context, wanted: FileFilter) -> tuple[list[FileRow], bool]:
    """A page of files, and whether there are more. Raises: NotFound for an `after` that is no file."""
    return files.listed(context.store, wanted, now=time.time())


def remove(context: Context, ident: str) -> FileRow:
    """Raises: NotFound; Conflict while a batch that has not ended reads it."""
    with shelf.held(context.settings):
        gone = files.remove(context.store, ident)
        _drop(context, gone)
    return gone


def sweep(context: Context, *, now: float) -> None:
    """Delete the files whose time is over."""
    for row in files.expired(context.store, now=now):
        try:
            remove(context, row.id)
        except NotFound:
            continue  # somebody was quicker


def _drop(context: Context, gone: FileRow) -> None:
    """Let the bytes go, unless the file of errors of an ended batch is still written with their help."""
    sha256 = gone.sha256 or _read_by(context, gone.batch_id)
    if sha256 is not None and not files.read_still(context.store, sha256):
        copies.drop(context.store, context.settings, sha256)


def _read_by(context: Context, batch_id: str | None) -> str | None:
    """The content that a batch's run asked."""
    try:
        row = entries.one(context.store, batch_id) if batch_id else None
    except NotFound:
        return None
    run = entries.runs(context.store, [row.run_num]).get(row.run_num) if row and row.run_num else None
    source = run.cell.source if run else None
    return source.content if isinstance(source, BatchRef) else None


def path_of(context: Context, row: FileRow) -> Path | None:
    """Where the bytes of a file of requests lie; None for a file that is written. Raises: NotFound."""
    if row.sha256 is None:
        return None
    try:
        copies.fetch(context.store, context.settings, row.filename, row.sha256)
    except DataMissing:
        pass
    path = shelf.here(context.settings, row.sha256)
    if path is None:
        raise NotFound(f"The bytes of {row.id} are not on this machine")
    return path


def written(context: Context, row: FileRow) -> Iterator[bytes]:
    """The lines of a file that a batch's run is written as. Raises: NotFound."""
    batch = entries.one(context.store, row.batch_id or "")
    return openai_output.part(context, batch, "error" if row.part == "error" else "output")


def document(row: FileRow) -> dict[str, Any]:
    """As the API tells it, with every documented field."""
    return {
        "id": row.id,
        "object": "file",
        "bytes": row.bytes,
        "created_at": int(row.created_at),
        "expires_at": None if row.expires_at is None else int(row.expires_at),
        "filename": row.filename,
        "purpose": row.purpose,
        "status": "processed",
        "status_details": None,
    }
