"""The relay: connections of a box as frames over the stdin and stdout of a program, whose every byte may be hostile."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ports import free_port
from proctor.sandbox.relay import inside
from proctor.sandbox.relay.carrying import Relay
from proctor.sandbox.relay.frames import (
    AMOUNT,
    CREDIT,
    DATA,
    END,
    OPEN,
    PORT,
    READY,
    RESET,
    WINDOW,
    RelayBroken,
    frame,
)

AT_ONCE = 1 << 16


@dataclass
class ProgramPipe:
    """The real program, started here in place of in a box."""

    process: asyncio.subprocess.Process
    said: bytearray = field(default_factory=bytearray)

    async def read(self) -> bytes:
        assert self.process.stdout is not None
        return await self.process.stdout.read(AT_ONCE)

    async def write(self, part: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(part)
        await self.process.stdin.drain()


@asynccontextmanager
async def relayed(address: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """A relay from this machine's port to the socket at that address."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-B", inside.__file__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    relay = Relay({port: address}, ProgramPipe(process))
    carrying = asyncio.create_task(relay.carry())
    try:
        async with asyncio.timeout(100):
            await relay.ready.wait()
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await carrying
        await process.wait()


@pytest.fixture
def address() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="relay-") as folder:
        yield f"{folder}/socket"


@pytest.fixture
def port() -> int:
    return free_port()


async def hashing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers, when all has been said, with its hash and as many bytes."""
    found, count = hashlib.sha256(), 0
    while part := await reader.read(AT_ONCE):
        found.update(part)
        count += len(part)
    writer.write(found.digest())
    for _ in range(count // AT_ONCE):
        writer.write(found.digest() * (AT_ONCE // 32))
        await writer.drain()
    writer.close()


async def exchanged(port: int, number: int, parts: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    said, part = hashlib.sha256(), number.to_bytes(2, "big") * (AT_ONCE // 2)
    for _ in range(parts):
        said.update(part)
        writer.write(part)
        await writer.drain()
    writer.write_eof()
    heard = await reader.read()
    writer.close()
    assert heard == said.digest() * (1 + parts * AT_ONCE // 32)


def test_many_connections_at_once_come_through_whole_each_way_and_are_half_closed(
    address: str, port: int
) -> None:
    async def whole() -> None:
        server = await asyncio.start_unix_server(hashing, address)
        async with server, relayed(address, port):
            await asyncio.gather(*(exchanged(port, number, 20) for number in range(64)))

    asyncio.run(whole())


def test_who_does_not_read_is_waited_for_and_fills_no_memory_and_holds_up_nobody_else(
    address: str, port: int
) -> None:
    taken = asyncio.Event()

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.readexactly(1) == b"s":
            reader._transport.pause_reading()
            await taken.wait()
            reader._transport.resume_reading()
        await hashing(reader, writer)

    async def whole() -> None:
        server = await asyncio.start_unix_server(slow, address)
        async with server, relayed(address, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"s" + bytes(64 << 20))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await writer.drain()
            assert writer.transport.get_write_buffer_size() > 50 << 20
            other = await asyncio.open_connection("127.0.0.1", port)
            other[1].write(b"q")
            other[1].write_eof()
            assert await other[0].read() == hashlib.sha256().digest()
            other[1].close()
            taken.set()
            writer.write_eof()
            assert (await reader.readexactly(32)) == hashlib.sha256(bytes(64 << 20)).digest()
            writer.close()

    asyncio.run(whole())


def test_a_relay_that_is_killed_ends_its_connections_and_a_server_that_goes_is_told(
    address: str, port: int
) -> None:
    async def whole() -> None:
        began, ended = asyncio.Event(), asyncio.Event()

        async def leaving(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if await reader.readline() == b"go away\n":
                writer.transport.abort()
                return
            began.set()
            assert await reader.read() == b""
            writer.close()
            ended.set()

        async with await asyncio.start_unix_server(leaving, address), relayed(address, port) as process:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"go away\n")
            assert await reader.read() == b""
            writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"stay\n")
            await began.wait()
            process.kill()
            assert await reader.read() == b""
            await ended.wait()
            writer.close()

    asyncio.run(whole())


@dataclass
class HostilePipe:
    """What a program that took the relay's place says, and then it hangs."""

    words: bytes
    said: bytearray = field(default_factory=bytearray)

    async def read(self) -> bytes:
        said, self.words = self.words, b""
        if not said:
            await asyncio.Event().wait()
        return said

    async def write(self, part: bytes) -> None:
        """It hears nothing."""


AT = PORT.pack(8080)
OPENED = frame(OPEN, 1, AT)
HOSTILE = {
    "a kind that is none": frame(99, 1),
    "a stream that was not opened": frame(DATA, 1, b"x"),
    "a stream without its turn": frame(OPEN, 2, AT),
    "a stream twice": OPENED * 2,
    "a stream of number 0": frame(OPEN, 0, AT),
    "another port": frame(OPEN, 1, PORT.pack(22)),
    "no port": frame(OPEN, 1),
    "a port that nobody asked for": frame(READY, 22),
    "a port twice": frame(READY, 8080) * 2,
    "nothing as data": OPENED + frame(DATA, 1),
    "more than the window": OPENED + frame(DATA, 1, bytes(60_000)) * (WINDOW // 60_000 + 1),
    "data after the end": OPENED + frame(END, 1) + frame(DATA, 1, b"x"),
    "two ends": OPENED + frame(END, 1) * 2,
    "a credit that nobody gave": OPENED + frame(CREDIT, 1, AMOUNT.pack(1)),
    "a credit of nothing": OPENED + frame(CREDIT, 1, AMOUNT.pack(0)),
    "a credit that is no number": OPENED + frame(CREDIT, 1, b"x"),
    "streams without end": b"".join(frame(OPEN, number, AT) for number in range(1, 1_000)),
    "late words without end": OPENED + frame(RESET, 1) * 100,
    "opened and left without end": b"".join(frame(OPEN, n, AT) + frame(RESET, n) for n in range(1, 17_000)),
}


@pytest.mark.parametrize("said", [pytest.param(said, id=name) for name, said in HOSTILE.items()])
def test_what_may_not_come_from_a_box_ends_its_relay(said: bytes, address: str) -> None:
    async def whole() -> None:
        async with asyncio.timeout(20):
            await Relay({8080: address}, HostilePipe(said)).carry()

    with pytest.raises(RelayBroken):
        asyncio.run(whole())


def test_the_program_in_the_box_and_this_machine_mean_the_same_frames() -> None:
    from proctor.sandbox.relay import frames

    for name in (
        "LISTEN",
        "READY",
        "OPEN",
        "DATA",
        "END",
        "RESET",
        "CREDIT",
        "WINDOW",
        "MOST_STREAMS",
        "PART",
    ):
        assert getattr(inside, name) == getattr(frames, name)
    assert inside.HEADER.format == frames.HEADER.format
    compile(Path(inside.__file__).read_text(), "inside.py", "exec", dont_inherit=True)
