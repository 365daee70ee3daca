"""A container as a box: read-only root, writable tmpfs of bounded size, and each command an exec.

Init is root's and sleeps; commands run as another user, who cannot end it. When a command has ended, every process but
init is killed from outside, so that nothing which it started lives on.
"""

from __future__ import annotations

import asyncio
import io
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from proctor.errors import SandboxError
from proctor.sandbox.contract import HOME, Command, CommandEnd, Loopback
from proctor.sandbox.docker.streams import (
    BOX_USER,
    STDOUT,
    Attached,
    ExecPipe,
    Printed,
    next_frame,
    packed,
    talk,
    unpacked,
)
from proctor.sandbox.loopback import CANNOT_ENTER, listen_in, network_of
from proctor.sandbox.relay.ports import RelayPorts, program
from proctor.sandbox.running import in_own_time
from proctor.trial_record import Consumed

T = TypeVar("T")
PATH = "/usr/local/bin:/usr/bin:/bin"
USER = f"{BOX_USER}:{BOX_USER}"
OPEN = f"chmod 1777 /tmp /var/tmp /run && chown {USER} {HOME}"
RELAY_USER = "65534:65534"  # nobody, whom the box's user can neither stop nor look into
KILLED = 137
LINKED = 90  # an exit code that neither a shell nor tar has
MOST_TAKEN = 4 << 30  # bytes that are taken out of a box at once
GRACE_S = 2.0  # after INT, and after TERM
ANSWER_S = 60.0  # of init, which has nothing else to do
# It starts no process, has the kernel collect those that end (each of which may end a `read` with nothing), and what it
# signals is all but itself.
INIT = (
    *("/bin/sh", "-c"),
    "trap '' CHLD; while :; do read -r name || continue; kill -$name -1 2>/dev/null; echo done; done",
)


def _way(target: str) -> Sequence[str]:
    """A path, and all that stand above it."""
    parts = [each for each in target.split("/") if each]
    return ["/" + "/".join(parts[: count + 1]) for count in range(len(parts))]


async def _over(hearing: asyncio.Future[None], seconds: float | None) -> bool:
    done, _ = await asyncio.wait([hearing], timeout=seconds)
    return bool(done)


