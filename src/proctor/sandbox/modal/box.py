"""A sandbox of Modal as a box: commands run as another user than root, whose every process is killed after each."""

from __future__ import annotations

import asyncio
import json
import logging
import shlex
import shutil
import tarfile
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import IO, Any, Literal

from proctor.errors import SandboxError
from proctor.sandbox.contract import ARTIFACTS, HOME, REPO, Command, CommandEnd, Loopback, Mount, Policy
from proctor.sandbox.docker.streams import BOX_USER, Printed, packed, unpacked
from proctor.sandbox.modal.words import told
from proctor.sandbox.relay.ports import RelayPorts
from proctor.sandbox.relay.ports import program as relay_program
from proctor.sandbox.running import in_own_time, to_its_end
from proctor.trial_record import Consumed

LOG = logging.getLogger(__name__)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NOBODY = 65_534  # runs the relay: the box's user can neither stop it nor look into it
GRACE_S = 2.0  # after INT, and after TERM
PART = 1 << 20  # bytes that are handed to Modal's client at once
SAID_BYTES = 65_536
OWNED = (REPO, ARTIFACTS, HOME)
OPEN = "chown 0:0 /app && chmod 1777 /app /tmp /var/tmp /run && tar -xpf - -C /"


@cache
def starter() -> tuple[str, ...]:
    return ("python3", "-I", "-B", "-c", (Path(__file__).parent / "inside.py").read_text())


@dataclass(slots=True)
class ModalPipe:
    """The stdout and stdin of a program in a box."""

    process: Any
    said: bytearray = field(default_factory=bytearray)
    _parts: AsyncIterator[bytes] | None = None

    async def read(self) -> bytes:
        if self._parts is None:
            self._parts = aiter(self.process.stdout)
        with told("A program in a sandbox of Modal was not heard"):
            return await anext(self._parts, b"")

    async def write(self, part: bytes) -> None:
        with told("A program in a sandbox of Modal was not told"):
            for begin in range(0, len(part), PART):
                self.process.stdin.write(part[begin : begin + PART])
                await self.process.stdin.drain.aio()

    async def write_eof(self) -> None:
        with told("A program in a sandbox of Modal was not told"):
            self.process.stdin.write_eof()
            await self.process.stdin.drain.aio()


