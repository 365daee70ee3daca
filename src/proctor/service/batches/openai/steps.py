"""What takes a batch of OpenAI's API further: it is checked, its run submitted, its output counted, or it expires.

Each step is written by a statement that is guarded by the batch's row, and begins from what stands there: a server that
is killed goes on when it is started again, and several servers on one database do no harm.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from proctor.errors import Conflict, NotFound, ProctorError, QueueFull, StoreError
from proctor.references import BatchRef
from proctor.service.batches import registry
from proctor.service.batches.openai import files as openai_files
from proctor.service.batches.openai import output as openai_output
from proctor.service.batches.openai.batches import stop
from proctor.service.batches.openai.checking import checked
from proctor.service.batches.openai.output import Undone
from proctor.service.context import Context
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.service.watch.job_states import ENDED
from proctor.store.batches import entries, files
from proctor.store.batches.entries import BatchRow
from proctor.store.batches.files import FileRow
from proctor.types import Cell, Limits, Plan, Run, Sampling, Status

LOG = logging.getLogger(__name__)
LOOK_EVERY_S = 1.0  # while a batch is open; who asks for one has it looked at at once
IDLE_S = 10.0
SWEEP_EVERY_S = 60.0
PRIORITY = "normal"  # behind what people wait for
AS_WRITTEN = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)


@dataclass(slots=True)
class Keeper:
    """A thread of the server that takes open batches further between `start` and `close`."""

    context: Context
    _woken: threading.Event = field(default_factory=threading.Event)
    _over: bool = False
    _thread: threading.Thread | None = None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._keep, name="batches", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Somebody waits: look now."""
        self._woken.set()

    def close(self) -> None:
        """The thread ends after the step it is at; that is taken again by the next server if it takes too long."""
        self._over = True
        self._woken.set()
        if self._thread is not None:
            self._thread.join(LOOK_EVERY_S)

    def _keep(self) -> None:
        swept = 0.0
        while not self._over:
            self._woken.clear()
            busy = True
            try:
                busy = look(self.context, go_on=lambda: not self._over)
                if time.monotonic() - swept > SWEEP_EVERY_S:
                    swept = time.monotonic()
                    openai_files.sweep(self.context, now=time.time())
            except StoreError as error:
                if not self._over:
                    LOG.error("batches: %s", error)
            self._woken.wait(LOOK_EVERY_S if busy else IDLE_S)


def look(context: Context, *, go_on: Callable[[], bool] = lambda: True) -> bool:
    """Take every open batch a step further; whether one is still open. Raises: StoreError."""
    still = False
    for row in entries.open_ones(context.store):
        if not go_on():
            return True
        still = True
        try:
            forward(context, row, now=time.time())
        except StoreError:
            raise
        except OSError as error:
            LOG.error("batch %s: %s", row.id, error)  # of its file; the next look may fare better
        except ProctorError as error:
            LOG.error("batch %s: %s", row.id, error)
            _fail(context, row, [_fault(error.slug.replace("-", "_"), str(error))])
    return still


def forward(context: Context, row: BatchRow, *, now: float) -> None:
    """One step. Raises: ProctorError for what no further look will mend, StoreError for what one may."""
    if row.run_num is None:
        _begin(context, row, now)
        return
    run = entries.runs(context.store, [row.run_num]).get(row.run_num)
    if run is None:
        _fail(context, row, [_fault("run_deleted", "The run of this batch was deleted.")])
    elif run.status in ENDED:
        _finalize(context, row, run, now)
    elif row.cancelling_at is not None:
        stop(context, run)
    elif now >= row.expires_at:
        entries.change(context.store, row.id, {"finalizing_at": row.finalizing_at or now})
        stop(context, run)


# Validating --------------------------------------------------------------------------------------


def _begin(context: Context, row: BatchRow, now: float) -> None:
    """Check the file and hand a run to the queue; while that is full the batch waits where it is."""
    if row.in_progress_at is not None:
        _fail(context, row, [_fault("run_deleted", "The run of this batch was deleted.")])
    elif row.cancelling_at is not None:
        entries.change(context.store, row.id, {"cancelled_at": now, "completed": 0, "failed": 0})
    elif now >= row.expires_at:
        entries.change(context.store, row.id, {"expired_at": now, "completed": 0, "failed": 0})
    elif queue.has_room(context, row.user):
        _check(context, row)


