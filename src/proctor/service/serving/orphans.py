"""What is left of a command whose keeper was killed as well: found by its record at the next start, and ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import orjson
import psutil

SAME_S = 0.02  # clocks of processes tick in hundredths of a second


@contextmanager
def noted(folder: Path, name: str, group: int) -> Iterator[None]:
    """A record of the group and of the process that holds it, for as long as the block lasts."""
    record = folder / f"{name}-{group}.json"
    record.write_bytes(orjson.dumps({"group": _mark(group), "owner": _mark(os.getpid())}))
    try:
        yield
    finally:
        record.unlink(missing_ok=True)


def end_orphans(folder: Path) -> None:
    """End the groups whose owner lives no more."""
    for record in sorted(folder.glob("*.json")):
        with suppress(OSError, orjson.JSONDecodeError, KeyError, TypeError):
            told = orjson.loads(record.read_bytes())
            if _lives(told["owner"]):
                continue
            if _is_ours(told["group"]):
                end_group(told["group"]["pid"])
            record.unlink()


def end_group(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _mark(pid: int) -> dict[str, float]:
    """What tells a process from a later one with its number: when it began, in Unix time."""
    try:
        return {"pid": pid, "began": psutil.Process(pid).create_time()}
    except psutil.Error:  # it has ended already
        return {"pid": pid, "began": 0.0}


def _same(mark: dict[str, float]) -> psutil.Process | None:
    """The process that the mark means, as long as the system knows it; one that ended and was not fetched too."""
    with suppress(psutil.Error):
        process = psutil.Process(int(mark["pid"]))
        if abs(float(process.create_time()) - mark["began"]) < SAME_S:
            return process
    return None


def _lives(mark: dict[str, float]) -> bool:
    process = _same(mark)
    try:
        return process is not None and bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _is_ours(mark: dict[str, float]) -> bool:
    """Whether the group is still that of the record: its leader, or what is left without one.

    While members of a group live, no new process gets its number; so a group without its leader is the old one.
    """
    return _same(mark) is not None or not psutil.pid_exists(int(mark["pid"]))
