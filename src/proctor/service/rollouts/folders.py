"""The folders of trials below PROCTOR_HOME/runs, read as what they are: written by agents that may mean harm.

No link is followed, only what the table names is read, and of it no more than is asked for.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

RUNS = "runs"
STATE = "state.json"
STATE_BYTES = 100_000
DONE = "done"  # the phase of a trial that has ended
TAIL_BYTES = 32_000
WHOLE_BYTES = 50_000_000  # of a file that is handed out

# What a trial's folder offers, by the name under which it is asked for.
FILES: Mapping[str, tuple[str, ...]] = {
    "diff.patch": ("artifacts", "diff.patch"),
    "notes.md": ("artifacts", "notes.md"),
    "repo_info.json": ("artifacts", "repo_info.json"),
    "evaluation_results.json": ("evaluation_results.json",),
    "scoring_results.md": ("scoring_results.md",),
    "eval.log": ("logs", "eval.log"),
    "agent.log": ("logs", "agent.log"),
    "calls.jsonl": ("logs", "calls.jsonl"),
}
LOGS = ("agent.log", "eval.log")


@dataclass(frozen=True, slots=True)
class LivePhase:
    """Where a trial at work is: the phase, since when in Unix seconds, and in which try."""

    phase: str
    since: float | None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of a log: its text, and how many bytes the whole has."""

    name: str
    text: str
    bytes: int

    @property
    def cut(self) -> bool:
        return self.bytes > TAIL_BYTES


@dataclass(frozen=True, slots=True)
class TrialFile:
    """A file that a trial's folder has, by the name under which it is asked for."""

    name: str
    bytes: int


def live_phase(home: Path, run_id: str) -> LivePhase | None:
    """Where a trial is that a process of this machine works on; None where none does."""
    told = _state(home, run_id)
    if not isinstance(phase := told.get("phase"), str):
        return None
    if phase == DONE or told.get("error") is not None:  # a try that broke keeps the phase in which it did
        return None
    since, number, pid = told.get("since"), told.get("try"), told.get("pid")
    if not isinstance(pid, int) or not _lives(pid):
        return None
    return LivePhase(
        phase,
        float(since) if isinstance(since, int | float) else None,
        number if isinstance(number, int) else None,
    )


def try_number(home: Path, run_id: str) -> int | None:
    """Which try the files of the folder are of, from 1; those before it are in `attempts`. None: that is not told."""
    number = _state(home, run_id).get("try")
    return number if isinstance(number, int) else None


def _state(home: Path, run_id: str) -> Mapping[str, object]:
    """What the trial's folder says of itself; empty where it says nothing that can be read."""
    try:
        told = orjson.loads(read(home, run_id, (STATE,), STATE_BYTES) or b"")
    except orjson.JSONDecodeError:
        return {}
    return told if isinstance(told, dict) else {}


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return pid > 0


def tails(home: Path, run_id: str) -> tuple[LogTail, ...]:
    """The ends of the trial's logs, of those that there are."""
    found = []
    for name in LOGS:
        with _opened(home, run_id, FILES[name]) as file:
            if file is None:
                continue
            size = os.fstat(file).st_size
            os.lseek(file, max(0, size - TAIL_BYTES), os.SEEK_SET)
            found.append(LogTail(name, _read(file, TAIL_BYTES).decode("utf-8", "replace"), size))
    return tuple(found)


def files(home: Path, run_id: str) -> tuple[TrialFile, ...]:
    """What there is of the files of the table."""
    found = []
    for name, parts in FILES.items():
        with _opened(home, run_id, parts) as file:
            if file is not None:
                found.append(TrialFile(name, os.fstat(file).st_size))
    return tuple(found)


def read(home: Path, run_id: str, parts: Sequence[str], most: int = WHOLE_BYTES) -> bytes | None:
    """The first `most` bytes of a file of the trial's folder; None where there is no such regular file."""
    with _opened(home, run_id, parts) as file:
        return None if file is None else _read(file, most)


def _read(file: int, most: int) -> bytes:
    found = bytearray()
    while len(found) < most and (piece := os.read(file, min(1 << 20, most - len(found)))):
        found += piece
    return bytes(found)


@contextmanager
def _opened(home: Path, run_id: str, parts: Sequence[str]) -> Iterator[int | None]:
    """A descriptor of a regular file below runs/RUN_ID, reached without following any link; None if there is none."""
    if not run_id or "/" in run_id or run_id.startswith("."):
        yield None
        return
    folder = file = None
    try:
        folder = os.open(home / RUNS, os.O_RDONLY | os.O_DIRECTORY)
        for part in (run_id, *parts[:-1]):
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = inner
        # Without waiting: a pipe in its place must not hold up whoever looks.
        file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        whole = file if stat.S_ISREG(os.fstat(file).st_mode) else None
    except (OSError, ValueError):
        whole = None
    try:
        yield whole
    finally:
        for each in (folder, file):
            if each is not None:
                os.close(each)
