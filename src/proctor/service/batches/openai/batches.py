"""Batches of OpenAI's API: made, shown, cancelled. What takes them further is in openai_steps.py."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.errors import Conflict, NotFound, QueueFull
from proctor.service.batches.openai import files as openai_files
from proctor.service.batches.openai.parameters import bad_parameter
from proctor.service.context import Context
from proctor.service.runs import queue
from proctor.store.batches import entries, files
from proctor.store.batches.entries import BatchRow
from proctor.types import Run

ENDPOINTS = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/embeddings",
    "/v1/responses",
    "/v1/moderations",
    "/v1/images/generations",
    "/v1/images/edits",
    "/v1/videos",
)
MOST_PAIRS, KEY_CHARS, VALUE_CHARS = 16, 64, 512
TIMES = (
    "in_progress_at",
    "expires_at",
    "finalizing_at",
    "completed_at",
    "failed_at",
    "expired_at",
    "cancelling_at",
    "cancelled_at",
)
# From the last that can be written to the first: the first of these that has a time is the status.
STATUSES = ("cancelled", "expired", "failed", "completed", "cancelling", "finalizing", "in_progress")


@dataclass(frozen=True, slots=True)
class NewBatch:
    """What somebody wants done with a file, in the API's words."""

    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: Mapping[str, str] | None = None
    output_expires_s: int | None = None


@dataclass(frozen=True, slots=True)
class BatchState:
    """A batch, and how far its run is."""

    row: BatchRow
    completed: int
    failed: int

    @property
    def status(self) -> str:
        return status_of(self.row)


def create(context: Context, project_id: int, new: NewBatch, *, user: str) -> BatchState:
    """Take a batch down; it is checked and run in the background. Raises: ConfigError, NotFound, QueueFull."""
    window_s = _checked(context, new)
    if entries.unchecked(context.store, user) >= context.settings.most_queued:
        most = context.settings.most_queued
        raise QueueFull(f"{user} has {most} batches waiting to be checked, and no more may wait at once")
    now = time.time()
    row = BatchRow(
        id=f"batch_{secrets.token_hex(16)}",
        project_id=project_id,
        endpoint=new.endpoint,
        input_file_id=new.input_file_id,
        completion_window=new.completion_window,
        user=user,
        created_at=now,
        expires_at=now + window_s,
        metadata=None if new.metadata is None else orjson.dumps(dict(new.metadata)).decode(),
        output_expires_s=new.output_expires_s,
    )
    return BatchState(entries.add(context.store, row), 0, 0)


def _checked(context: Context, new: NewBatch) -> float:
    """How long the window is, in seconds. Raises: ConfigError."""
    windows = dict(context.settings.batch_windows)
    if new.completion_window not in windows:
        told = f"Invalid completion_window: choose from {', '.join(windows)}"
        raise bad_parameter(told, "completion_window", "invalid_value")
    if new.endpoint not in ENDPOINTS:
        raise bad_parameter(
            f"Invalid endpoint: choose from {', '.join(ENDPOINTS)}", "endpoint", "invalid_value"
        )
    _check_metadata(new.metadata or {})
    try:
        row = files.one(context.store, new.input_file_id, now=time.time())
    except NotFound as error:
        raise bad_parameter(str(error), "input_file_id", "not_found") from None
    if row.purpose != openai_files.PURPOSE:
        told = f"The file {row.id} has the purpose {row.purpose!r}, and a batch's file has 'batch'"
        raise bad_parameter(told, "input_file_id", "invalid_value")
    return windows[new.completion_window]


def _check_metadata(pairs: Mapping[str, str]) -> None:
    if len(pairs) > MOST_PAIRS:
        raise bad_parameter(f"metadata: give up to {MOST_PAIRS} pairs", "metadata")
    for key, value in pairs.items():
        if len(key) > KEY_CHARS or len(value) > VALUE_CHARS:
            told = f"metadata: keys have up to {KEY_CHARS} characters, values up to {VALUE_CHARS}"
            raise bad_parameter(told, "metadata")


def one(context: Context, ident: str) -> BatchState:
    """Raises: NotFound."""
    (found,) = _counted(context, [entries.one(context.store, ident)])
    return found


def listed(context: Context, *, after: str | None, limit: int) -> tuple[list[BatchState], bool]:
    """A page of batches, newest first, and whether there are more. Raises: NotFound for an `after` that is none."""
    rows, more = entries.listed(context.store, after=after, limit=limit)
    return _counted(context, rows), more


def cancel(context: Context, ident: str) -> BatchState:
    """Have a batch end; what was answered by then is kept. Raises: NotFound, Conflict if it has ended."""
    row = entries.one(context.store, ident)
    told = {"cancelling_at": row.cancelling_at or time.time()}
    if not entries.change(context.store, ident, told):
        raise Conflict(f"Cannot cancel a batch with status '{status_of(entries.one(context.store, ident))}'.")
    run = _runs(context, [row]).get(row.run_num or 0)
    if run is not None:
        stop(context, run)
    return one(context, ident)


def stop(context: Context, run: Run) -> None:
    """Ask a batch's run to end, as whoever cancels a job does."""
    try:
        queue.cancel(context, run.id)
    except Conflict:
        return  # it has just ended by itself


def _runs(context: Context, rows: Sequence[BatchRow]) -> dict[int, Run]:
    return entries.runs(context.store, [row.run_num for row in rows if row.run_num is not None])


def _counted(context: Context, rows: Sequence[BatchRow]) -> list[BatchState]:
    """With what was counted when it ended, or what its run shows just now."""
    runs = _runs(context, [row for row in rows if row.completed is None])
    found = []
    for row in rows:
        run = runs.get(row.run_num or 0)
        if run is not None:
            found.append(BatchState(row, run.settled, entries.refused(context.store, run.id)))
        else:
            found.append(BatchState(row, row.completed or 0, row.failed or 0))
    return found


def status_of(row: BatchRow) -> str:
    """The API's word for where a batch is.

    >>> status_of(BatchRow("batch_1", 1, "/v1/embeddings", "file-1", "24h", "ann", 0.0, 9.0, in_progress_at=1.0))
    'in_progress'
    """
    reached = (name for name in STATUSES if getattr(row, f"{name}_at") is not None)
    return next(reached, "validating")


def document(batch: BatchState) -> dict[str, Any]:
    """As the API tells it, with every documented field."""
    row = batch.row
    times = {name: getattr(row, name) for name in TIMES}
    return {
        "id": row.id,
        "object": "batch",
        "endpoint": row.endpoint,
        "model": row.model,
        "errors": None if row.errors is None else {"object": "list", "data": orjson.loads(row.errors)},
        "input_file_id": row.input_file_id,
        "completion_window": row.completion_window,
        "status": batch.status,
        "output_file_id": row.output_file_id,
        "error_file_id": row.error_file_id,
        "created_at": int(row.created_at),
        **{name: None if at is None else int(at) for name, at in times.items()},
        "request_counts": {"total": row.total, "completed": batch.completed, "failed": batch.failed},
        "usage": None if row.usage is None else orjson.loads(row.usage),
        "metadata": None if row.metadata is None else orjson.loads(row.metadata),
    }
