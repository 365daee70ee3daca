"""Modal as a sandbox: asked only with a token, its network blocked, what it left of dead processes terminated."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from proctor.errors import SandboxError, SandboxMissing
from proctor.sandbox.contract import Box, Command, Mount, Policy
from proctor.sandbox.image import ImageRecipe
from proctor.sandbox.modal.box import ModalBox
from proctor.sandbox.modal.images import base_image, task_image
from proctor.sandbox.modal.words import APP, connected, library, told

LOG = logging.getLogger(__name__)
INIT = ("/bin/sh", "-c", "trap '' CHLD; while :; do sleep 3600; done")
HOST, OWNER = "proctor-host", "proctor-owner"  # tags, by which sandboxes of dead processes are found
# Who it is, whether it reaches anything, and whether the root is its own: asked by a program in a sandbox.
LOOK = """
import os, socket
try:
    socket.create_connection(("1.1.1.1", 443), 3).close()
    reached = "reached"
except OSError:
    reached = "blocked"
print(os.getuid(), reached, os.access("/etc/passwd", os.W_OK))
"""


@dataclass(slots=True)
class ModalSandbox:
    """Sandboxes of Modal, each of which lives `lifetime_s` at most, on what Modal builds of a recipe."""

    home: Path
    boxes: Path
    recipe: ImageRecipe
    lifetime_s: float
    name: str = "modal"
    image_sha256: str = ""  # Modal tells no hash of what an image holds
    client: Any = None
    app: Any = None
    connecting: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def told(self) -> str:
        return (
            "modal, network blocked, loopback by a relay; disk and processes are held as Modal does; "
            "this way is not run against Modal itself by proctor's tests"
        )

    async def check(self, policy: Policy) -> None:
        """Open one as it is wanted, and look around in it. Raises: SandboxMissing."""
        await self._connect()
        await self._sweep()
        try:
            box = await self._open(policy, (), None)
            try:
                ended = await box.run(Command(("python3", "-c", LOOK), cwd="/", timeout_s=60.0))
            finally:
                await box.close()
        except SandboxMissing:
            raise
        except SandboxError as error:
            raise SandboxMissing(f"Modal does not give a sandbox as it is wanted: {error}") from None
        said = ended.said.decode("utf-8", "replace").strip()
        if said != "1000 blocked False":
            raise SandboxMissing(
                "A sandbox of Modal is not as it is wanted, which is user 1000, with its network blocked and a root "
                f"that it cannot write: {said!r} (exit code {ended.code})"
            )

    async def open(self, policy: Policy, mounts: Sequence[Mount] = (), build: Path | None = None) -> Box:
        await self._connect()
        return await self._open(policy, mounts, build)

    async def _open(self, policy: Policy, mounts: Sequence[Mount], build: Path | None) -> ModalBox:
        image = base_image(self.recipe) if build is None else task_image(self.recipe, build)
        with told("Modal did not make a sandbox"):
            made = await library().Sandbox.create.aio(*INIT, image=image, **self._terms(policy))
        self.boxes.mkdir(parents=True, exist_ok=True)
        box = ModalBox(made, policy, Path(tempfile.mkdtemp(prefix="modal-", dir=self.boxes)))
        try:
            await box.furnish(mounts)
        except (SandboxError, asyncio.CancelledError):
            await box.close()
            raise
        return box

    def _terms(self, policy: Policy) -> Mapping[str, Any]:
        """Requests that are limits as well, since a box is to have what was promised and no more."""
        return {
            "app": self.app,
            "client": self.client,
            "tags": {HOST: _word(socket.gethostname()), OWNER: _owner()},
            "timeout": int(self.lifetime_s),
            "cpu": (policy.cpus, policy.cpus),
            "memory": (policy.memory_mb, policy.memory_mb),
            "block_network": True,
        }

    async def _connect(self) -> None:
        """Raises: SandboxMissing."""
        async with self.connecting:
            if self.app is None:
                self.client = await connected(self.home)
                with told("Modal does not know the app"):
                    self.app = await library().App.lookup.aio(APP, create_if_missing=True, client=self.client)

    async def _sweep(self) -> None:
        """Terminate what processes of this machine left that were killed."""
        with told("Modal does not list its sandboxes"):
            listed = library().Sandbox.list
            host = {HOST: _word(socket.gethostname())}
            async for each in listed.aio(app_id=self.app.app_id, tags=host, client=self.client):
                if not _lives((await each.get_tags.aio()).get(OWNER, "")):
                    await each.terminate.aio()


def _owner() -> str:
    """This process, so that nobody takes another with its number for it."""
    return f"{os.getpid()}-{psutil.Process().create_time():.0f}"


def _lives(owner: str) -> bool:
    pid, _, began = owner.partition("-")
    if not (pid.isdigit() and began.isdigit()):
        return False
    try:
        return bool(abs(psutil.Process(int(pid)).create_time() - int(began)) <= 1.0)
    except psutil.NoSuchProcess:
        return False


def _word(name: str) -> str:
    """As tags may be."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", name)[:60]
