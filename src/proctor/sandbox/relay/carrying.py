"""This machine's side of a relay: each stream becomes a connection to a listening socket in a private folder.

No byte from the box is trusted: a program there may stand in the relay's place. What may not come ends the relay; what
may come is bounded, in streams at once, in streams altogether, and in bytes that wait.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from proctor.sandbox.relay.frames import (
    AMOUNT,
    CREDIT,
    DATA,
    END,
    LISTEN,
    MOST_STREAMS,
    OPEN,
    PART,
    PORT,
    READY,
    RESET,
    WINDOW,
    Frames,
    RelayBroken,
    frame,
)

MOST_OPENED = 1 << 14  # streams of one command
MOST_WAITING = 1 << 20  # bytes that the box does not take: no connection is read meanwhile
STALE = 16  # frames that may come late, for each stream that was opened


class Pipe(Protocol):
    """The stdout and stdin of the program in the box; `said` is the end of its stderr."""

    said: bytearray

    async def read(self) -> bytes:
        """What comes next; nothing at its end. Raises: OSError."""

    async def write(self, part: bytes) -> None:
        """Raises: OSError."""


@dataclass(slots=True, eq=False)
class RelayStream:
    """One connection."""

    number: int
    line: socket.socket | None = None  # None: it was given up here, and the box was not heard to know
    window: int = WINDOW  # what may be sent into the box
    coming: bytearray = field(default_factory=bytearray)
    untold: int = 0  # bytes that came and were not told to be taken
    heard_end: bool = False
    said_end: bool = False
    stirred: asyncio.Event = field(default_factory=asyncio.Event)  # there is more to write here, or to send
    allowed: asyncio.Event = field(default_factory=asyncio.Event)
    tasks: tuple[asyncio.Task[None], ...] = ()


class Relay:
    """Carries what a box says at `ports`, each of which leads to the address of a unix socket."""

    def __init__(self, ports: Mapping[int, str], pipe: Pipe) -> None:
        self._ports, self._pipe = ports, pipe
        self._streams: dict[int, RelayStream] = {}
        self._opened = self._late = 0
        self._saying = bytearray()
        self._to_say, self._said = asyncio.Event(), asyncio.Event()
        self._closing: set[asyncio.Task[None]] = set()
        self._expected = set(ports)
        self.ready = asyncio.Event()  # the box listens at all its ports

    async def carry(self) -> None:
        """Until the program in the box ends. Raises: RelayBroken, OSError."""
        for port in self._ports:
            self._put(LISTEN, port)
        speaking = asyncio.create_task(self._speak())
        frames = Frames()
        try:
            while part := await self._pipe.read():
                for kind, number, body in frames.of(part):
                    self._hear(kind, number, body)
                    if len(self._closing) >= MOST_STREAMS:
                        await asyncio.wait(self._closing)  # or its sockets would be without end
        finally:
            speaking.cancel()
            for stream in list(self._streams.values()):
                self._drop(stream)
            with suppress(OSError, asyncio.CancelledError):
                await speaking
            if self._closing:
                await asyncio.wait(self._closing)

    async def _speak(self) -> None:
        """Everything that is to be said goes through here, in its order."""
        while True:
            await self._to_say.wait()
            self._to_say.clear()
            part, self._saying = bytes(self._saying), bytearray()
            self._said.set()
            await self._pipe.write(part)

    def _put(self, kind: int, number: int, body: bytes = b"") -> None:
        self._saying += frame(kind, number, body)
        self._to_say.set()

    def _hear(self, kind: int, number: int, body: bytes) -> None:
        if kind == READY:
            if number not in self._expected:
                raise RelayBroken("a relay tells of a port that was not asked for")
            self._expected.remove(number)
            if not self._expected:
                self.ready.set()
        elif kind == OPEN:
            self._open(number, body)
        elif (stream := self._streams.get(number)) is not None:
            self._hear_of(stream, kind, body)
        elif kind in (CREDIT, RESET) and 0 < number <= self._opened and self._late < STALE * self._opened:
            self._late += 1  # said before the box knew that it is over
        else:
            raise RelayBroken(f"a relay tells {kind} of stream {number}, which is not open")

    def _open(self, number: int, body: bytes) -> None:
        if number != self._opened + 1 or number > MOST_OPENED or len(self._streams) >= 2 * MOST_STREAMS:
            raise RelayBroken(
                f"a relay opens stream {number} after {self._opened}, {len(self._streams)} open"
            )
        if len(body) != PORT.size or (address := self._ports.get(PORT.unpack(body)[0])) is None:
            raise RelayBroken("a relay opens a stream at a port that was not asked for")
        self._opened = number
        stream = self._streams[number] = RelayStream(number)
        try:
            stream.line = line = socket.socket(socket.AF_UNIX)
            line.setblocking(False)
            line.connect(address)  # at once, or not at all: nobody accepts
        except OSError:
            self._give_up(stream)
            return
        moving = (self._into_line(stream, line), self._out_of_line(stream, line))
        stream.tasks = tuple(asyncio.create_task(each) for each in moving)

    def _hear_of(self, stream: RelayStream, kind: int, body: bytes) -> None:
        if kind == RESET:
            self._drop(stream)
        elif kind == DATA and body and not stream.heard_end:
            stream.untold += len(body)
            if stream.untold > WINDOW:
                raise RelayBroken(f"a relay sends more of stream {stream.number} than it may")
            if stream.line is not None:
                stream.coming += body
                stream.stirred.set()
        elif kind == END and not stream.heard_end:
            stream.heard_end = True
            if stream.line is None:
                self._drop(stream)
            stream.stirred.set()
        elif kind == CREDIT and len(body) == AMOUNT.size:
            (count,) = AMOUNT.unpack(body)
            if not 0 < count <= WINDOW - stream.window:
                raise RelayBroken(
                    f"a relay took {count} bytes of stream {stream.number}, which were not sent"
                )
            stream.window += count
            stream.allowed.set()
        else:
            raise RelayBroken(f"a relay tells {kind} of stream {stream.number} with {len(body)} bytes")

    async def _into_line(self, stream: RelayStream, line: socket.socket) -> None:
        """From the box to whoever accepted here, who may be slow."""
        loop = asyncio.get_running_loop()
        try:
            while stream.coming or not stream.heard_end:
                if not stream.coming:
                    await stream.stirred.wait()
                    stream.stirred.clear()
                    continue
                part, stream.coming = stream.coming, bytearray()
                await loop.sock_sendall(line, part)
                self._credit(stream, len(part))
            with suppress(OSError):
                line.shutdown(socket.SHUT_WR)
        except OSError:
            self._give_up(stream)
            return
        if stream.said_end:
            self._drop(stream)

    def _credit(self, stream: RelayStream, count: int) -> None:
        stream.untold -= count
        if not stream.heard_end:
            self._put(CREDIT, stream.number, AMOUNT.pack(count))

    async def _out_of_line(self, stream: RelayStream, line: socket.socket) -> None:
        """From whoever accepted here to the box, whose program may be slow."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                while not stream.window:
                    stream.allowed.clear()
                    await stream.allowed.wait()
                while len(self._saying) > MOST_WAITING:
                    self._said.clear()
                    await self._said.wait()
                part = await loop.sock_recv(line, min(PART, stream.window))
                if not part:
                    break
                stream.window -= len(part)
                self._put(DATA, stream.number, part)
        except OSError:
            self._give_up(stream)
            return
        stream.said_end = True
        self._put(END, stream.number)
        if stream.heard_end and not stream.untold:
            self._drop(stream)

    def _give_up(self, stream: RelayStream) -> None:
        """It is over here; the box has to tell that it knows, since what it said before may still come."""
        if stream.number not in self._streams:
            return
        self._close(stream)
        self._put(RESET, stream.number)
        if stream.heard_end:
            del self._streams[stream.number]

    def _drop(self, stream: RelayStream) -> None:
        self._streams.pop(stream.number, None)
        self._close(stream)

    def _close(self, stream: RelayStream) -> None:
        line, stream.line = stream.line, None
        stream.coming.clear()
        for task in stream.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        if line is not None:
            # Not while the loop still watches it: its number may be another socket's at once.
            closing = asyncio.ensure_future(_closed(line, stream.tasks))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


async def _closed(line: socket.socket, tasks: Sequence[asyncio.Task[None]]) -> None:
    with line:
        if tasks:
            await asyncio.wait(tasks)
