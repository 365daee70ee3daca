"""`proctor backup`: everything that cannot be made again, in one file, while server and workers go on.

A backup is a tar file, packed by Zstandard: `backup.json`, what it is; `proctor.db`, the store as a SQLite file, from
whichever database; `home/...`, the files of PROCTOR_HOME; `SHA256SUMS`, the sum of each, last. See decision 46.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import shutil
import stat
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson
import zstandard

from proctor import __version__
from proctor.errors import ConfigError, Conflict
from proctor.service.context import Context
from proctor.settings import Settings
from proctor.store.admin.snapshot import write_snapshot
from proctor.store.core.schema import HEAD as SCHEMA

FORMAT = 1
HEAD, DATABASE, HOME, SUMS = "backup.json", "proctor.db", "home/", "SHA256SUMS"
MAKING = ".proctor-backup-"  # folders beside the file, in which it is made
ASIDE = "before-restore-"  # folders in PROCTOR_HOME of what a restore has replaced
# Folders of PROCTOR_HOME that are made again from the rest, or tell of processes: sandboxes' roots and boxes,
# what pages look things up in, which workers were seen.
MADE_AGAIN = frozenset({"boxes", "cache", "images", "workers"})
KEYS = "keys.env"
ENDING = ".tar.zst"  # as backups are called that lie in PROCTOR_HOME itself: none goes into the next
LEVEL = 3  # of Zstandard: replies are packed already


@dataclass(frozen=True, slots=True)
class BackedUp:
    """A backup that was written. `left_out` names what of PROCTOR_HOME is not in it."""

    path: Path
    sha256: str
    size_bytes: int
    rows: dict[str, int]  # by table, of the larger ones
    files: int
    left_out: tuple[str, ...]


def back_up(context: Context, path: Path, *, replace: bool = False) -> BackedUp:
    """Write a backup to `path`. Until it is whole, nothing stands there but what stood there before.

    Raises Conflict if there is a file already and `replace` does not say that it may go, ConfigError for a path that
    cannot be written, StoreError.
    """
    if path.exists() and not replace:
        raise Conflict(f"{path} is there already: name another file, or give --replace")
    try:
        with _making(path) as folder:
            rows = write_snapshot(context.store, folder / DATABASE)
            made = folder / "backup"
            files, left_out = _pack(made, folder / DATABASE, rows, context.settings)
            with made.open("rb") as packed:
                sha256 = hashlib.file_digest(packed, "sha256").hexdigest()
            size_bytes = made.stat().st_size
            made.replace(path)
    except OSError as error:
        where = error.filename or path
        raise ConfigError(f"{where}: {error.strerror or error}. No backup was written") from error
    return BackedUp(path, sha256, size_bytes, rows, files, left_out)


@contextmanager
def _making(path: Path) -> Iterator[Path]:
    """A folder beside the file, held by a lock: what a process left that was killed meanwhile is taken away."""
    for left in path.absolute().parent.glob(f"{MAKING}*"):
        with suppress(OSError), _held(left):
            shutil.rmtree(left)
    folder = Path(tempfile.mkdtemp(prefix=MAKING, dir=path.absolute().parent))
    with _held(folder):
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Raises BlockingIOError while another process holds it."""
    # A file of its own: to open a store in the folder takes the lock of the folder itself.
    handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


# What is packed ----------------------------------------------------------------------------------


def _pack(
    made: Path, database: Path, rows: dict[str, int], settings: Settings
) -> tuple[int, tuple[str, ...]]:
    about = {"format": FORMAT, "proctor": __version__, "schema": SCHEMA, "made_at": time.time(), "rows": rows}
    made.touch(0o600)
    with made.open("wb") as raw:
        packer = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True)
        with packer.stream_writer(raw, closefd=False) as out, tarfile.open(fileobj=out, mode="w|") as tar:
            packing = _Packing(tar, settings.home)
            packing.words(HEAD, orjson.dumps(about, option=orjson.OPT_INDENT_2))
            packing.file(DATABASE, database)
            for name, entry in kept_files(settings):
                packing.entry(HOME + name, entry)
            packing.words(SUMS, b"".join(packing.sums))
        raw.flush()
        os.fsync(raw.fileno())
    return packing.files, (*left_out(settings), *packing.odd)


