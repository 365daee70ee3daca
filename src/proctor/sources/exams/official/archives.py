"""The files below a path that somebody wants imported: a file, a folder, or an archive, read in memory.

Nothing is unpacked to the disk, so a member's name can do no harm; odd names are left out all the same.
"""

from __future__ import annotations

import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from proctor.errors import DataError

# No known set has a larger file; a member that unpacks to more is an accident or an attack.
FILE_LIMIT_BYTES = 512 * 2**20
TAR_ENDINGS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
ARCHIVE_ENDINGS = (".zip", *TAR_ENDINGS)
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    EOFError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    OSError,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A file by the name that people see, such as "BoolQ.zip/BoolQ/val.jsonl"."""

    name: str
    size_bytes: int
    fetch: Callable[[], bytes]

    def read(self) -> bytes:
        """All of it. Raises: DataError when it is too large, damaged or may not be read."""
        if self.size_bytes > FILE_LIMIT_BYTES:
            raise DataError(f"{self.name}: larger than {FILE_LIMIT_BYTES // 2**20} MB; no known set is")
        try:
            body = self.fetch()
        except BROKEN as error:
            raise DataError(f"{self.name}: cannot be read ({error}); fetch the file again") from None
        if len(body) > FILE_LIMIT_BYTES:
            raise DataError(
                f"{self.name}: unpacks to more than {FILE_LIMIT_BYTES // 2**20} MB; no known set does"
            )
        return body


@dataclass(frozen=True, slots=True)
class ArchiveListing:
    """The files found, those left out with the reason, and those that are damaged."""

    entries: tuple[Member, ...]
    skipped: tuple[tuple[str, str], ...]
    failed: tuple[tuple[str, str], ...]
    folder: Path | None = None  # where a single file lies: its companions may lie beside it

    def beside(self, entry: Member, name: str) -> Member | None:
        """The file of that name in the same folder as the entry."""
        wanted = str(PurePosixPath(entry.name).with_name(name))
        for other in self.entries:
            if other.name == wanted:
                return other
        if self.folder is not None and (self.folder / name).is_file():
            return file_entry(self.folder / name, name)
        return None


Found = list[Member]
Reasons = list[tuple[str, str]]


@contextmanager
def listing(path: Path) -> Iterator[ArchiveListing]:
    """What lies at a path, in order of name; readable while the context lasts.

    Raises: DataError when there is nothing at the path.
    """
    if not path.exists():
        raise DataError(
            f"{path}: no such file or folder. Name the file, archive or folder that you downloaded."
        )
    entries: Found = []
    skipped: Reasons = []
    failed: Reasons = []
    with ExitStack() as stack:
        for name, file in sorted(walk(path)):
            if not name.lower().endswith(ARCHIVE_ENDINGS):
                entries.append(file_entry(file, name))
                continue
            prefix = "" if file == path else f"{name}/"
            try:
                members, odd = open_archive(file, prefix, stack)
            except BROKEN as error:
                failed.append((name, f"not a readable archive ({error}); fetch it again"))
                continue
            entries += members
            skipped += odd
        folder = path.parent if path.is_file() else None
        yield ArchiveListing(tuple(entries), tuple(skipped), tuple(failed), folder)


def walk(path: Path) -> Iterator[tuple[str, Path]]:
    """The files at or below a path with their names below it; hidden ones and links to folders left out."""
    if path.is_file():
        yield path.name, path
        return
    for folder, below, files in os.walk(path):
        below[:] = [name for name in below if not hidden(name)]
        for name in files:
            file = Path(folder) / name
            if not hidden(name) and file.is_file():
                yield file.relative_to(path).as_posix(), file


def hidden(name: str) -> bool:
    return name.startswith(".") or name == "__MACOSX"


def file_entry(path: Path, name: str) -> Member:
    return Member(name, path.stat().st_size, path.read_bytes)


def open_archive(path: Path, prefix: str, stack: ExitStack) -> tuple[Found, Reasons]:
    """The members of an archive that stays open until the stack is closed, and those left out."""
    opened = open_zip if path.name.lower().endswith(".zip") else open_tar
    entries: Found = []
    odd: Reasons = []
    for member in sorted(opened(path, stack), key=lambda entry: entry.name):
        parts = PurePosixPath(member.name.replace("\\", "/")).parts
        named = Member(f"{prefix}{member.name}", member.size_bytes, member.fetch)
        if not parts or ".." in parts or parts[0] == "/":
            odd.append((named.name, "its path leads out of the archive"))
        elif not any(hidden(part) for part in parts if part != "."):
            entries.append(named)
    return entries, odd


def open_zip(path: Path, stack: ExitStack) -> Iterator[Member]:
    archive = stack.enter_context(zipfile.ZipFile(path))
    for member in archive.infolist():
        if not member.is_dir():
            yield Member(member.filename, member.file_size, partial(read_zip, archive, member))


def read_zip(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    if member.flag_bits & 1:
        raise zipfile.BadZipFile("it is encrypted")
    with archive.open(member) as file:
        return file.read(FILE_LIMIT_BYTES + 1)


def open_tar(path: Path, stack: ExitStack) -> Iterator[Member]:
    archive = stack.enter_context(tarfile.open(path))  # noqa: SIM115 - the stack closes it
    for member in archive.getmembers():
        if member.isfile():
            yield Member(member.name, member.size, partial(read_tar, archive, member))


def read_tar(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    if file is None:
        raise tarfile.TarError("it is not a regular file")
    return file.read(FILE_LIMIT_BYTES + 1)
