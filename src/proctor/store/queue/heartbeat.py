"""What this machine's workers last said of themselves: a small file a worker in PROCTOR_HOME, written every second."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import orjson

FOLDER = "workers"
FORGOTTEN_S = 86400.0  # so long after a worker's last sign its file goes
FRESH_S = 60.0


@dataclass(frozen=True, slots=True)
class Load:
    """What the processes of a job use: resident memory in bytes; processors, 1.0 is one wholly busy.

    `cores` is None until it has been measured twice.
    """

    memory_bytes: int
    cores: float | None


@dataclass(frozen=True, slots=True)
class WorkerSign:
    """`waits_for` says why the worker takes no run; `loads` are by run. `at` is the time of the sign (Unix)."""

    waits_for: str | None = None
    loads: Mapping[str, Load] = field(default_factory=dict)
    at: float = 0.0


def beat(home: Path, worker: str, sign: WorkerSign) -> None:
    """The worker of this name was here just now. A disk that is full or read-only must not end the worker."""
    place = home / FOLDER / f"{worker.replace(' ', '-')}.json"
    with suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.touch(mode=0o600)  # at least its time, should the disk be full
        fresh = place.with_suffix(".new")
        fresh.write_bytes(orjson.dumps(asdict(sign)))
        fresh.replace(place)


def tidy(home: Path, *, now: float) -> None:
    """Remove what workers have left that are long gone, but for the last of them."""
    files = sorted(_files(home), key=lambda entry: entry.stat().st_mtime)
    for entry in files[:-1]:
        if now - entry.stat().st_mtime > FORGOTTEN_S:
            Path(entry).unlink(missing_ok=True)


def signs(home: Path) -> list[WorkerSign]:
    """Of all workers of this machine, those that have ended too; the newest first."""
    found = []
    for entry in _files(home):
        with suppress(OSError):
            found.append(_read(Path(entry), entry.stat().st_mtime))
    return sorted(found, key=lambda sign: sign.at, reverse=True)


def _read(path: Path, at: float) -> WorkerSign:
    """Raises OSError. What a full disk left half written says no more than its time."""
    try:
        said = orjson.loads(path.read_bytes())
        loads = {run: Load(**load) for run, load in said["loads"].items()}
        return WorkerSign(said["waits_for"], loads, at)
    except (ValueError, KeyError, TypeError, AttributeError):
        return WorkerSign(at=at)


def _files(home: Path) -> Iterator[os.DirEntry[str]]:
    with suppress(OSError):
        yield from [entry for entry in os.scandir(home / FOLDER) if entry.name.endswith(".json")]
