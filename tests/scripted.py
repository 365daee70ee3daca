"""A server that says byte for byte what a test wants, and keeps what it was sent; and requests through the wire."""

from __future__ import annotations

import asyncio
import socketserver
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from proctor.errors import ProviderError
from proctor.providers.contract import Opening
from proctor.providers.passthrough import open_passthrough
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.types import Item, Model, Reply, Request
from simulators import settings

JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Said:
    """An answer: its pieces are sent one by one, `gap_s` apart, and the connection is then closed."""

    pieces: Sequence[bytes]
    status: int = 200
    kind: str = JSON
    headers: Sequence[str] = ()
    gap_s: float = 0.02


LISTED = Said([orjson.dumps({"object": "list", "data": [{"id": "m"}]})])


@dataclass
class Scripted:
    """`asked` has a request's path, headers and body each."""

    url: str = ""
    asked: list[tuple[str, str, bytes]] = field(default_factory=list)

    @property
    def bodies(self) -> list[bytes]:
        """Those that had one: not the looks at the server."""
        return [body for _, _, body in self.asked if body]


Answer = Callable[[str, bytes], Said]


@contextmanager
def scripted(answer: Answer) -> Iterator[Scripted]:
    """A server on a port of its own; `answer` is given path and body of each POST."""
    script = Scripted()

    class Door(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += self.rfile.readline()
            size = next(
                (line for line in head.lower().splitlines() if line.startswith(b"content-length:")), b":0"
            )
            body = self.rfile.read(int(size.partition(b":")[2]))
            method, path, _ = head.decode().split(" ", 2)
            script.asked.append((path, head.decode(), body))
            told = answer(path, body) if method == "POST" else LISTED
            lines = [
                f"HTTP/1.1 {told.status} So",
                f"Content-Type: {told.kind}",
                "Connection: close",
                *told.headers,
            ]
            with suppress(OSError):  # the client may leave in the middle: its right
                self.wfile.write(("\r\n".join(lines) + "\r\n\r\n").encode())
                for piece in told.pieces:
                    self.wfile.write(piece)
                    time.sleep(told.gap_s)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Door) as server:
        script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield script
        finally:
            server.shutdown()
            thread.join()


def request(body: bytes | dict[str, object], url: str = "/v1/chat/completions") -> Item:
    told = body if isinstance(body, bytes) else orjson.dumps(body)
    return Item("one", "requests", Request(url, told, "theirs"))


def passed(
    model: Model, home: Path, *items: Item, stream: bool = False, **environ: str
) -> list[Reply | ProviderError]:
    """What came of each request, sent one after the other through one provider."""

    async def work() -> list[Reply | ProviderError]:
        known = settings(home, **environ)
        http = Http(parallel=4, timeout_s=10.0, secrets=known.secrets)
        found: list[Reply | ProviderError] = []
        try:
            opened = open_passthrough(model, Opening(known, http, read_prices(home)), stream=stream)
            for item in items:
                try:
                    found.append(await opened(item, 0))
                except ProviderError as error:
                    found.append(error)
        finally:
            await http.close()
        return found

    return asyncio.run(work())


def checked(model: Model, home: Path) -> None:
    """A look at the model as before a run. Raises: ProviderError."""

    async def look() -> None:
        http = Http(parallel=2, timeout_s=10.0)
        try:
            await open_passthrough(model, Opening(settings(home), http, read_prices(home))).check()
        finally:
            await http.close()

    asyncio.run(look())


def reply_to(model: Model, home: Path, item: Item, *, stream: bool = False, **environ: str) -> Reply:
    (found,) = passed(model, home, item, stream=stream, **environ)
    assert isinstance(found, Reply), found
    return found


def failure_of(
    model: Model, home: Path, item: Item, *, stream: bool = False, **environ: str
) -> ProviderError:
    (found,) = passed(model, home, item, stream=stream, **environ)
    assert isinstance(found, ProviderError), found
    return found
