"""`proctor restore`: a backup becomes this machine's store and files, checked before anything is touched.

Everything is unpacked into a hidden folder of PROCTOR_HOME first, each sum compared; then the files are moved to their
places, and the database comes last: a store whose files are missing is never seen.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, Any

import orjson
import zstandard

from proctor.errors import Conflict, DataError, StoreError
from proctor.service.admin.backup import (
    ASIDE,
    DATABASE,
    FORMAT,
    HEAD,
    HOME,
    SUMS,
    database_file,
    kept_files,
    leads_out,
    sum_line,
)
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.admin import snapshot

CHUNK_BYTES = 1 << 20
STAGE = ".proctor-restore-"

Keep = Callable[[tarfile.TarInfo, Iterator[bytes]], None]


@dataclass(frozen=True, slots=True)
class BackupTold:
    """What a backup says of itself: `schema` is the store's version, `made_at` a Unix time, `rows` are by table."""

    proctor: str
    schema: str
    made_at: float
    rows: Mapping[str, int]
    files: int


def check_backup(path: Path) -> BackupTold:
    """Read a backup through and compare every sum. Raises DataError for a damaged one, or one of a newer format."""

    def look(_entry: tarfile.TarInfo, pieces: Iterator[bytes]) -> None:
        for _ in pieces:
            pass

    return _read(path, look)


def restore(settings: Settings, path: Path, *, replace: bool = False) -> BackupTold:
    """Make a backup the store and the files of these settings, on whichever database they name.

    What is there already is refused. With `replace`, files and a SQLite database go into a folder
    `before-restore-...` of PROCTOR_HOME, and a PostgreSQL database is emptied in the transaction that fills it.
    Raises Conflict, DataError, StoreError.
    """
    home = settings.home
    _check_home(settings, replace)
    _check_database(settings, replace)
    aside = home / time.strftime(f"{ASIDE}%Y%m%dT%H%M%SZ", time.gmtime())
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _staging(home) as stage:
            (stage / HOME).mkdir()
            unpacking = _Unpacking(stage)
            told = _read(path, unpacking.keep)
            unpacking.link()
            snapshot.open_snapshot(stage / DATABASE)
            _move(settings, stage, aside)
            _fill(settings, stage / DATABASE, aside, replace)
    except OSError as error:
        raise StoreError(f"{error.filename or home}: {error.strerror or error}") from error
    return told


# Reading -----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """A backup as it is read: every member is handed to `keep`, but for the two that speak of the others."""

    path: Path
    keep: Keep
    sums: dict[str, str] = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)
    listed: bytes | None = None  # the last member: the sums of all others

    def take(self, tar: tarfile.TarFile, entry: tarfile.TarInfo) -> None:
        _check_name(self.path, entry)
        digest = hashlib.sha256()
        if entry.name == SUMS:
            self.listed = b"".join(_pieces(tar, entry, digest))
            return
        if entry.name == HEAD:
            self.head = _about(self.path, b"".join(_pieces(tar, entry, digest)))
        else:
            self.keep(entry, _pieces(tar, entry, digest))
        if entry.isreg():
            self.sums[entry.name] = digest.hexdigest()


def _read(path: Path, keep: Keep) -> BackupTold:
    """Hand every member to `keep`, and compare its sum with that in the list."""
    reading = _Reading(path, keep)
    try:
        with _opened(path) as tar:
            for entry in tar:
                reading.take(tar, entry)
    except (tarfile.TarError, zstandard.ZstdError, EOFError) as error:
        raise DataError(f"{path}: no backup of proctor, or a damaged one ({error})") from None
    except OSError as error:
        if error.filename is not None and Path(error.filename) == path:
            raise DataError(f"{path}: {error.strerror}. Name a file that `proctor backup` wrote") from None
        raise
    _compare(path, reading.sums, reading.listed)
    head, files = reading.head, sum(name.startswith(HOME) for name in reading.sums)
    return BackupTold(head["proctor"], head["schema"], head["made_at"], head["rows"], files)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    with (
        path.open("rb") as raw,
        zstandard.ZstdDecompressor().stream_reader(raw) as plain,
        tarfile.open(fileobj=plain, mode="r|") as tar,
    ):
        yield tar


def _pieces(tar: tarfile.TarFile, entry: tarfile.TarInfo, digest: Any) -> Iterator[bytes]:
    source: IO[bytes] | None = tar.extractfile(entry) if entry.isreg() else None
    while source is not None and (piece := source.read(CHUNK_BYTES)):
        digest.update(piece)
        yield piece


def _check_name(path: Path, entry: tarfile.TarInfo) -> None:
    parts = entry.name.split("/")
    known = entry.name in (HEAD, DATABASE, SUMS) or (entry.name.startswith(HOME) and len(parts) > 1)
    kind = entry.isreg() or (known and entry.name.startswith(HOME) and (entry.isdir() or entry.issym()))
    if not known or not kind or {"", ".", ".."} & set(parts) or "\0" in entry.name:
        raise DataError(f"{path}: {entry.name!r} is nothing that a backup holds; nothing was restored")


