"""A run's log, on the machine that does its work: for its owner alone, since errors may quote prompts and replies."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from proctor.errors import printable

TAIL_BYTES = 64_000


def path(home: Path, run_id: str) -> Path:
    """Where it is, or would be."""
    return home / "logs" / f"{run_id}.log"


def waits_path(home: Path, run_id: str) -> Path:
    """Where the run's process says what it waits for."""
    return path(home, run_id).with_suffix(".waits")


def where(run_id: str) -> str:
    """The same in words, for people; the path of PROCTOR_HOME itself is nobody's business."""
    return f"its log is logs/{run_id}.log in PROCTOR_HOME"


def opened(home: Path, run_id: str) -> int:
    """A file descriptor that writes at its end. Raises OSError."""
    log = path(home, run_id)
    log.parent.mkdir(parents=True, exist_ok=True)
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)


def say(home: Path, run_id: str, text: str) -> None:
    """A line with the time; further lines of the text stand in from it, so that none passes for an entry.

    A full disk swallows it: it must not hide what is being told.
    """
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    entry = printable(text).replace("\n", "\n  ")
    with suppress(OSError), open(opened(home, run_id), "a", encoding="utf-8") as log:
        log.write(f"{at} {entry}\n")


def tail(home: Path, run_id: str) -> str | None:
    """The last TAIL_BYTES; None if this machine has no log of the run."""
    try:
        with path(home, run_id).open("rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - TAIL_BYTES))
            return log.read().decode("utf-8", "replace")
    except OSError:
        return None


def remove(home: Path, run_ids: Iterable[str]) -> None:
    """Those that this machine has."""
    for run_id in run_ids:
        path(home, run_id).unlink(missing_ok=True)
        waits_path(home, run_id).unlink(missing_ok=True)