@dataclass(slots=True)
class DockerBox:
    """One running container, until it is closed."""

    container: Any
    init: Attached
    place: Path  # a folder of this machine for what is taken out of it
    pool: ThreadPoolExecutor
    printed: int = field(default=0)
    ports: RelayPorts = field(init=False)

    def __post_init__(self) -> None:
        self.ports = RelayPorts(self.place)

    async def run(self, command: Command) -> CommandEnd:
        async with self._relayed():
            return await self._run(command)

    @asynccontextmanager
    async def _relayed(self) -> AsyncIterator[None]:
        """Where a relay serves the box, it does so while a command runs, and is killed with it."""
        if not self.ports.addresses:
            yield
            return
        _, connection = await self._away(lambda: self._exec(program(), RELAY_USER, "/", {"PATH": PATH}))
        try:
            connection.socket.setblocking(False)
            async with self.ports.carried(ExecPipe(connection)):
                yield
        finally:
            connection.close()

    async def _run(self, command: Command) -> CommandEnd:
        began = time.monotonic()
        with ExitStack() as opened:
            file = opened.enter_context(command.output.open("ab", buffering=0)) if command.output else None
            printed = Printed(file, command.output_bytes)
            exec_id, connection = await self._away(lambda: self._begin(command))
            opened.callback(connection.close)
            hearing = self._away(
                lambda: talk(connection.socket, command.stdin, lambda _s, text: printed.take(text))
            )
            why = await self._until_over(hearing, command)
            self.printed += printed.length
        code = await self._away(lambda: self._code(exec_id))
        return CommandEnd(
            KILLED if code is None else code,
            why,
            time.monotonic() - began,
            bytes(printed.said),
            printed.length,
        )

    async def _until_over(
        self, hearing: asyncio.Future[None], command: Command
    ) -> Literal["exited", "timeout"]:
        """Wait for the end, or have it come: whatever happens, nothing runs in the container afterwards."""
        try:
            if await in_own_time(partial(_over, hearing), command):
                return "exited"
            for name in ("INT", "TERM"):
                await self._away(partial(self._signal, name))
                if await _over(hearing, GRACE_S):
                    break
            return "timeout"
        finally:
            await asyncio.shield(self._away(partial(self._signal, "KILL")))
            with suppress(OSError):  # the container was killed by somebody
                await hearing

    def _begin(self, command: Command) -> tuple[str, Attached]:
        env = {"PATH": PATH, "HOME": HOME, **command.env}
        return self._exec(command.argv, USER, command.cwd, env)

    def _exec(self, argv: Sequence[str], user: str, cwd: str, env: Mapping[str, str]) -> tuple[str, Attached]:
        api = self.container.client.api
        made = api.exec_create(
            self.container.id, list(argv), stdin=True, user=user, workdir=cwd, environment=dict(env)
        )
        return made["Id"], Attached(api.exec_start(made["Id"], socket=True))

    def _signal(self, name: str) -> None:
        """To every process but init, by init itself: where no process may be added, no exec could."""
        told = bytearray()
        try:
            self.init.socket.settimeout(ANSWER_S)
            self.init.socket.sendall(f"{name}\n".encode())
            while b"\n" not in told and (frame := next_frame(self.init.socket)) is not None:
                told += frame
        except OSError as error:
            told += str(error).encode()
        if told != b"done\n":
            raise SandboxError(f"What runs in container {self.container.short_id} cannot be ended: {told!r}")

    def _code(self, exec_id: str) -> int | None:
        code: int | None = self.container.client.api.exec_inspect(exec_id)["ExitCode"]
        return code

    async def put(self, source: Path, target: str) -> None:
        await self._away(lambda: self._put(source, target))

    def _put(self, source: Path, target: str) -> None:
        archive = io.BytesIO()
        packed(source, "." if source.is_dir() else target.rpartition("/")[2], archive)
        self.unpack(archive.getvalue(), target if source.is_dir() else target.rpartition("/")[0] or "/")

    def furnish(self, app: bytes, but: Sequence[str]) -> None:
        """Give the box its /app, but what lies at the places named, and its user the folders that are to be written.

        A daemon mounts a file system with the rights that the image's folder has. Raises: SandboxError.
        """
        self.unpack(app, "/app", but, OPEN)

    def opened(self, folders: Sequence[str]) -> None:
        """Give the box's user further folders to write into. Raises: SandboxError."""
        said = bytearray()
        words = f"chmod 1777 {' '.join(map(shlex.quote, folders))}"
        if self._plain(words, b"", lambda _stream, text: said.extend(text)):
            raise SandboxError(f"Folders of the box cannot be opened: {said[-500:].decode()}")

    def unpack(self, archive: bytes, folder: str, but: Sequence[str] = (), first: str = ":") -> None:
        """Unpack a tar archive in a folder of the box, but what lies at the places named. Raises: SandboxError."""
        said = bytearray()
        place = shlex.quote(folder)
        without = " ".join(shlex.quote(f"--exclude=./{each}") for each in but)
        words = f"{first} && mkdir -p {place} && tar -xf - -C {place} {without}"
        if self._plain(words, archive, lambda _stream, text: said.extend(text)):
            raise SandboxError(f"Files cannot be put into the box at {folder}: {said[-500:].decode()}")

    async def files(self, target: str) -> Path:
        return await self._away(lambda: self._files(target))

    def _files(self, target: str) -> Path:
        """What a link leads to is not the box's. Sparse files are taken as such: they may claim any size."""
        into = Path(tempfile.mkdtemp(prefix="files-", dir=self.place))
        with tempfile.TemporaryFile() as archive:

            def hear(stream: int, text: bytes) -> None:
                if stream == STDOUT:
                    archive.write(text)
                if archive.tell() > MOST_TAKEN:
                    raise SandboxError(f"{target} of the box is larger than {MOST_TAKEN >> 30} GB")

            place = shlex.quote(target)
            way = " && ".join(f"[ ! -L {shlex.quote(each)} ]" for each in _way(target))
            sparse = "s=; case $(tar --version 2>/dev/null) in *GNU*) s=-S;; esac"
            code = self._plain(f"{way} || exit {LINKED}; {sparse}; tar $s -cf - -C {place} .", b"", hear)
            if code == LINKED:
                raise SandboxError(f"{target} leads through a link in the box")
            archive.seek(0)
            unpacked(archive, into)
        return into

    def _plain(self, words: str, stdin: bytes, hear: Callable[[int, bytes], None]) -> int:
        """A command of ours as root, while nothing else runs; its exit code."""
        api = self.container.client.api
        made = api.exec_create(self.container.id, ["/bin/sh", "-c", words], stdin=True, user="0")
        connection = Attached(api.exec_start(made["Id"], socket=True))
        try:
            talk(connection.socket, stdin, hear)
        finally:
            connection.close()
        return self._code(made["Id"]) or 0

    async def listen(self, port: int) -> Loopback:
        return await self._away(lambda: self._listen(port))

    def _listen(self, port: int) -> Loopback:
        """In the container's network where this machine lets us, or else by a relay."""
        try:
            network = network_of(self.container.attrs["State"]["Pid"], self.container.id)
            try:
                return Loopback(listen_in(network, port), port)
            finally:
                os.close(network)
        except OSError as error:
            if error.errno not in CANNOT_ENTER:
                raise SandboxError(f"Nothing can listen at port {port} of a container: {error}") from error
        return self.ports.listen(port)

    def consumed(self) -> Consumed:
        from docker.errors import APIError

        try:
            told = self.container.stats(stream=False, one_shot=True)
            self.container.reload()
        except APIError:
            return Consumed(output_bytes=self.printed)
        memory, cpu = told.get("memory_stats", {}), told.get("cpu_stats", {})
        throttled = cpu.get("throttling_data", {}).get("throttled_time")
        whole = cpu.get("cpu_usage", {}).get("total_usage")
        killed = self.container.attrs.get("State", {}).get("OOMKilled")
        return Consumed(
            peak_memory_bytes=memory.get("max_usage"),
            cpu_s=None if whole is None else whole / 1e9,
            throttled_s=None if throttled is None else throttled / 1e9,
            out_of_memory=1 if killed else None,  # of others than init nothing is told
            output_bytes=self.printed,
        )

    async def close(self) -> None:
        await asyncio.shield(self._away(self.remove))

    def remove(self) -> None:
        """Kill what runs and leave nothing of it behind."""
        from docker.errors import APIError

        self.init.close()
        self.ports.leave()
        with suppress(APIError, OSError):  # it may be gone already
            self.container.remove(force=True, v=True)
        shutil.rmtree(self.place, ignore_errors=True)

    def _away(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """In a thread: the client of the daemon knows no event loop."""
        return asyncio.get_running_loop().run_in_executor(self.pool, work)