def _about(path: Path, content: bytes) -> dict[str, Any]:
    try:
        head = orjson.loads(content)
        kinds = {"format": int, "proctor": str, "schema": str, "made_at": float, "rows": dict}
        if not all(isinstance(head[name], kind) for name, kind in kinds.items()):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{path}: its {HEAD} cannot be read") from None
    if head["format"] > FORMAT:
        raise DataError(
            f"{path}: a backup of format {head['format']}, by proctor {head['proctor']}; this version reads up to "
            f"format {FORMAT}. Install that version"
        )
    return dict(head)


def _compare(path: Path, sums: Mapping[str, str], listed: bytes | None) -> None:
    if listed is None or not {HEAD, DATABASE} <= sums.keys():
        raise DataError(f"{path}: the end of it is missing; copy the file again")
    lines = set(listed.splitlines(keepends=True))
    wrong = [name for name, digest in sums.items() if sum_line(name, digest) not in lines]
    if wrong or len(lines) != len(sums):
        what = f"{wrong[0]!r} is" if wrong else "its members are"
        raise DataError(f"{path}: {what} not what {SUMS} says; nothing was restored")


# Writing -----------------------------------------------------------------------------------------


@contextmanager
def _staging(home: Path) -> Iterator[Path]:
    for left in home.glob(f"{STAGE}*"):
        shutil.rmtree(left, ignore_errors=True)
    stage = Path(tempfile.mkdtemp(prefix=STAGE, dir=home))
    try:
        yield stage
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@dataclass(slots=True)
class _Unpacking:
    """Members on their way to the disk. Links come last, so that nothing is written through one."""

    stage: Path
    links: dict[str, str] = field(default_factory=dict)

    def keep(self, entry: tarfile.TarInfo, pieces: Iterator[bytes]) -> None:
        place = self.stage / entry.name
        if entry.issym():
            self.links[entry.name] = entry.linkname
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.isdir():
            place.mkdir(exist_ok=True)
            place.chmod(entry.mode & 0o777 | 0o700)
            return
        with place.open("xb") as file:
            for piece in pieces:
                file.write(piece)
        place.chmod(entry.mode & 0o777)
        os.utime(place, (entry.mtime, entry.mtime))

    def link(self) -> None:
        """Raises DataError for a link that leads out of PROCTOR_HOME, by whatever way."""
        for name, target in self.links.items():
            above = {str(each) for each in PurePosixPath(name).parents}
            place = self.stage / name
            if above & self.links.keys() or place.exists():
                raise DataError(f"{name!r} in the backup lies within a link; nothing was restored")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        for name in self.links:
            if leads_out(self.stage / name, self.stage / HOME):
                raise DataError(f"{name!r} in the backup leads out of PROCTOR_HOME; nothing was restored")


def _check_home(settings: Settings, replace: bool) -> None:
    there = next((name for name, _ in kept_files(settings)), None)
    if there is not None and not replace:
        raise Conflict(
            f"{settings.home} is not empty ({there} is there): name an empty PROCTOR_HOME, or give --replace, which "
            f"puts what is there into {settings.home}/{ASIDE}..."
        )


def _check_database(settings: Settings, replace: bool) -> None:
    """Raises Conflict if it holds anything, or, where that may go, if anybody has it open."""
    file = database_file(settings)
    if file is not None and not file.exists():
        return
    with closing(Store.open(settings.database_url)) as store:
        told = snapshot.used(store)
        if told is not None and not replace:
            raise Conflict(f"{told}: name an empty one in PROCTOR_DATABASE_URL, or give --replace")
        if file is not None:
            snapshot.plain_journal(store)


def _move(settings: Settings, stage: Path, aside: Path) -> None:
    """The files to their places; what was there goes aside."""
    for name in {name.partition("/")[0] for name, _ in kept_files(settings)}:
        aside.mkdir(exist_ok=True)
        (settings.home / name).rename(aside / name)
    for entry in (stage / HOME).glob("*"):
        entry.rename(settings.home / entry.name)


def _fill(settings: Settings, staged: Path, aside: Path, replace: bool) -> None:
    file = database_file(settings)
    if file is None:
        with closing(Store.open(settings.database_url)) as store:
            snapshot.read_snapshot(staged, store, replace=replace)
        return
    snapshot.settle(staged)
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists():
        aside.mkdir(exist_ok=True)
        shutil.move(file, aside / file.name)
    beside = file.with_name(
        f".{file.name}.restored"
    )  # on its own disk, which need not be that of PROCTOR_HOME
    shutil.move(staged, beside)
    beside.replace(file)