def _check(context: Context, row: BatchRow) -> None:
    try:
        file = files.one(context.store, row.input_file_id, now=row.created_at)
        path = openai_files.path_of(context, file)
    except NotFound as error:
        _fail(context, row, [_fault("file_not_found", str(error), "input_file_id")])
        return
    assert path is not None  # only files of requests become batches
    source = BatchRef(file.filename, content=file.sha256, endpoint=row.endpoint)
    found = checked(context, path, source)
    if found.model is None:
        _fail(context, row, list(found.errors), total=found.total)
        return
    left_s = max(1.0, row.expires_at - time.time())
    cell = Cell(found.model, source, AS_WRITTEN, Limits(timeout_s=left_s))
    ticket = Ticket(row.user, row.project_id, PRIORITY)
    told = {"in_progress_at": time.time(), "model": str(found.model), "total": found.total}
    also = entries.linked(row.id, **told)
    try:
        queue.submit(context, Plan((cell,), name=row.id), ticket, also=also, longest_s=left_s)
        registry.remember(context, found.model)
    except (Conflict, QueueFull) as error:
        LOG.info("batch %s: %s", row.id, error)


def _fault(code: str, message: str, param: str | None = None, line: int | None = None) -> dict[str, Any]:
    return {"code": code, "message": message, "param": param, "line": line}


def _fail(context: Context, row: BatchRow, errors: list[dict[str, Any]], *, total: int = 0) -> None:
    told = orjson.dumps(errors).decode()
    known = {"total": row.total or total, "completed": row.completed or 0, "failed": row.failed or 0}
    entries.change(context.store, row.id, {"failed_at": time.time(), "errors": told, **known})


# Finalizing --------------------------------------------------------------------------------------


def _finalize(context: Context, row: BatchRow, run: Run, now: float) -> None:
    """Read what came of the run, and write down its two files and how the batch ended."""
    if row.finalizing_at is None:
        entries.change(context.store, row.id, {"finalizing_at": now})
    asked = run.settled + entries.refused(context.store, run.id)
    told, undone = _ending(row, run, asked, now)
    sums = openai_output.summed(context, run, undone)
    made = [_written(row, part, sums.bytes[part], now) for part in ("output", "error") if sums.bytes[part]]
    counted = {"completed": sums.completed, "failed": sums.failed, "usage": sums.usage()}
    idents = {f"{each.part}_file_id": each.id for each in made}
    if told.get("errors") is None and sums.undone and "failed_at" in told:
        told["errors"] = _why(run)
    entries.change(context.store, row.id, {**told, **counted, **idents}, made)


def _ending(row: BatchRow, run: Run, asked: int, now: float) -> tuple[dict[str, Any], Undone | None]:
    """How the batch ends, and what its requests that were not sent are told."""
    if row.cancelling_at is not None:
        return {"cancelled_at": now}, openai_output.CANCELLED
    if asked >= row.total:
        return {"completed_at": now}, None
    if now >= row.expires_at:
        return {"expired_at": now}, openai_output.EXPIRED
    if run.status is Status.CANCELLED:  # as a job, from elsewhere
        return {"cancelling_at": now, "cancelled_at": now}, openai_output.CANCELLED
    return {"failed_at": now}, openai_output.FAILED


def _why(run: Run) -> str:
    """Why a run ended before all of it was asked, as the API lists errors."""
    slug = (run.error_slug or "incomplete").replace("-", "_")
    return orjson.dumps([_fault(slug, run.error or run.stopped or "The run ended early.")]).decode()


def _written(row: BatchRow, part: str, size: int, now: float) -> FileRow:
    return FileRow(
        id=f"file-{secrets.token_hex(12)}",
        project_id=row.project_id,
        filename=f"{row.id}_{part}.jsonl",
        purpose=openai_files.WRITTEN,
        bytes=size,
        user=row.user,
        created_at=now,
        expires_at=None if row.output_expires_s is None else now + row.output_expires_s,
        batch_id=row.id,
        part=part,
    )
