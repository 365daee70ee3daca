"""Bubblewrap: boxes are copies on write of an image, in namespaces of their own, without network and without daemon."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.contract import HOME, Box, Command, CommandEnd, Mount, Policy
from proctor.sandbox.image import Image
from proctor.trial_record import Consumed

PATH = "/usr/local/bin:/usr/bin:/bin"
KILLED = 137
SAID_BYTES = 65_536
NAMESPACES = ("--unshare-all", "--unshare-user", "--uid", "1000", "--gid", "1000")


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Boxes below the folder `boxes`, on an image of this machine."""

    image: Image
    boxes: Path
    name: str = "bubblewrap"

    @property
    def told(self) -> str:
        return "bubblewrap, no network"

    @property
    def image_sha256(self) -> str:
        return self.image.sha256

    async def check(self, policy: Policy) -> None:
        if shutil.which("bwrap") is None:
            raise SandboxMissing("There is no bubblewrap on this machine: apt-get install bubblewrap")
        box = await self.open(policy)
        try:
            ended = await box.run(Command(("true",), cwd="/"))
        finally:
            await box.close()
        if ended.code:
            raise SandboxMissing(f"bubblewrap does not work here: {ended.said.decode('utf-8', 'replace')}")

    async def open(self, policy: Policy, mounts: Sequence[Mount] = ()) -> Box:
        return await asyncio.to_thread(self._open, policy, mounts)

    def _open(self, policy: Policy, mounts: Sequence[Mount]) -> Box:
        self.boxes.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix="box-", dir=self.boxes))
        for name in ("disk", "root"):
            (place / name).mkdir()
        _mounted("tmpfs", place / "disk", f"size={policy.disk_mb}m,mode=755", "tmpfs")
        for name in ("upper", "work"):
            (place / "disk" / name).mkdir()
        layers = f"lowerdir={self.image.root},upperdir={place / 'disk/upper'},workdir={place / 'disk/work'}"
        _mounted("overlay", place / "root", layers, "overlay")
        return BubblewrapBox(place, tuple(mounts))


def _mounted(kind: str, target: Path, options: str, source: str) -> None:
    done = subprocess.run(
        ["mount", "-t", kind, source, "-o", options, str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SandboxError(f"{target} could not be mounted: {done.stderr.strip()}")


@dataclass(slots=True)
class BubblewrapBox:
    """A mounted root; each command runs in namespaces of its own, which end with it."""

    place: Path
    mounts: Sequence[Mount]
    printed: int = field(default=0)

    @property
    def root(self) -> Path:
        return self.place / "root"

    async def run(self, command: Command) -> CommandEnd:
        began = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *self._argv(command), stdin=PIPE if command.stdin else DEVNULL, stdout=PIPE, stderr=STDOUT
        )
        why = "exited"
        said = b""
        try:
            async with asyncio.timeout(command.timeout_s):
                said, _ = await process.communicate(command.stdin or None)
        except TimeoutError:
            why = "timeout"
        finally:
            with suppress(ProcessLookupError):
                process.kill()  # and with it the namespace of all that it started
            await process.wait()
        if command.output is not None:
            with command.output.open("ab") as file:
                file.write(said[: command.output_bytes])
        self.printed += len(said)
        code = process.returncode if process.returncode is not None and process.returncode >= 0 else KILLED
        return CommandEnd(
            code,
            "timeout" if why == "timeout" else "exited",
            time.monotonic() - began,
            said[-SAID_BYTES:],
            len(said),
        )

    def _argv(self, command: Command) -> list[str]:
        seen = [part for each in self.mounts for part in ("--ro-bind", str(each.source), each.target)]
        env = {"PATH": PATH, "HOME": HOME, **command.env}
        told = [part for name, value in env.items() for part in ("--setenv", name, value)]
        return [
            *("bwrap", "--bind", str(self.root), "/", "--proc", "/proc", "--dev", "/dev"),
            *("--tmpfs", "/tmp", "--tmpfs", "/run", *seen, *NAMESPACES),
            *("--die-with-parent", "--new-session", "--clearenv", *told, "--chdir", command.cwd),
            *command.argv,
        ]

    async def put(self, source: Path, target: str) -> None:
        place = self.root / target.lstrip("/")
        await asyncio.to_thread(_copied, source, place)

    async def files(self, target: str) -> Path:
        return self.root / target.lstrip("/")

    def consumed(self) -> Consumed:
        return Consumed(output_bytes=self.printed)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        for name in ("root", "disk"):
            subprocess.run(["umount", "-l", str(self.place / name)], capture_output=True, check=False)
        shutil.rmtree(self.place, ignore_errors=True)


def _copied(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, place)
