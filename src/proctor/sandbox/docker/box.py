"""A container as a box: read-only root, writable tmpfs of bounded size, and each command an exec.

Init is root's and sleeps; commands run as another user, who cannot end it. When a command has ended, every process but
init is killed from outside, so that nothing which it started lives on.
"""

from __future__ import annotations

import asyncio
import io
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from proctor.errors import SandboxError
from proctor.sandbox.contract import HOME, Command, CommandEnd
from proctor.sandbox.docker.streams import (
    BOX_USER,
    STDOUT,
    Attached,
    Printed,
    next_frame,
    packed,
    talk,
    unpacked,
)
from proctor.trial_record import Consumed

T = TypeVar("T")
PATH = "/usr/local/bin:/usr/bin:/bin"
USER = f"{BOX_USER}:{BOX_USER}"
KILLED = 137
GRACE_S = 2.0  # after INT, and after TERM
ANSWER_S = 60.0  # of init, which has nothing else to do
# It starts no process, has the kernel collect those that end (each of which may end a `read` with nothing), and what it
# signals is all but itself.
INIT = (
    *("/bin/sh", "-c"),
    "trap '' CHLD; while :; do read -r name || continue; kill -$name -1 2>/dev/null; echo done; done",
)


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

    async def run(self, command: Command) -> CommandEnd:
        began = time.monotonic()
        with ExitStack() as opened:
            file = opened.enter_context(command.output.open("ab")) if command.output else None
            printed = Printed(file, command.output_bytes)
            exec_id, connection = await self._away(lambda: self._begin(command))
            opened.callback(connection.close)
            hearing = self._away(
                lambda: talk(connection.socket, command.stdin, lambda _s, text: printed.take(text))
            )
            why = await self._until_over(hearing, command.timeout_s)
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
        self, hearing: asyncio.Future[None], seconds: float | None
    ) -> Literal["exited", "timeout"]:
        """Wait for the end, or have it come: whatever happens, nothing runs in the container afterwards."""
        try:
            if await _over(hearing, seconds):
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
        api = self.container.client.api
        made = api.exec_create(
            self.container.id,
            list(command.argv),
            stdin=True,
            user=USER,
            workdir=command.cwd,
            environment={"PATH": PATH, "HOME": HOME, **command.env},
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

    def unpack(self, archive: bytes, folder: str, but: Sequence[str] = ()) -> None:
        """Unpack a tar archive in a folder of the box, but what lies at the places named. Raises: SandboxError."""
        said = bytearray()
        place = shlex.quote(folder)
        without = " ".join(shlex.quote(f"--exclude=./{each}") for each in but)
        words = f"mkdir -p {place} && tar -xf - -C {place} {without}"
        if self._plain(words, archive, lambda _stream, text: said.extend(text)):
            raise SandboxError(f"Files cannot be put into the box at {folder}: {said[-500:].decode()}")

    async def files(self, target: str) -> Path:
        return await self._away(lambda: self._files(target))

    def _files(self, target: str) -> Path:
        into = Path(tempfile.mkdtemp(prefix="files-", dir=self.place))
        with tempfile.TemporaryFile() as archive:

            def hear(stream: int, text: bytes) -> None:
                if stream == STDOUT:
                    archive.write(text)

            self._plain(f"tar -cf - -C {shlex.quote(target)} .", b"", hear)
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
        with suppress(APIError, OSError):  # it may be gone already
            self.container.remove(force=True, v=True)
        shutil.rmtree(self.place, ignore_errors=True)

    def _away(self, work: Callable[[], T]) -> asyncio.Future[T]:
        """In a thread: the client of the daemon knows no event loop."""
        return asyncio.get_running_loop().run_in_executor(self.pool, work)
