"""The whole server in this process, so that tests may count what its watchers make it do."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI
from sqlalchemy import event

from proctor.api.app import create_app
from proctor.service.context import Context
from proctor.service.watch.hub import WatchHub
from proctor.settings import Settings
from proctor.web.app import add_pages

PATIENCE_S = 30.0


@dataclass
class Served:
    """A server on a port of its own; `statements` are the database's, as its engine tells them."""

    app: FastAPI
    loop: asyncio.AbstractEventLoop
    port: int
    statements: list[str] = field(default_factory=list)
    open: list[Listener] = field(default_factory=list)

    @property
    def hub(self) -> WatchHub:
        hub: WatchHub = self.app.state.hub
        return hub

    @property
    def context(self) -> Context:
        context: Context = self.app.state.context
        return context

    def looks(self) -> int:
        """The statements by which runs are looked at as they move."""
        return sum("told_at" in each for each in self.statements)

    def there(self, work: Callable[[], Awaitable[Any]]) -> Any:
        """What a coroutine gives in the server's own loop."""

        async def made() -> Any:
            return await work()

        return asyncio.run_coroutine_threadsafe(made(), self.loop).result(PATIENCE_S)

    def tasks(self) -> int:
        async def count() -> int:
            return len(asyncio.all_tasks())

        found: int = self.there(count)
        return found

    def stream(self, path: str, cookie: str = "") -> Listener:
        self.open.append(Listener(self.port, path, cookie))
        return self.open[-1]


class Listener:
    """A browser's stream of events: what it has heard so far, and whether it was closed at the other end."""

    def __init__(self, port: int, path: str, cookie: str = "") -> None:
        self.heard = b""
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n\r\n"
        self.connection.sendall(head.encode())
        while b"\r\n\r\n" not in self.heard:
            self.heard += self.connection.recv(4096) or self._short()
        self.connection.setblocking(False)

    @property
    def over(self) -> bool:
        """Whether the server has said its last."""
        self.count("end")
        return self.heard.endswith(b"\r\n0\r\n\r\n")

    def _short(self) -> bytes:
        raise AssertionError(f"the server hung up: {self.heard!r}")

    @property
    def status(self) -> int:
        return int(self.heard.split()[1])

    def count(self, name: str) -> int:
        """How often an event was heard by now."""
        try:
            while more := self.connection.recv(4096):
                self.heard += more
        except BlockingIOError:
            pass
        return self.heard.count(f"event: {name}\n".encode())

    def close(self) -> None:
        self.connection.close()


@contextmanager
def served(settings: Settings) -> Iterator[Served]:
    app = add_pages(create_app(settings))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    here: dict[str, asyncio.AbstractEventLoop] = {}

    async def work() -> None:
        here["loop"] = asyncio.get_running_loop()
        await server.serve(sockets=[listening])

    thread = threading.Thread(target=lambda: asyncio.run(work()))
    thread.start()
    try:
        until(lambda: server.started)
        found = Served(app, here["loop"], listening.getsockname()[1])

        def told(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            found.statements.append(statement)

        event.listen(found.context.store.engine, "before_cursor_execute", told)
        yield found
        for listener in found.open:
            listener.close()
    finally:
        server.should_exit = True
        thread.join(PATIENCE_S)


def until(true: Callable[[], bool]) -> None:
    """Wait for it, as long as one is patient."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
