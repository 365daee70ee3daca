"""A raw HTTP server for provider tests: it keeps what it was sent and answers with what the test wrote down."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Script:
    """One answer. `body` may be bytes, or anything that becomes JSON."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def octets(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


@dataclass(frozen=True)
class Sent:
    """One request as it came over the wire; header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Recording:
    url: str
    sent: list[Sent]

    @property
    def last(self) -> Sent:
        return self.sent[-1]


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.sent.append(Sent(self.command, self.path, headers, self.rfile.read(length)))
        script = self.server.scripts[min(len(self.server.sent), len(self.server.scripts)) - 1]
        self.send_response(script.status)
        for name, value in {"Content-Type": "application/json", **script.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(script.octets)))
        self.end_headers()
        self.wfile.write(script.octets)

    do_GET = do_POST = _answer

    def log_message(self, *words: object) -> None:
        """Nothing: the test tells what matters."""


@contextmanager
def recording(scripts: Sequence[Script]) -> Iterator[Recording]:
    """A server that gives the answers in their order; the last one goes on for ever."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Door)
    server.daemon_threads = True
    server.sent, server.scripts = [], list(scripts)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Recording(f"http://127.0.0.1:{server.server_address[1]}", server.sent)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
