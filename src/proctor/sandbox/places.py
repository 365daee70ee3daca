"""The folders of boxes: each tells its owner, and what a killed owner left is found and taken away.

boxes/box-XXXX/owner.json   who made it (process, when it began), and its control groups
boxes/box-XXXX/lock         held by a living owner (flock), so that it is known whether it lives, whatever its id
boxes/box-XXXX/disk, root   where its file systems are mounted
boxes/box-XXXX/runs/N       how the N-th command was begun
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.sandbox.cgroups import remove
from proctor.sandbox.mounts import unmount

MOUNTED = ("root", "disk")
PREFIXES = ("box-", "local-")
MOMENT_S, STEP_S = 2.0, 0.01  # how long those who are ending are waited for, and how often is looked


@dataclass(slots=True)
class BoxPlace:
    """The folder of one box of this process, until it is given up."""

    folder: Path
    lock: int  # a descriptor

    def owns(self, groups: Iterable[Path]) -> None:
        """Write down what is about to be made, before it is made."""
        told = {"pid": os.getpid(), "began": _began(), "groups": [str(each) for each in groups]}
        (self.folder / "owner.json").write_text(json.dumps(told))

    def leave(self) -> None:
        """Unmount and delete everything. Nothing may run in it any more."""
        _clear(self.folder)
        if self.lock >= 0:
            os.close(self.lock)
            self.lock = -1


def new_place(boxes: Path, prefix: str) -> BoxPlace:
    """A folder of this process alone, mode 0700. Raises: OSError."""
    boxes.mkdir(parents=True, exist_ok=True)
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=boxes))
        with suppress(FileNotFoundError):  # taken for a dead one's before it was locked
            fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(fd, fcntl.LOCK_EX)
            if folder.is_dir() and (folder / "lock").exists():
                return BoxPlace(folder, fd)
            os.close(fd)


def sweep(boxes: Path) -> list[str]:
    """Take away what dead owners left: processes, mounts, groups, folders. Gives the names of these boxes.

    The boxes of the living are not touched, whichever process they belong to.
    """
    found = []
    for folder in (each for prefix in PREFIXES for each in boxes.glob(f"{prefix}*")):
        lock = _free(folder)
        if lock is None:
            continue
        remove(_groups(folder))
        latest = time.monotonic() + MOMENT_S
        _clear(folder)
        while folder.exists() and time.monotonic() < latest:  # somebody who is ending still holds it
            time.sleep(STEP_S)
            _clear(folder)
        os.close(lock)
        found.append(folder.name)
    return found


def _free(folder: Path) -> int | None:
    """The lock of a folder whose owner is dead; None where it lives.

    A process that a killed owner was just beginning still shares its lock for a moment, which is waited for.
    """
    try:
        fd = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    latest = time.monotonic() + MOMENT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            if _owner_lives(folder) or time.monotonic() > latest:
                os.close(fd)
                return None
            time.sleep(STEP_S)
        else:
            return fd


def _owner_lives(folder: Path) -> bool:
    """By its process and when that began; True where it is not told."""
    try:
        told = json.loads((folder / "owner.json").read_bytes())
        state = Path(f"/proc/{int(told['pid'])}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return not (folder / "owner.json").exists()
    except (OSError, ValueError, KeyError, TypeError):
        return True
    return state[0] != "Z" and int(state[19]) == told.get("began")


def _groups(folder: Path) -> list[Path]:
    try:
        return [Path(each) for each in json.loads((folder / "owner.json").read_bytes())["groups"]]
    except (OSError, ValueError, KeyError):
        return []


def _clear(folder: Path) -> None:
    for name in MOUNTED:
        while unmount(folder / name):
            """Until nothing is mounted there any more."""
    if not any(os.path.ismount(folder / name) for name in MOUNTED):
        shutil.rmtree(folder, ignore_errors=True)


def _began() -> int:
    """When this process began, in clock ticks since the machine did (proc(5), /proc/PID/stat)."""
    return int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
