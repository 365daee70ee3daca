"""No containment: programs run on this machine itself, in a temporary folder. Only for whoever asks for it by name."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from proctor.sandbox.contract import HOME, Box, Command, CommandEnd, Mount, Policy
from proctor.trial_record import Consumed

FOLDERS = ("/app/repo", "/app/artifacts", "/app/evaluation", HOME, "/tmp")
SAID_BYTES = 65_536


@dataclass(frozen=True, slots=True)
class Local:
    """Folders below `boxes`. It holds no limit but that of time, and keeps nothing from the network."""

    boxes: Path
    name: str = "local"
    told: str = "local: not contained, on this machine itself, with its network"
    image_sha256: str = ""

    async def check(self, policy: Policy) -> None:
        """It promises nothing that could fail."""

    async def open(self, policy: Policy, mounts: Sequence[Mount] = ()) -> Box:
        self.boxes.mkdir(parents=True, exist_ok=True)
        place = Path(tempfile.mkdtemp(prefix="local-", dir=self.boxes))
        for each in FOLDERS:
            (place / each.lstrip("/")).mkdir(parents=True, exist_ok=True)
        return LocalBox(place, {each.target: str(each.source) for each in mounts})


@dataclass(slots=True)
class LocalBox:
    """A folder. Paths of a box in the words and the environment of a command become those of this machine."""

    place: Path
    seen: dict[str, str]
    printed: int = field(default=0)

    async def run(self, command: Command) -> CommandEnd:
        began = time.monotonic()
        env = {"PATH": os.defpath, "HOME": HOME, "TMPDIR": "/tmp", **command.env}
        process = await asyncio.create_subprocess_exec(
            *map(self._here, command.argv),
            env={name: self._here(value) for name, value in env.items()},
            cwd=self._here(command.cwd),
            stdin=PIPE if command.stdin else DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
        said, why = b"", "exited"
        try:
            async with asyncio.timeout(command.timeout_s):
                said, _ = await process.communicate(command.stdin or None)
        except TimeoutError:
            why = "timeout"
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        if command.output is not None:
            with command.output.open("ab") as file:
                file.write(said[: command.output_bytes])
        self.printed += len(said)
        code = process.returncode or 0
        return CommandEnd(
            code if code >= 0 else 128 - code,
            "timeout" if why == "timeout" else "exited",
            time.monotonic() - began,
            said[-SAID_BYTES:],
            len(said),
        )

    def _here(self, word: str) -> str:
        for target, source in self.seen.items():
            word = word.replace(target, source)
        for each in FOLDERS:
            word = word.replace(each, f"{self.place}{each}")
        return word

    async def put(self, source: Path, target: str) -> None:
        await asyncio.to_thread(_copied, source, self.place / target.lstrip("/"))

    async def files(self, target: str) -> Path:
        return self.place / target.lstrip("/")

    def consumed(self) -> Consumed:
        return Consumed(output_bytes=self.printed)

    async def close(self) -> None:
        await asyncio.to_thread(shutil.rmtree, self.place, ignore_errors=True)


def _copied(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, place, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, place)
