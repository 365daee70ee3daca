"""Frames between this machine and the program in a box: one connection is one stream, each way at its own pace.

kind (1 byte), stream (4), length (2), big-endian, and so many bytes

LISTEN   to the box     stream is the port to listen at
READY    from the box   it listens there
OPEN     from the box   somebody connected; body: the port (2 bytes). Streams are numbered 1, 2, 3 ...
DATA     both           at most WINDOW bytes of a stream that the other side has not told to be taken
CREDIT   both           body: so many bytes of it were taken (4 bytes)
END      both           nothing more comes this way
RESET    both           the connection is gone, both ways
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from proctor.errors import SandboxError

HEADER = struct.Struct(">BIH")
AMOUNT = struct.Struct(">I")
PORT = struct.Struct(">H")
LISTEN, READY, OPEN, DATA, END, RESET, CREDIT = range(7)
WINDOW = 1 << 18
MOST_STREAMS = 128
PART = 1 << 15


class RelayBroken(SandboxError):
    """What came from the box is no frame that may come now: the agent's doing, or a fault of ours."""


def frame(kind: int, stream: int, body: bytes = b"") -> bytes:
    return HEADER.pack(kind, stream, len(body)) + body


class Frames:
    """Frames out of bytes as they come: at most one that is not whole is kept, which is 64 kB."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def of(self, part: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Those that are whole now: kind, stream, body."""
        self._kept += part
        at = 0
        while len(self._kept) - at >= HEADER.size:
            kind, stream, length = HEADER.unpack_from(self._kept, at)
            begin = at + HEADER.size
            if len(self._kept) < begin + length:
                break
            at = begin + length
            yield kind, stream, bytes(self._kept[begin:at])
        del self._kept[:at]
