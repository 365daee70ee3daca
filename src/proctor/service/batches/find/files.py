"""The files by which rows of ended batches are found quickly: made when somebody first looks, by a process of its own.

They are views of the store, below PROCTOR_HOME/cache/batches: what is gone, or older than the run's end, is made anew.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import DiskFull, StoreError
from proctor.service.context import Context
from proctor.settings import Settings
from proctor.store.read.batches import columns as batch_columns
from proctor.store.read.batches import rows as batch_rows
from proctor.store.read.batches import words as batch_words
from proctor.store.read.batches.columns import BatchColumns
from proctor.store.read.batches.files import columns_path, folder, lock_path, words_path
from proctor.types import Run

FEW = 5_000  # rows of which the files are made at once, by whoever looks


@dataclass(frozen=True, slots=True)
class SearchFiles:
    """What is there of an ended run: its columns, and the index of its words."""

    columns: BatchColumns | None
    words: Path | None


def files_of(context: Context, run: Run) -> SearchFiles:
    """What is there by now. What is missing of an ended run is begun to be made; a run at work has none."""
    if run.finished_at is None:
        return SearchFiles(None, None)
    found = _there(context.settings, run)
    if found.columns is not None and found.words is not None:
        return found
    if run.planned <= FEW:
        build(context, run.id)
        return _there(context.settings, run)
    _have_built(context.settings, run)
    return found


def _there(settings: Settings, run: Run) -> SearchFiles:
    stamp = run.finished_at or 0.0
    words = words_path(settings.home, run.id)
    return SearchFiles(
        batch_columns.saved(columns_path(settings.home, run.id), stamp),
        words if batch_words.is_built(words, stamp) else None,
    )


def build(context: Context, run_id: str) -> bool:
    """Make the files of an ended run; False if somebody else does just now. Raises StoreError, NotFound."""
    run, settings = context.store.run(run_id), context.settings
    try:
        folder(settings.home).mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_path(settings.home, run.id).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            _build(context, run)
            return True
    except OSError as error:
        kind = DiskFull if error.errno in (28, 122) else StoreError
        raise kind(f"The search files of run {run.id} cannot be written: {error.strerror}") from error


def _build(context: Context, run: Run) -> None:
    stamp, home = run.finished_at or 0.0, context.settings.home
    columns, words = columns_path(home, run.id), words_path(home, run.id)
    if batch_columns.saved(columns, stamp) is None:
        made = batch_columns.columns_of(batch_rows.narrow(context.store, run.id))
        batch_columns.save(made, columns, stamp)
    if not batch_words.is_built(words, stamp):
        batch_words.build(batch_rows.walk(context.store, run.id), words, stamp)


def _have_built(settings: Settings, run: Run) -> None:
    """Start a process that makes the files, unless one is at it: the server goes on answering meanwhile."""
    with suppress(OSError):
        folder(settings.home).mkdir(mode=0o700, parents=True, exist_ok=True)
        with lock_path(settings.home, run.id).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        environ = {
            **os.environ,
            "PROCTOR_HOME": str(settings.home),
            "PROCTOR_DATABASE_URL": settings.database_url,
        }
        command = [sys.executable, "-m", "proctor", "index-batch", run.id]
        _Builder(command, environ).start()


class _Builder:
    """A process that nobody waits for but a thread, so that it leaves no dead entry behind."""

    def __init__(self, command: list[str], environ: dict[str, str]) -> None:
        self._command, self._environ = command, environ

    def start(self) -> None:
        import threading

        process = subprocess.Popen(
            self._command,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=process.wait, name="index-batch", daemon=True).start()
