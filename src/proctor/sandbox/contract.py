"""What every sandbox offers: boxes, which are roots of their own with hard limits, and what is run in them.

    Sandbox   a way of containing                  probed by doing before anything is asked of it
    Box       one root, copied on write            holds what one agent, or one verifier, leaves behind
    Command   what is run in a box                 its whole process tree is dead when `run` returns

A sandbox that cannot hold a policy refuses it (SandboxMissing): nothing runs less contained than was asked for.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from proctor.trial_record import Consumed

REPO = "/app/repo"
ARTIFACTS = "/app/artifacts"
HOME = "/home/agent"


@dataclass(frozen=True, slots=True)
class Policy:
    """What a box may use. There is no network in any of them, but for a loopback that ends on this machine.

    What is written in a box lies in memory, so that a box takes `memory_mb` and `disk_mb` of it: a full disk is told
    to whoever writes, and never has a program killed for want of memory. `writable` are further folders that programs
    of the box may write into, as absolute paths; they are made where the image lacks them.
    """

    memory_mb: int = 2048
    cpus: float = 1.0
    pids: int = 256
    disk_mb: int = (
        1024  # of all that is written in the box, wherever: /app, /home/agent, /tmp, /run, /dev/shm
    )
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mount:
    """A file or folder of this machine that is seen in the box at `target`, read-only."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True)
class Command:
    """What is run: `env` is all of its environment, `timeout_s` None means until it ends by itself.

    `waited_s` tells the seconds so far that do not count as its own: they put its end off.
    What it prints is appended to `output` (stdout and stderr together) up to `output_bytes`; the rest is counted and
    thrown away, so that a flood neither fills the disk nor stops the command.
    """

    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = REPO
    stdin: bytes = b""
    timeout_s: float | None = None
    output: Path | None = None
    output_bytes: int = 10_000_000
    waited_s: Callable[[], float] | None = None


@dataclass(frozen=True, slots=True)
class CommandEnd:
    """How a command ended. `code` is as shells tell it (137: killed); `why` tells an end that it did not choose."""

    code: int
    why: Literal["exited", "timeout"] = "exited"
    seconds: float = 0.0
    said: bytes = b""  # the end of what it printed, 64 kB at most
    printed_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Loopback:
    """A listening socket of this machine, and the port of 127.0.0.1 at which programs of a box reach it."""

    socket: socket.socket
    port: int


class Box(Protocol):
    """One root of its own, until it is closed. Its commands see each other's files, and nothing of other boxes."""

    async def run(self, command: Command) -> CommandEnd:
        """Run a command to its end or its time limit; nothing that it started lives on. Cancelling kills it likewise.

        Raises: SandboxError where the sandbox itself failed, never for what the command did.
        """

    async def put(self, source: Path, target: str) -> None:
        """Copy a file or folder of this machine into the box, owned by whoever runs there. Raises: SandboxError."""

    async def files(self, target: str) -> Path:
        """A folder of the box as this machine sees it, once nothing runs in it any more. Its content is hostile:
        links may lead anywhere. It is there until the box is closed. Raises: SandboxError."""

    async def listen(self, port: int) -> Loopback:
        """Something that programs of the box reach at its own loopback, from now on, and programs of other boxes do
        not. It gets this port where the box has a network of its own. Whoever asked accepts, and closes the socket
        before the box. Raises: SandboxError where the sandbox cannot: no other way out is opened.
        """

    def consumed(self) -> Consumed:
        """What was measured since it was opened."""

    async def close(self) -> None:
        """Kill what runs, unmount, delete. Nothing of the box is left on this machine. Never raises."""


class Sandbox(Protocol):
    """A way of containing."""

    @property
    def name(self) -> str:
        """As it is asked for: "bubblewrap"."""

    @property
    def told(self) -> str:
        """How it contains, in words, for summaries: "bubblewrap, no network, 2 GB, 1 core, 256 processes"."""

    @property
    def image_sha256(self) -> str:
        """The hash of the root that boxes begin with; "" before `check`."""

    async def check(self, policy: Policy) -> None:
        """Try by doing whether this machine can hold the policy. Raises: SandboxMissing, saying what to do."""

    async def open(self, policy: Policy, mounts: Sequence[Mount] = (), build: Path | None = None) -> Box:
        """A new box on the image; `build` is the task's folder, for sandboxes that build an image of its Dockerfile.

        Raises: SandboxError.
        """
