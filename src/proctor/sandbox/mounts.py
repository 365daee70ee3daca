"""mount(2) and umount2(2) of this process, without a program for each."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from proctor.errors import SandboxError

NOSUID, NODEV = 2, 4  # <sys/mount.h>
DETACH = 2
INODES_A_MB = 128  # one for each 8 kB, twice as many as ext4 makes


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def mount_disk(target: Path, megabytes: int) -> None:
    """A file system in memory that holds so much and no more. Raises: SandboxError."""
    _mount("tmpfs", target, f"size={megabytes}m,nr_inodes={megabytes * INODES_A_MB},mode=755")


def mount_overlay(target: Path, lower: Path, upper: Path, work: Path) -> None:
    """`lower` with what is changed in it kept in `upper`. Raises: SandboxError.

    The kernel shows the options to everybody inside, so folders are named by descriptors and not by paths of ours.
    """
    with _opened(lower) as low, _opened(upper) as up, _opened(work) as at_work:
        named = [f"/proc/self/fd/{fd}" for fd in (low, up, at_work)]
        _mount("overlay", target, f"lowerdir={named[0]},upperdir={named[1]},workdir={named[2]}")


def unmount(target: Path) -> bool:
    """Take it away, also where something still uses it. False where nothing was mounted or it is not allowed."""
    return bool(_libc().umount2(os.fsencode(target), DETACH) == 0)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    fd = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield fd
    finally:
        os.close(fd)


def _mount(kind: str, target: Path, options: str) -> None:
    words = (kind.encode(), os.fsencode(target), kind.encode())
    if _libc().mount(*words, ctypes.c_ulong(NOSUID | NODEV), options.encode()):
        told = os.strerror(ctypes.get_errno())
        raise SandboxError(f"This machine does not mount {kind} at {target} ({options}): {told}")
