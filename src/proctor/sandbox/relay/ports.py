"""The ports of a box that a relay serves: a listening socket here for each, and the program that carries to it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from proctor.errors import SandboxError
from proctor.sandbox.contract import Loopback
from proctor.sandbox.loopback import WAITING
from proctor.sandbox.relay.carrying import Pipe, Relay
from proctor.sandbox.relay.frames import RelayBroken

LOG = logging.getLogger(__name__)
READY_S = 60.0
LONGEST = 100  # bytes of a unix socket's path; unix(7) has room for 108


@cache
def program() -> tuple[str, ...]:
    """The command that carries, for a box; its code stands in its words, so that the box needs no file for it."""
    return ("python3", "-I", "-B", "-c", (Path(__file__).parent / "inside.py").read_text())


@dataclass(slots=True)
class RelayPorts:
    """Of one box. `place` is a folder of this user alone."""

    place: Path
    addresses: dict[int, str] = field(default_factory=dict)  # by port
    sockets: dict[int, socket.socket] = field(default_factory=dict)
    made: list[Path] = field(default_factory=list)  # folders where the place's path is too long

    def listen(self, port: int) -> Loopback:
        """Raises: SandboxError where somebody listens there already, whose socket is open."""
        if port in self.sockets and self.sockets[port].fileno() >= 0:
            raise SandboxError(f"Nothing can listen at port {port} of a box: Address already in use")
        path = self.place / f"port-{port}"
        if len(str(path).encode()) > LONGEST:
            self.made.append(Path(tempfile.mkdtemp(prefix="relay-")))
            path = self.made[-1] / str(port)
        made = socket.socket(socket.AF_UNIX)
        try:
            path.unlink(missing_ok=True)
            made.bind(str(path))
            made.listen(WAITING)
        except OSError as error:
            made.close()
            raise SandboxError(f"Nothing can listen at port {port} of a box: {path}: {error}") from error
        self.addresses[port], self.sockets[port] = str(path), made
        return Loopback(made, port)

    @asynccontextmanager
    async def carried(self, pipe: Pipe) -> AsyncIterator[None]:
        """Connections of the box come to these sockets meanwhile. What the box does to its relay is its own affair.

        Raises: SandboxError where it does not begin.
        """
        relay = Relay(self.addresses, pipe)
        carrying = asyncio.create_task(_carried(relay))
        beginning = asyncio.create_task(relay.ready.wait())
        try:
            await asyncio.wait((carrying, beginning), timeout=READY_S, return_when=asyncio.FIRST_COMPLETED)
            if not relay.ready.is_set():
                told = pipe.said.decode("utf-8", "replace").strip()[-500:]
                raise SandboxError(
                    "The relay to a box's loopback does not begin there, which needs a python3 of 3.8 or newer in "
                    f"its image: {told or (carrying.done() and carrying.result()) or 'it says nothing'}"
                )
            yield
        finally:
            for each in (beginning, carrying):
                each.cancel()
            with suppress(asyncio.CancelledError):
                await carrying

    def leave(self) -> None:
        """Whoever listens closes its sockets; nobody is led to them any more."""
        for each in self.made:
            shutil.rmtree(each, ignore_errors=True)
        self.addresses.clear()


async def _carried(relay: Relay) -> str:
    """Why it ended."""
    try:
        await relay.carry()
    except (RelayBroken, OSError) as error:
        LOG.warning("The relay of a box ended: %s", error)
        return str(error)
    return "it ended"
