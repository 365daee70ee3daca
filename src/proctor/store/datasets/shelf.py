"""Files of requests on the disk, by the hash of their bytes: PROCTOR_HOME/data/datasets/<sha256>, each kept once.

What is on its way lies beside them under a name that begins with a dot, locked by whoever writes it: what nobody holds
any more was left by a process that died, and is swept away. Rows name the files, so that a file is kept and its row
added, or a row deleted and its file dropped, by one process of this machine at a time.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import func, select

from proctor.errors import DiskFull
from proctor.settings import MB, Settings
from proctor.store.core.batch_tables import BATCH_FILE
from proctor.store.core.schema import Database
from proctor.store.core.tables import DATASET

ON_ITS_WAY = ".arriving-"
LOCK = ".lock"
OWNER_ALONE = 0o600


def folder(settings: Settings) -> Path:
    """Where the files lie; its owner's alone."""
    path = settings.home / "data" / "datasets"
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def place(settings: Settings, sha256: str) -> Path:
    """Where a file lies, if it is on this machine."""
    return settings.home / "data" / "datasets" / sha256


def copy_place(settings: Settings, sha256: str) -> Path:
    """Where a copy lies of a file that another machine took."""
    return settings.home / "cache" / "requests" / sha256


def shared_name(sha256: str) -> str:
    """What a file is called where machines share them."""
    return f"requests/{sha256}"


def here(settings: Settings, sha256: str) -> Path | None:
    """The file on this machine, or its copy; None where it has neither."""
    places = (place(settings, sha256), copy_place(settings, sha256))
    return next((path for path in places if path.is_file()), None)


@dataclass(slots=True)
class Arrival:
    """A file that is being written: hashed as it comes, gone at the end of its block unless it was kept."""

    path: Path
    file: BinaryIO
    size: int = 0
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    @property
    def sha256(self) -> str:
        return self.digest.hexdigest()

    def write(self, piece: bytes) -> None:
        """Raises: DiskFull."""
        with _in_words(self.path):
            self.file.write(piece)
        self.digest.update(piece)
        self.size += len(piece)

    def settle(self) -> None:
        """All of it is on the disk. Raises: DiskFull."""
        with _in_words(self.path):
            self.file.flush()
            os.fsync(self.file.fileno())


@contextmanager
def arriving(settings: Settings) -> Iterator[Arrival]:
    """Room for a file that comes, after what dead processes left was swept. Raises: DiskFull."""
    with _in_words(settings.home):
        sweep(settings)
        path = folder(settings) / f"{ON_ITS_WAY}{secrets.token_hex(8)}"
        handle = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, OWNER_ALONE)
    with os.fdopen(handle, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield Arrival(path, file)
        finally:
            path.unlink(missing_ok=True)


def sweep(settings: Settings) -> None:
    """Delete what processes that have died left on its way."""
    for path in folder(settings).glob(f"{ON_ITS_WAY}*"):
        with suppress(OSError), path.open("rb") as left:
            fcntl.flock(left, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)


@contextmanager
def held(settings: Settings) -> Iterator[None]:
    """Nobody else of this machine keeps or drops a file meanwhile."""
    with (folder(settings) / LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def keep(arrived: Path, settings: Settings, sha256: str) -> bool:
    """Give a file that came whole its place by its content; False where the same is there already.

    Called while the shelf is `held`, so that its row is added before anybody else looks. Raises: DiskFull.
    """
    kept = place(settings, sha256)
    if kept.is_file() and kept.stat().st_size == arrived.stat().st_size:
        return False
    with _in_words(kept):
        arrived.replace(kept)
        handle = os.open(kept.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    return True


def drop(store: Database, settings: Settings, sha256: str) -> bool:
    """Delete a file here that no project names any more; False: one does. Called while the shelf is `held`."""
    if _named(store, sha256):
        return False
    place(settings, sha256).unlink(missing_ok=True)
    copy_place(settings, sha256).unlink(missing_ok=True)
    return True


def drop_copies(store: Database, settings: Settings) -> None:
    """Delete the copies of files that no row names any more."""
    for copy in copy_place(settings, "x").parent.glob("[0-9a-f]*"):
        if not _named(store, copy.name):
            copy.unlink(missing_ok=True)


def _named(store: Database, sha256: str) -> bool:
    with store.whole.reading() as connection:
        used = [
            connection.execute(select(func.count()).where(column == sha256)).scalar_one()
            for column in (DATASET.c.content, BATCH_FILE.c.sha256)
        ]
    return any(used)


def check_room(settings: Settings, coming: int) -> None:
    """Raises: DiskFull where so many bytes would leave less free than PROCTOR_DISK_FREE_MB."""
    found = os.statvfs(folder(settings))
    free = found.f_bavail * found.f_frsize
    if free - coming < settings.least_disk_bytes:
        raise DiskFull(
            f"The disk of {settings.home} has {free // MB:,} MB free; {coming // MB:,} MB would come, and "
            f"{settings.least_disk_bytes // MB:,} MB must stay free (PROCTOR_DISK_FREE_MB)"
        )


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise DiskFull(f"No room is left on the disk of {path.parent}; what had come is deleted") from error
