"""No containment: programs run on this machine itself, in a temporary folder. Only for whoever asks for it by name."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import SandboxError
from proctor.sandbox.contract import ARTIFACTS, HOME, REPO, Box, Command, CommandEnd, Loopback, Mount, Policy
from proctor.sandbox.copying import copy_into, inside
from proctor.sandbox.loopback import HERE, WAITING
from proctor.sandbox.places import BoxPlace, new_place, sweep
from proctor.sandbox.running import Start, run_program, to_its_end
from proctor.trial_record import Consumed

PATH = "/usr/local/bin:/usr/bin:/bin"
FOLDERS = (REPO, ARTIFACTS, "/app/evaluation", "/app", HOME, "/tmp", "/var/tmp", "/run")  # of a box


@dataclass(frozen=True, slots=True)
class Local:
    """Folders below `boxes`. It holds no limit but that of time, and keeps nothing from the network."""

    boxes: Path
    name: str = "local"
    told: str = "local: not contained, on this machine itself, with its network"
    image_sha256: str = ""

    async def check(self, policy: Policy) -> None:
        """It promises nothing that could fail."""
        sweep(self.boxes)

    async def open(self, policy: Policy, mounts: Sequence[Mount] = (), build: Path | None = None) -> Box:
        try:
            place = new_place(self.boxes, "local-")
            place.owns(())
            for each in FOLDERS:
                inside(place.folder, each).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SandboxError(f"A folder could not be made in {self.boxes}: {error}") from error
        return LocalBox(place, {each.target: str(each.source.absolute()) for each in mounts})


@dataclass(slots=True)
class LocalBox:
    """A folder. Paths of a box in the words and the environment of a command become those of this machine."""

    place: BoxPlace
    seen: dict[str, str]
    printed: int = field(default=0)

    async def run(self, command: Command) -> CommandEnd:
        env = {"PATH": PATH, "HOME": HOME, "TMPDIR": "/tmp", **command.env}  # of a box
        argv = [self._here(each) for each in command.argv]
        start = Start(
            argv, {name: self._here(each) for name, each in env.items()}, Path(self._here(command.cwd))
        )
        try:
            ended = await run_program(start, command, InProcessGroup())
        except OSError as error:
            if command.output is None or command.output.exists():
                return CommandEnd(
                    127 if isinstance(error, FileNotFoundError) else 126, said=str(error).encode()
                )
            raise SandboxError(f"A command could not be begun on this machine: {error}") from error
        self.printed += ended.printed_bytes
        return ended

    def _here(self, words: str) -> str:
        """Paths of a box are told by what stands before and after: "/app/repo" is one in "--in=/app/repo/x"."""
        here = {each: f"{self.place.folder}{each}" for each in FOLDERS} | self.seen
        longest = sorted(here, key=len, reverse=True)
        found = re.compile(rf"(?<![\w.-])({'|'.join(map(re.escape, longest))})(?![\w.-])")
        return found.sub(lambda path: here[path[1]], words)

    async def put(self, source: Path, target: str) -> None:
        await asyncio.to_thread(copy_into, self.place.folder, target, source)

    async def files(self, target: str) -> Path:
        return await asyncio.to_thread(inside, self.place.folder, target)

    async def listen(self, port: int) -> Loopback:
        """At a port that is free: boxes share this machine's loopback, so others can reach it as well."""
        made = socket.create_server((HERE, 0), backlog=WAITING)
        return Loopback(made, made.getsockname()[1])

    def consumed(self) -> Consumed:
        return Consumed(output_bytes=self.printed)

    async def close(self) -> None:
        await to_its_end(asyncio.to_thread(self.place.leave))


@dataclass(slots=True)
class InProcessGroup:
    """A command and what it starts, as long as that stays in its process group."""

    group: int = 0

    def begun(self, pid: int) -> None:
        self.group = pid

    def signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.group, number)

    def end(self) -> None:
        self.signal(signal.SIGKILL)
