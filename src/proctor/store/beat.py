"""A sign of life of this machine's workers: the time of a file in PROCTOR_HOME, and in it what they wait for."""

from __future__ import annotations

from pathlib import Path

FILE = "worker.alive"


def beat(home: Path, waits_for: str | None = None) -> None:
    """A worker was here just now. A disk that is full or read-only must not end the worker."""
    try:
        (home / FILE).write_text(waits_for or "")
    except OSError:
        return


def last_beat(home: Path) -> float | None:
    """When a worker of this machine last looked into the queue (Unix time); None if none ever did."""
    try:
        return (home / FILE).stat().st_mtime
    except OSError:
        return None


def waits_for(home: Path) -> str | None:
    """Why this machine's workers take no run, as they last said."""
    try:
        return (home / FILE).read_text() or None
    except OSError:
        return None
