"""Sockets of this machine that nobody in a box can reach: what comes in at one came out of a box.

TCP and UDP at 127.0.0.1 and ::1, a socket with an abstract name, and one with a path, which plays a daemon: it tells
its canary to whoever connects. And knocking: whether a port that an exploit opened is reached from here.
"""

from __future__ import annotations

import secrets
import selectors
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

HERE, HERE6 = "127.0.0.1", "::1"
LOOK_S = 0.05


@dataclass(slots=True)
class Ears:
    """Listens in a thread of its own until it is closed."""

    path: Path
    answer: str
    abstract: str = field(default_factory=lambda: f"proctor-gauntlet-{secrets.token_hex(6)}")
    heard: list[str] = field(default_factory=list)
    bytes_heard: bytearray = field(default_factory=bytearray)
    knocked: bool = False
    marker: str = "?"  # what a port of the exploit answers
    port_to_knock: int = 0
    _sockets: dict[str, socket.socket] = field(default_factory=dict)
    _done: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def begin(self) -> Ears:
        """Raises: OSError."""
        self._sockets = {"tcp": socket.create_server((HERE, 0)), "udp": socket.socket(type=socket.SOCK_DGRAM)}
        self._sockets["udp"].bind((HERE, 0))
        with suppress(OSError):  # a machine without IPv6
            self._sockets["tcp6"] = socket.create_server((HERE6, 0), family=socket.AF_INET6)
        for name, at in (("abstract", f"\0{self.abstract}"), ("daemon", str(self.path))):
            self._sockets[name] = socket.socket(socket.AF_UNIX)
            self._sockets[name].bind(at)
            self._sockets[name].listen()
        self.port_to_knock = _free_port()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        return self

    @property
    def told(self) -> Mapping[str, str]:
        """What an exploit is told of them, as variables."""
        ports = {
            f"GAUNTLET_{n.upper()}": str(s.getsockname()[1])
            for n, s in self._sockets.items()
            if n[:3] in ("tcp", "udp")
        }
        here = {"GAUNTLET_ABSTRACT": self.abstract, "GAUNTLET_DAEMON": str(self.path)}
        return {**ports, **here, "GAUNTLET_PORT": str(self.port_to_knock)}

    def fresh(self, marker: str) -> None:
        """Forget what was heard; the next exploit has this marker."""
        self.marker = marker
        self.heard.clear()
        self.bytes_heard.clear()
        self.knocked = False

    def close(self) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()
        for each in self._sockets.values():
            each.close()
        self.path.unlink(missing_ok=True)

    def _listen(self) -> None:
        with selectors.DefaultSelector() as ready:
            for name, each in self._sockets.items():
                each.setblocking(False)
                ready.register(each, selectors.EVENT_READ, name)
            while not self._done.is_set():
                for key, _ in ready.select(LOOK_S):
                    self._hear(str(key.data), self._sockets[str(key.data)])
                self._knock()

    def _hear(self, name: str, listening: socket.socket) -> None:
        self.heard.append(name)
        with suppress(OSError):
            if name == "udp":
                self.bytes_heard += listening.recv(65_536)
                return
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(LOOK_S)
                if name == "daemon":
                    connection.sendall(self.answer.encode())
                self.bytes_heard += connection.recv(65_536)

    def _knock(self) -> None:
        if not self.knocked:
            with suppress(OSError), socket.create_connection((HERE, self.port_to_knock), LOOK_S) as found:
                self.knocked = self.marker.encode() in found.recv(64)


def _free_port() -> int:
    with socket.create_server((HERE, 0)) as trying:
        port: int = trying.getsockname()[1]
        return port
