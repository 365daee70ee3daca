"""Copying into a box whose files may be hostile: no link in it is followed, whoever changes it meanwhile."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from proctor.errors import SandboxError

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_ONCE = 1 << 24


def copy_into(root: Path, target: str, source: Path) -> None:
    """Copy a file or folder to the path `target` below `root`; what is there is replaced, folders are merged.

    Times and the permissions of owner, group and others are kept, nothing else: the copy belongs to this process.
    Raises: SandboxError where a link stands in the way, the disk is full, or the source cannot be read.
    """
    *above, name = [each for each in target.split("/") if each] or ["."]
    try:
        fd = os.open(root, _FOLDER)
        try:
            for each in above:
                fd = _down(fd, each)
            _copy(source, fd, name)
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise SandboxError(f"{target} leads through a link or a file in the box") from error
        raise SandboxError(
            f"{source} could not be copied to {target} of the box: {error.strerror}"
        ) from error


def inside(root: Path, target: str) -> Path:
    """The path of this machine that `target` is in the box. Raises: SandboxError where a link stands on the way."""
    place = root
    for each in target.split("/"):
        place = place / each
        if place.is_symlink():
            raise SandboxError(f"{target} leads through a link in the box")
    return place


def _down(fd: int, name: str) -> int:
    try:
        os.mkdir(name, 0o755, dir_fd=fd)
    except FileExistsError:
        """It may be a link: opening it tells."""
    below = os.open(name, _FOLDER, dir_fd=fd)
    os.close(fd)
    return below


def _copy(source: Path, fd: int, name: str) -> None:
    told = source.lstat()
    if stat.S_ISDIR(told.st_mode):
        _copy_folder(source, told, fd, name)
        return
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        """Nothing to replace."""
    if stat.S_ISLNK(told.st_mode):
        os.symlink(source.readlink(), name, dir_fd=fd)
    elif stat.S_ISREG(told.st_mode):
        _copy_file(source, told, fd, name)
    else:
        raise SandboxError(f"{source} is no file, folder or link, and cannot be copied into a box")


def _copy_folder(source: Path, told: os.stat_result, fd: int, name: str) -> None:
    if name != ".":
        try:
            os.mkdir(name, 0o700, dir_fd=fd)
        except FileExistsError:
            """It may be a link: opening it tells."""
    below = os.open(name, _FOLDER, dir_fd=fd)
    try:
        with os.scandir(source) as entries:
            for each in entries:
                _copy(Path(each.path), below, each.name)
        os.fchmod(below, stat.S_IMODE(told.st_mode) & 0o777 | 0o700)
        os.utime(below, ns=(told.st_atime_ns, told.st_mtime_ns))
    finally:
        os.close(below)


def _copy_file(source: Path, told: os.stat_result, fd: int, name: str) -> None:
    with source.open("rb") as read:
        new = os.open(name, _NEW, 0o600, dir_fd=fd)
        try:
            while os.sendfile(new, read.fileno(), None, _AT_ONCE):
                """Until its end."""
            os.fchmod(new, stat.S_IMODE(told.st_mode) & 0o777 | 0o600)
            os.utime(new, ns=(told.st_atime_ns, told.st_mtime_ns))
        finally:
            os.close(new)
