"""One program from its beginning to its end: what it prints is streamed, its time is held, asked to stop it may."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from proctor.sandbox.contract import Command, CommandEnd

SAID_BYTES = 65_536
AT_ONCE = 1 << 18
GRACE_S = 2.0
KILLED = 137  # 128 + SIGKILL, as shells tell it


class Reachable(Protocol):
    """How everything that a command started is reached from outside."""

    def begun(self, pid: int) -> None:
        """The command is this process, or is begun by it."""

    def signal(self, number: signal.Signals) -> None:
        """Send it to every process of the command."""

    def end(self) -> None:
        """Kill everything that the command started; it is dead when this returns. Called on every end."""


@dataclass(slots=True)
class Streamed:
    """What a command prints: the beginning goes into the file, the end is remembered, all of it is counted.

    Where the file cannot be written the rest is read nevertheless, since the command waits for its reader.
    """

    file: IO[bytes] | None
    left: int
    tail: bytearray = field(default_factory=bytearray)
    count: int = 0
    failed: OSError | None = None

    async def read(self, stream: asyncio.StreamReader) -> None:
        while chunk := await stream.read(AT_ONCE):
            self.count += len(chunk)
            self.tail += chunk
            del self.tail[:-SAID_BYTES]
            if self.left > 0:
                self._keep(chunk[: self.left])

    def _keep(self, chunk: bytes) -> None:
        if self.file is None or self.failed is not None:
            return
        try:
            self.left -= self.file.write(chunk)
        except OSError as error:
            self.failed = error


@dataclass(frozen=True, slots=True)
class Start:
    """How a command is begun on this machine. `stderr` is a descriptor, or where stdout goes."""

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    stderr: int = STDOUT


async def run_program(start: Start, command: Command, reach: Reachable) -> CommandEnd:
    """Run a command to its end.

    At its time limit the command is sent INT, two seconds later TERM, and two seconds later it is killed. When it is
    cancelled it is killed at once. Raises: OSError where it cannot be begun, or its output cannot be kept.
    """
    began = time.monotonic()
    with _opened(command.output) as file:
        streamed = Streamed(file, command.output_bytes)
        process = await _begun(start, with_input=bool(command.stdin))
        assert process.stdout is not None
        reach.begun(process.pid)
        reading = asyncio.create_task(streamed.read(process.stdout))
        feeding = asyncio.create_task(_fed(process, command.stdin))
        why: Literal["exited", "timeout"] = "exited"
        try:
            if not await in_own_time(partial(_ended, process), command):
                why = "timeout"
                await _stopped(process, reach)
        finally:
            feeding.cancel()
            await _ended_for_good(process, reach, reading)
    if streamed.failed is not None:
        raise streamed.failed
    code = process.returncode or 0
    seconds = time.monotonic() - began
    return CommandEnd(code if code >= 0 else 128 - code, why, seconds, bytes(streamed.tail), streamed.count)


async def _begun(start: Start, *, with_input: bool) -> Process:
    return await asyncio.create_subprocess_exec(
        *start.argv,
        env=start.env,
        cwd=start.cwd,
        stdin=PIPE if with_input else DEVNULL,
        stdout=PIPE,
        stderr=start.stderr,
        limit=AT_ONCE,
        start_new_session=True,
    )


@contextmanager
def _opened(path: Path | None) -> Iterator[IO[bytes] | None]:
    if path is None:
        yield None
        return
    with path.open("ab", buffering=0) as file:
        yield file


async def _fed(process: Process, words: bytes) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(words)
        await process.stdin.drain()
    process.stdin.close()


async def in_own_time(ended: Callable[[float | None], Awaitable[bool]], command: Command) -> bool:
    """Whether a command ends in its own time, which what it waited for does not count for."""
    waited_s, left_s = 0.0, command.timeout_s
    while not await ended(left_s):
        if command.waited_s is None or (more_s := command.waited_s() - waited_s) <= 0.0:
            return False
        waited_s, left_s = waited_s + more_s, more_s
    return True


async def _ended(process: Process, seconds: float | None) -> bool:
    """Whether it ends within so many seconds, also while something that it started holds what it prints to."""
    try:
        fd = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return True
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(fd, ended.set)
    try:
        async with asyncio.timeout(seconds):
            await ended.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(fd)
        os.close(fd)
    return True


async def _stopped(process: Process, reach: Reachable) -> None:
    """Ask it to stop, twice; it is killed by whoever called."""
    for number in (signal.SIGINT, signal.SIGTERM):
        reach.signal(number)
        if await _ended(process, GRACE_S):
            return


async def _ended_for_good(process: Process, reach: Reachable, reading: asyncio.Task[None]) -> None:
    """However it ended: kill what is left, and read what was printed to its end. Cancelling does not shorten it."""

    async def ending() -> None:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)  # Process.kill may collect it, and then its code is lost
        await asyncio.to_thread(reach.end)
        await process.wait()
        await reading

    await to_its_end(ending())


async def to_its_end(work: Coroutine[Any, Any, None]) -> None:
    """Await what must not be left half done. Being cancelled meanwhile is told afterwards."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled
    task.result()
