"""Folders as one packed file each, for other machines: a tar packed by Zstandard, of regular files and links alone.

What is packed may have been written by agents that mean harm, and what is unpacked by whoever reaches the shared
address: no link is followed, no name leads out of the folder, and no more is unpacked than was bargained for.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tarfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

import zstandard

from proctor.errors import SharedError
from proctor.store.shared.contract import Shared

MOST_FILES = 100_000
MOST_BYTES = 4_000_000_000  # of a folder, unpacked
PIECE_BYTES = 2**20
PackedMember = tuple[tarfile.TarInfo, IO[bytes] | None]  # None: a link
ELSEWHERE = "the name of a file in it leads elsewhere, or is none"


def packed(folder: Path, into: Path, left_out: Callable[[str], bool] = lambda _name: False) -> str:
    """Write the files below a folder into one, without times and owners; the SHA-256 of it.

    `left_out` says of a path below the folder that it stays. Folders without files are left out, and so is what is
    neither a file nor a link. Raises: OSError.
    """
    with into.open("xb") as raw:
        with (
            zstandard.ZstdCompressor(level=3).stream_writer(raw, closefd=False) as out,
            tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar,
        ):
            for name in sorted(_names(folder)):
                if not left_out(name):
                    _add(tar, folder, name)
        raw.flush()
        os.fsync(raw.fileno())
    with into.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _names(folder: Path) -> Iterator[str]:
    for here, folders, names in os.walk(folder):
        linked = [name for name in folders if Path(here, name).is_symlink()]
        folders[:] = [name for name in folders if name not in linked]
        yield from (Path(here, name).relative_to(folder).as_posix() for name in (*names, *linked))


def _add(tar: tarfile.TarFile, folder: Path, name: str) -> None:
    path = folder / name
    told = tarfile.TarInfo(name)
    if path.is_symlink():
        told.type, told.linkname = tarfile.SYMTYPE, str(path.readlink())
        tar.addfile(told)
        return
    # Without waiting: a pipe in the place of a file must not hold up whoever packs.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISREG(found.st_mode):
            told.size, told.mode = found.st_size, 0o755 if found.st_mode & 0o100 else 0o644
            tar.addfile(told, file)


def fetched(shared: Shared, name: str, into: Path, sha256: str | None = None) -> None:
    """Fetch a shared file; one of another hash is refused, and nothing of it kept. Raises: SharedError, OSError."""
    digest = hashlib.sha256()
    with into.open("xb") as file:
        for piece in shared.pieces(name):
            file.write(piece)
            digest.update(piece)
    if sha256 is not None and digest.hexdigest() != sha256:
        into.unlink()
        raise SharedError(
            f"{shared.told}: what lies there as {name} is another file (SHA-256 {digest.hexdigest()[:12]}), or not "
            "all of it; nothing of it was kept. Delete it there"
        )


@contextmanager
def members(packed_file: Path) -> Iterator[Iterator[PackedMember]]:
    """Each file of a packed one with what it holds, and each link with nothing. Raises: SharedError for any other."""
    try:
        with (
            packed_file.open("rb") as raw,
            zstandard.ZstdDecompressor().stream_reader(raw, closefd=False) as plain,
            tarfile.open(fileobj=plain, mode="r|") as tar,
        ):
            yield _members(tar)
    except (tarfile.TarError, zstandard.ZstdError) as error:
        raise SharedError(
            f"{packed_file.name}: it is no packed folder ({error}); nothing was kept"
        ) from error


def _members(tar: tarfile.TarFile) -> Iterator[PackedMember]:
    size = count = 0
    for member in tar:
        size, count = size + max(0, member.size), count + 1
        if size > MOST_BYTES or count > MOST_FILES:
            raise SharedError(f"a packed folder is larger than {MOST_BYTES:,} bytes or {MOST_FILES:,} files")
        if not inside(member.name):
            raise SharedError(f"a packed folder is not unpacked: {ELSEWHERE}")
        if member.isfile():
            yield member, tar.extractfile(member)
        elif member.issym():
            yield member, None
        else:
            raise SharedError("a packed folder is not unpacked: it holds what is neither a file nor a link")


def inside(name: str) -> bool:
    """Whether a name is that of a file below a folder, and of nothing else."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts and "\0" not in name


def unpacked(packed_file: Path, into: Path) -> None:
    """Unpack the files below a new folder; links are left out, for nothing of ours reads through one.

    Raises: SharedError, OSError.
    """
    into.mkdir()
    with members(packed_file) as found:
        for member, body in found:
            if body is None:
                continue
            place = into / member.name
            place.parent.mkdir(parents=True, exist_ok=True)
            with place.open("xb") as file:
                copied(body, file)


def copied(body: IO[bytes], file: IO[bytes]) -> None:
    while piece := body.read(PIECE_BYTES):
        file.write(piece)