@dataclass(slots=True)
class _Packing:
    """A tar file that is written, with the sums of what went into it."""

    tar: tarfile.TarFile
    home: Path
    sums: list[bytes] = field(default_factory=list)
    files: int = 0
    odd: list[str] = field(default_factory=list)  # what is neither file, folder nor a link to its like

    def words(self, name: str, content: bytes) -> None:
        told = tarfile.TarInfo(name)
        told.size, told.mode, told.mtime = len(content), 0o600, int(time.time())
        self._add(told, io.BytesIO(content))

    def file(self, name: str, path: Path) -> None:
        """As large as it is when it is opened: what grows is read up to there."""
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as source:
            found = os.fstat(source.fileno())
            told = tarfile.TarInfo(name)
            told.size, told.mode, told.mtime = found.st_size, stat.S_IMODE(found.st_mode), int(found.st_mtime)
            self._add(told, source)

    def entry(self, name: str, entry: os.DirEntry[str]) -> None:
        try:
            if entry.is_symlink():
                self._link(name, entry)
            elif entry.is_dir():
                told = tarfile.TarInfo(name)
                told.type, told.mode = tarfile.DIRTYPE, stat.S_IMODE(entry.stat().st_mode)
                self.tar.addfile(told)
            elif entry.is_file():
                self.file(name, Path(entry.path))
                self.files += 1
            else:
                self.odd.append(name)
        except FileNotFoundError:
            pass  # gone since its folder was listed: nobody needs it any more

    def _link(self, name: str, entry: os.DirEntry[str]) -> None:
        if leads_out(Path(entry.path), self.home):
            self.odd.append(name)
            return
        told = tarfile.TarInfo(name)
        told.type, told.linkname = tarfile.SYMTYPE, str(Path(entry.path).readlink())
        self.tar.addfile(told)

    def _add(self, told: tarfile.TarInfo, source: BinaryIO) -> None:
        hashing = _Hashing(source)
        self.tar.addfile(told, hashing)
        self.sums.append(sum_line(told.name, hashing.digest.hexdigest()))


def sum_line(name: str, digest: str) -> bytes:
    """As sha256sum writes and reads it: a name with a line end or a backslash is escaped, and marked."""
    plain = os.fsencode(name)
    escaped = plain.replace(b"\\", b"\\\\").replace(b"\n", b"\\n").replace(b"\r", b"\\r")
    return b"%b%b  %b\n" % (b"\\" if escaped != plain else b"", digest.encode(), escaped)


@dataclass(slots=True)
class _Hashing:
    """A file that is hashed as it is read."""

    source: BinaryIO
    digest: hashlib._Hash = field(default_factory=hashlib.sha256)

    def read(self, size: int = -1) -> bytes:
        piece = self.source.read(size)
        self.digest.update(piece)
        return piece


def leads_out(link: Path, home: Path) -> bool:
    """Whether a link leads out of a folder, by whatever way, or names a place from the root on."""
    return link.readlink().is_absolute() or not Path(os.path.realpath(link)).is_relative_to(home.resolve())


def kept_files(settings: Settings) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """What of PROCTOR_HOME belongs into a backup, folders before what is in them; names are relative to it."""
    for entry in _listed(settings.home):
        if not _stays(entry, settings):
            yield from _walked(entry)


def left_out(settings: Settings) -> Iterator[str]:
    """What of PROCTOR_HOME there is and is not in a backup, but for the database itself."""
    database = _database_files(settings)
    for entry in _listed(settings.home):
        if _stays(entry, settings) and entry.name not in database and not entry.name.startswith("."):
            yield entry.name


def _stays(entry: os.DirEntry[str], settings: Settings) -> bool:
    secret = entry.name == KEYS or Path(entry.path) == settings.keys_file
    made = entry.name in MADE_AGAIN or entry.name.startswith((".", ASIDE)) or entry.name.endswith(ENDING)
    return secret or made or entry.name in _database_files(settings)


def database_file(settings: Settings) -> Path | None:
    """The file of the database; None where that is PostgreSQL."""
    scheme, _, place = settings.database_url.partition("///")
    return Path(place).absolute() if scheme.startswith("sqlite") else None


def _database_files(settings: Settings) -> set[str]:
    file = database_file(settings)
    names = {"proctor.db", *([file.name] if file is not None and file.parent == settings.home else [])}
    return {f"{name}{ending}" for name in names for ending in ("", "-wal", "-shm", "-journal")}


def _walked(entry: os.DirEntry[str]) -> Iterator[tuple[str, os.DirEntry[str]]]:
    waiting = [("", entry)]
    while waiting:
        above, here = waiting.pop()
        yield above + here.name, here
        if here.is_dir(follow_symlinks=False):
            waiting += [(f"{above}{here.name}/", inner) for inner in reversed(_listed(Path(here.path)))]


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(folder), key=lambda entry: entry.name)
    except FileNotFoundError:
        return []