@dataclass(slots=True)
class ModalBox:
    """One sandbox, until it is closed."""

    sandbox: Any
    policy: Policy
    place: Path  # a folder of this machine for what is taken out of it
    printed: int = field(default=0)
    ports: RelayPorts = field(init=False)

    def __post_init__(self) -> None:
        self.ports = RelayPorts(self.place)

    async def furnish(self, mounts: Sequence[Mount]) -> None:
        """The folders that every box has, and copies of what is shown of this machine, which are root's."""
        with tempfile.TemporaryFile() as archive:
            await asyncio.to_thread(_shown, mounts, archive)
            said, code = await self._plain(("/bin/sh", "-c", _opening(self.policy)), archive)
        if code:
            raise SandboxError(f"A sandbox of Modal could not be furnished: {_words(said)}")

    async def run(self, command: Command) -> CommandEnd:
        env = {"PATH": PATH, "HOME": HOME, **command.env}
        async with self._relayed():
            process = await self._begun(command.argv, env, command.cwd, BOX_USER)
            return await self._ended(process, command)

    async def _ended(self, process: Any, command: Command) -> CommandEnd:
        began = time.monotonic()
        with ExitStack() as opened:
            file = opened.enter_context(command.output.open("ab", buffering=0)) if command.output else None
            printed = Printed(file, command.output_bytes)
            pipe = ModalPipe(process)
            feeding = asyncio.create_task(_fed(pipe, command.stdin))
            hearing = asyncio.create_task(_heard(pipe, printed))
            waiting = asyncio.create_task(_code(process))
            why: Literal["exited", "timeout"] = "exited"
            try:
                if not await in_own_time(partial(_over, waiting), command):
                    why = "timeout"
                    await self._stopped(waiting)
            finally:
                feeding.cancel()
                await to_its_end(self._killed(waiting, hearing))
            self.printed += printed.length
        return CommandEnd(
            waiting.result(), why, time.monotonic() - began, bytes(printed.said), printed.length
        )

    async def _stopped(self, waiting: asyncio.Task[int]) -> None:
        for number in (2, 15):
            await self._signal(number, BOX_USER)
            if await _over(waiting, GRACE_S):
                return

    async def _killed(self, *ending: asyncio.Task[Any]) -> None:
        """Nothing runs in the box afterwards but what Modal began itself."""
        await self._signal(9, BOX_USER, NOBODY)
        for each in ending:
            await each

    async def _signal(self, number: int, *users: int) -> None:
        words = (*starter(), "signal", str(number), *map(str, users))
        said, code = await self._plain(words)
        if code:
            raise SandboxError(f"What runs in a sandbox of Modal cannot be ended: {_words(said)}")

    async def _begun(self, argv: Sequence[str], env: Mapping[str, str], cwd: str, user: int) -> Any:
        table = {"argv": list(argv), "env": dict(env), "cwd": cwd, "uid": user, "processes": self.policy.pids}
        words = json.dumps(table).encode()
        process = await self._exec((*starter(), "run"))
        await ModalPipe(process).write(len(words).to_bytes(4, "big") + words)
        return process

    async def _exec(self, argv: Sequence[str]) -> Any:
        with told("A command could not be begun in a sandbox of Modal"):
            return await self.sandbox.exec.aio(*argv, text=False, workdir="/")

    async def _plain(
        self, argv: Sequence[str], stdin: IO[bytes] | None = None, into: IO[bytes] | None = None
    ) -> tuple[bytes, int]:
        """A command of ours as root: the end of what it said on both, and its code."""
        process = await self._exec(argv)
        pipe, faults = ModalPipe(process), asyncio.create_task(_said(process))
        said = bytearray()
        try:
            if stdin is not None:
                stdin.seek(0)
                while part := await asyncio.to_thread(stdin.read, PART):
                    await pipe.write(part)
            await pipe.write_eof()
            while part := await pipe.read():
                if into is not None:
                    await asyncio.to_thread(into.write, part)
                said = (said + part)[-SAID_BYTES:]
            return bytes(said) + await faults, await _code(process)
        finally:
            faults.cancel()

    @asynccontextmanager
    async def _relayed(self) -> AsyncIterator[None]:
        """A relay serves the box while a command runs, and is killed with it."""
        if not self.ports.addresses:
            yield
            return
        process = await self._begun(relay_program(), {"PATH": PATH}, "/", NOBODY)
        async with self.ports.carried(ModalPipe(process)):
            yield

    async def put(self, source: Path, target: str) -> None:
        above, _, name = target.rpartition("/")
        with tempfile.TemporaryFile() as archive:
            whole = await asyncio.to_thread(_packed, source, name, archive)
            folder = target if whole else above or "/"
            place = shlex.quote(folder)
            words = ("/bin/sh", "-c", f"mkdir -p {place} && tar -xpf - -C {place}")
            said, code = await self._plain(words, archive)
        if code:
            raise SandboxError(f"Files cannot be put into the box at {folder}: {_words(said)}")

    async def files(self, target: str) -> Path:
        into = Path(tempfile.mkdtemp(prefix="files-", dir=self.place))
        with tempfile.TemporaryFile() as archive:
            said, code = await self._plain(("tar", "-cf", "-", "-C", target, "."), into=archive)
            if code:
                raise SandboxError(f"{target} cannot be taken out of the box: {_words(said)}")
            archive.seek(0)
            await asyncio.to_thread(unpacked, archive, into)
        return into

    async def listen(self, port: int) -> Loopback:
        return self.ports.listen(port)

    def consumed(self) -> Consumed:
        """Modal tells nothing of it that would be a measurement of this box."""
        return Consumed(output_bytes=self.printed)

    async def close(self) -> None:
        await to_its_end(self._leave())

    async def _leave(self) -> None:
        self.ports.leave()
        try:
            with told("A sandbox of Modal could not be ended"):
                await self.sandbox.terminate.aio()
        except SandboxError as error:
            LOG.warning("%s; it ends by itself at its time limit", error)
        await asyncio.to_thread(shutil.rmtree, self.place, ignore_errors=True)


async def _over(waiting: asyncio.Task[int], seconds: float | None) -> bool:
    done, _ = await asyncio.wait([waiting], timeout=seconds)
    return bool(done)


async def _code(process: Any) -> int:
    with told("A command's end in a sandbox of Modal was not heard"):
        found: int = await process.wait.aio()
    return found


async def _heard(pipe: ModalPipe, printed: Printed) -> None:
    while part := await pipe.read():
        printed.take(part)


async def _said(process: Any) -> bytes:
    with told("A command in a sandbox of Modal was not heard"):
        found: bytes = await process.stderr.read.aio()
    return found[-SAID_BYTES:]


async def _fed(pipe: ModalPipe, words: bytes) -> None:
    """A command that ended before it heard everything is no fault."""
    try:
        if words:
            await pipe.write(words)
        await pipe.write_eof()
    except SandboxError as error:
        LOG.debug("%s", error)


def _packed(source: Path, name: str, into: IO[bytes]) -> bool:
    """Whether it is a folder, of which the content is packed."""
    whole = source.is_dir()
    packed(source, "." if whole else name, into)
    return whole


def _opening(policy: Policy) -> str:
    """What makes a box of an image, for a shell.

    The folder above those of the box's user is not its own, so that what is shown beside them stays what it is.
    """
    owned = " ".join(map(shlex.quote, (*OWNED, *policy.writable)))
    return f"mkdir -p {owned} /tmp /var/tmp /run && chown -R {BOX_USER}:{BOX_USER} {owned} && {OPEN}"


def _shown(mounts: Sequence[Mount], into: IO[bytes]) -> None:
    """Files and folders of this machine at their places in the box, as root's, which others may read."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        member.mode = (member.mode | 0o444 | (0o111 if member.isdir() else 0)) & 0o755
        return member

    with tarfile.open(fileobj=into, mode="w") as archive:
        for each in mounts:
            archive.add(each.source, arcname=each.target.lstrip("/"), filter=plain)


def _words(said: bytes) -> str:
    return said[-500:].decode("utf-8", "replace").strip()
