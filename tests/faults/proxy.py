"""A TCP proxy between two programs that can cut the line, or make the far side behave as bad servers do."""

from __future__ import annotations

import random
import socket
import struct
import threading
from dataclasses import dataclass, field
from pathlib import Path

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing sends a reset, as a machine does that has gone
GARBAGE_BYTES = 4096
MODES = ("pass", "cut", "slow", "endless", "garbage")


@dataclass(eq=False)
class Proxy:
    """Passes bytes on to `target`. What `mode` says holds for connections that are made, or asked on, while it stands.

    cut: every connection is reset, and new ones too. slow: a byte a second of each answer. endless: an HTTP answer
    that never ends. garbage: bytes that are no HTTP.
    """

    target: tuple[str, int]
    mode: str = "pass"
    seed: int = 0
    _listening: socket.socket = field(init=False)
    _open: set[socket.socket] = field(init=False, default_factory=set)
    _over: threading.Event = field(init=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def be(self, mode: str) -> None:
        assert mode in MODES
        self.mode = mode
        if mode == "cut":
            for each in list(self._open):
                _reset(each)

    def close(self) -> None:
        self._over.set()
        self._listening.close()
        for each in list(self._open):
            _reset(each)

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                near, _ = self._listening.accept()
            except OSError:
                return  # closed
            if self.mode == "cut":
                _reset(near)
                continue
            try:
                far = socket.create_connection(self.target, timeout=10)
            except OSError:
                _reset(near)  # nobody is there just now
                continue
            far.settimeout(None)
            self._open |= {near, far}
            threading.Thread(target=self._up, args=(near, far), daemon=True).start()
            threading.Thread(target=self._down, args=(near, far), daemon=True).start()

    def _up(self, near: socket.socket, far: socket.socket) -> None:
        """What is asked."""
        try:
            while data := near.recv(65536):
                if self.mode in ("endless", "garbage"):
                    self._spoil(near, self.mode)
                    break
                far.sendall(data)
        except OSError:
            pass
        self._end(near, far)

    def _down(self, near: socket.socket, far: socket.socket) -> None:
        """What is answered."""
        try:
            while data := far.recv(65536):
                if self.mode == "slow":
                    self._drip(near, data)
                near.sendall(data)
        except OSError:
            pass
        self._end(near, far)

    def _drip(self, near: socket.socket, data: bytes) -> None:
        """A byte a second for as long as anybody listens: this connection stays slow."""
        for place in range(len(data)):
            near.sendall(data[place : place + 1])
            if self._over.wait(1.0):
                return

    def _spoil(self, near: socket.socket, mode: str) -> None:
        if mode == "garbage":
            near.sendall(random.Random(self.seed).randbytes(GARBAGE_BYTES))
            return
        near.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{")
        while not self._over.is_set():
            near.sendall(b" " * 65536)

    def _end(self, near: socket.socket, far: socket.socket) -> None:
        for each in (near, far):
            self._open.discard(each)
            _reset(each)


def _reset(connection: socket.socket) -> None:
    """Both directions at once, also under a thread that waits on it."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass  # it had ended
    try:
        connection.close()
    except OSError:
        pass


def fill(folder: Path) -> Path:
    """A file that takes all room that is left on the folder's disk."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        size = 1 << 20
        while size:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2
    return path
