"""Files that could not be written, in our words: where the disk is full, the run ends."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.errors import DiskFull, SandboxError

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def room_for(path: Path) -> Iterator[None]:
    """What the system says of a file that could not be written, in our words. Raises: DiskFull, SandboxError."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFull(f"{path} could not be written: no room left on that disk") from None
        raise SandboxError(f"{path} could not be written: {error.strerror or error}") from None
