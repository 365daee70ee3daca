"""Servers that tell how long they worked on requests: vLLM's metrics, llama.cpp's timings; and a run on one of them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson

from opened import start
from proctor.findings import RunResult
from proctor.references import ExamRef
from proctor.types import Cell, Limits, Model, Plan
from programs import csv_of_sums
from simulators import settings
from wire_bodies import BODIES

EACH_S = 0.0005  # what the server says that it worked on each request
NAME = "vllm:request_inference_time_seconds"
TIMINGS = {"timings": {"prompt_ms": 0.2, "predicted_ms": 0.3}}  # of llama.cpp


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.asked += self.server.each
        self._say(orjson.dumps({**BODIES["openai"], **self.server.more}))

    def do_GET(self) -> None:
        if self.path != "/metrics":
            self._say(orjson.dumps({"data": [{"id": "m", "owned_by": self.server.owner}]}))
            return
        with self.server.lock:
            self.server.looks += 1
            count = self.server.asked
        labels = '{engine="0",model_name="m"}'
        text = f"{NAME}_sum{labels} {count * EACH_S}\n{NAME}_count{labels} {float(count)}\n"
        self._say(text.encode())

    def _say(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing: the test tells what matters."""


@contextmanager
def telling(
    *, each: int = 1, owner: str = "vllm", more: Mapping[str, Any] | None = None
) -> Iterator[ThreadingHTTPServer]:
    """A server whose list says who it is, which counts `each` requests where one is made and says `more` in replies."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Door)
    server.daemon_threads = True
    server.lock, server.asked, server.looks = threading.Lock(), 100, 0
    server.each, server.owner, server.more = each, owner, more or {}
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(home: Path, server: ThreadingHTTPServer, n: int = 12) -> RunResult:
    model = Model("openai", "m", f"http://127.0.0.1:{server.server_address[1]}/v1")
    cell = Cell(model, ExamRef("file", str(csv_of_sums(home / "sums.csv", n))), limits=Limits(parallel=2))
    ended = start(Plan((cell,)), settings(home))
    assert ended.evaluation is not None
    return ended.evaluation.results[0]
