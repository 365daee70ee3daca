"""Straw: a sandbox that is weak on purpose. Controls run in it, so that an exploit is known to work somewhere.

open        a container with the processes, the network, the environment and the room of the machine, as root with all
            rights and without limits: what one gets from --privileged, --pid=host, --network=host and a mounted home
else        a container of its own in which the agent is root, as most images have it; one for agent and verifier

What is written goes into a copy of the image all the same, and is thrown away: only the folder `shown` is the
machine's own. Never offered to a benchmark.
"""

from __future__ import annotations

import asyncio
import os
import resource
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.contract import HOME, Box, Command, CommandEnd, Loopback, Mount, Policy
from proctor.sandbox.copying import copy_into, inside
from proctor.sandbox.image import Image
from proctor.sandbox.local import InProcessGroup
from proctor.sandbox.mounts import mount_disk, mount_overlay
from proctor.sandbox.places import BoxPlace, new_place, sweep
from proctor.sandbox.running import Start, run_program, to_its_end
from proctor.trial_record import Consumed

DISK_MB = 1600
FOLDERS = (
    "/app/repo",
    "/app/artifacts",
    "/logs/verifier",
    HOME,
    "/tmp",
    "/run",
    "/proc",
    "/sys",
    "/dev",
    "/tests",
)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
OPEN = (
    *("--bind", "/proc", "/proc", "--bind", "/sys", "/sys", "--dev", "/dev"),
    *("--dev-bind-try", "/dev/kmsg", "/dev/kmsg"),
    *("--cap-add", "ALL"),
)
CLOSED = (
    *("--proc", "/proc", "--dev", "/dev", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--die-with-parent", "--clearenv", "--cap-add", "ALL"),
)


@dataclass(frozen=True, slots=True)
class Straw:
    """Boxes below `boxes`; `shown` None: closed containers."""

    image: Image
    boxes: Path
    shown: Path | None = None
    name: str = "bubblewrap"  # as tasks ask whether they can be run
    told: str = "straw: weak on purpose"
    image_sha256: str = ""

    async def check(self, policy: Policy) -> None:
        """Raises: SandboxMissing."""
        if os.geteuid() or shutil.which("bwrap") is None:
            raise SandboxMissing(
                "The controls of the gauntlet need root and bubblewrap: apt-get install bubblewrap"
            )
        sweep(self.boxes)

    async def open(self, policy: Policy, mounts: Sequence[Mount] = (), build: Path | None = None) -> Box:
        return await asyncio.to_thread(self._open, mounts)

    def _open(self, mounts: Sequence[Mount]) -> Box:
        place = new_place(self.boxes, "box-")
        try:
            place.owns(())
            disk, root = place.folder / "disk", place.folder / "root"
            for each in (disk, root):
                each.mkdir()
            mount_disk(disk, DISK_MB)
            for name in ("upper", "work"):
                (disk / name).mkdir()
            mount_overlay(root, self.image.root, disk / "upper", disk / "work")
            for name in FOLDERS:
                inside(root, name).mkdir(parents=True, exist_ok=True)
        except (OSError, SandboxError) as error:
            place.leave()
            raise SandboxError(f"A box of straw could not be made: {error}") from error
        return StrawBox(place, tuple(mounts), self.shown)


@dataclass(slots=True)
class StrawBox:
    """A mounted root. Its commands are one process group, and what leaves that group lives on."""

    place: BoxPlace
    mounts: Sequence[Mount]
    shown: Path | None
    printed: int = field(default=0)
    cpu_s: float = field(default_factory=lambda: -_cpu_s())  # less what earlier boxes used

    @property
    def root(self) -> Path:
        return self.place.folder / "root"

    async def run(self, command: Command) -> CommandEnd:
        own = os.environ if self.shown else {}
        start = Start(
            ("bwrap", *self._options(command.env, command.cwd), *command.argv), dict(own), Path("/")
        )
        try:
            ended = await run_program(start, command, InProcessGroup())
        except OSError as error:
            raise SandboxError(f"A command could not be begun in straw: {error}") from error
        self.printed += ended.printed_bytes
        return ended

    def _options(self, env: Mapping[str, str], cwd: str) -> list[str]:
        seen = [part for each in self.mounts for part in ("--ro-bind", str(each.source), each.target)]
        shown = () if self.shown is None else ("--bind", str(self.shown), str(self.shown))
        told = {"PATH": PATH, "HOME": HOME, **env}
        variables = [part for name, value in told.items() for part in ("--setenv", name, value)]
        held = CLOSED if self.shown is None else OPEN
        return ["--bind", str(self.root), "/", *held, *shown, *seen, *variables, "--chdir", cwd]

    async def put(self, source: Path, target: str) -> None:
        await asyncio.to_thread(copy_into, self.root, target, source)

    async def files(self, target: str) -> Path:
        return await asyncio.to_thread(inside, self.root, target)

    async def listen(self, port: int) -> Loopback:
        raise SandboxError("Nothing listens in straw")

    def consumed(self) -> Consumed:
        told = os.statvfs(self.place.folder / "disk")
        written = (told.f_blocks - told.f_bfree) * told.f_frsize
        return Consumed(cpu_s=self.cpu_s + _cpu_s(), written_bytes=written, output_bytes=self.printed)

    async def close(self) -> None:
        await to_its_end(asyncio.to_thread(self.place.leave))


def _cpu_s() -> float:
    """Of all commands that have ended so far, with what they waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
