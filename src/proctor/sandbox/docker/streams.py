"""What goes in and out of a container: the streams of a command, and folders as tar archives."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import tarfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from proctor.errors import SandboxError

HEADER = struct.Struct(">BxxxL")  # of a frame: which stream, how many bytes follow
CHUNK = 65_536
SAID_BYTES = 65_536
STDOUT = 1
MOST_NAME = 2_000  # bytes of a path in a box: longer ones could not be had below a folder of ours
BOX_USER = 1000  # whose files are in a box, and who runs there


@dataclass(slots=True)
class Printed:
    """What a command prints: kept in a file up to a bound, counted beyond it, and its end remembered."""

    file: IO[bytes] | None
    most: int
    length: int = 0
    said: bytearray = field(default_factory=bytearray)

    def take(self, text: bytes) -> None:
        if self.file is not None and self.length < self.most:
            self.file.write(text[: self.most - self.length])
        self.length += len(text)
        self.said += text
        del self.said[:-SAID_BYTES]


def talk(connection: socket.socket, stdin: bytes, hear: Callable[[int, bytes], None]) -> None:
    """Say `stdin` and hear all that comes until the command has ended. Raises: OSError where it is cut."""
    if stdin:
        connection.sendall(stdin)
    with suppress(OSError):  # a command that ended at once hears nothing
        connection.shutdown(socket.SHUT_WR)
    while header := _exactly(connection, HEADER.size):
        stream, length = HEADER.unpack(header)
        while length:
            part = connection.recv(min(length, CHUNK))
            if not part:
                return
            hear(stream, part)
            length -= len(part)


def next_frame(connection: socket.socket) -> bytes | None:
    """What the next frame says; None at the end. Raises: OSError."""
    header = _exactly(connection, HEADER.size)
    return _exactly(connection, HEADER.unpack(header)[1]) if header else None


def _exactly(connection: socket.socket, count: int) -> bytes:
    """So many bytes; b"" at the end."""
    found = bytearray()
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            return b""
        found += part
    return bytes(found)


class Attached:
    """The connection to a running command, inside what the client hands out for one."""

    def __init__(self, told: Any) -> None:
        self._told = told
        self.socket: socket.socket = getattr(told, "_sock", told)
        self.socket.settimeout(None)  # a command that says nothing for a minute is no dead one

    def close(self) -> None:
        # Both hold the connection open by themselves.
        if (response := getattr(self._told, "_response", None)) is not None:
            response.close()
        self.socket.close()


@dataclass(slots=True)
class ExecPipe:
    """The stdout and stdin of a running command, for an event loop; `said` is the end of its stderr."""

    connection: Attached
    said: bytearray = field(default_factory=bytearray)
    left: int = 0  # bytes of the frame that is being read
    stream: int = STDOUT

    async def read(self) -> bytes:
        while True:
            if not self.left:
                if not (header := await self._exactly(HEADER.size)):
                    return b""
                self.stream, self.left = HEADER.unpack(header)
                continue
            part = await self._some(min(self.left, CHUNK))
            self.left -= len(part)
            if self.stream == STDOUT or not part:
                return part
            self.said += part
            del self.said[:-SAID_BYTES]

    async def write(self, part: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.connection.socket, part)

    async def _some(self, most: int) -> bytes:
        return await asyncio.get_running_loop().sock_recv(self.connection.socket, most)

    async def _exactly(self, count: int) -> bytes:
        found = b""
        while len(found) < count:
            if not (part := await self._some(count - len(found))):
                return b""
            found += part
        return found


def packed(source: Path, name: str, into: IO[bytes]) -> None:
    """A file or folder as a tar archive, called `name` in it; nobody's ids and no times of this machine."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = BOX_USER
        member.uname = member.gname = ""
        return member

    with tarfile.open(fileobj=into, mode="w") as archive:
        archive.add(source, arcname=name, filter=plain)


def unpacked(archive: IO[bytes], into: Path) -> None:
    """Unpack what came out of a box: nothing of it lands outside the folder, and devices are left out.

    So is what lies too deep for this machine to have it in another folder; the folders above it are there.
    Raises: SandboxError.
    """
    try:
        with tarfile.open(fileobj=archive, mode="r") as members:
            for member in _harmless(members):
                with suppress(KeyError):  # another name of a file that was left out
                    members.extract(member, into, set_attrs=True, filter="tar")
    except (tarfile.TarError, OSError) as error:
        raise SandboxError(f"What came out of the box cannot be unpacked: {error}") from error


def _harmless(members: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for member in members:
        if len(os.fsencode(member.name)) > MOST_NAME:
            continue
        if member.isfile() or member.isdir() or member.issym() or member.islnk():
            # What the box's user may not read or enter, whoever looks at the work still must.
            member.mode |= 0o700 if member.isdir() else 0o600
            yield member
