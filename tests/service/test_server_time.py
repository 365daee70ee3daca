"""A vLLM tells its time in its metrics, not in its replies: a run's part of them counts if it is the run's alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import orjson

from proctor.findings import RunResult
from proctor.service.runs import start
from proctor.types import Cell, Limits, Model, Plan, SourceRef
from programs import csv_of_sums
from simulators import settings
from wire_bodies import BODIES

EACH_S = 0.0005  # what the server says that it worked on each request
NAME = "vllm:request_inference_time_seconds"


class _Door(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.asked += self.server.each
        self._say(orjson.dumps(BODIES["openai"]))

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
def vllm(*, each: int = 1, owner: str = "vllm") -> Iterator[ThreadingHTTPServer]:
    """A server that lists its model as vLLM does and counts `each` requests where one is made."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Door)
    server.daemon_threads = True
    server.lock, server.asked, server.looks = threading.Lock(), 100, 0
    server.each, server.owner = each, owner
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def asked(home, server: ThreadingHTTPServer, n: int = 12) -> RunResult:
    model = Model("openai", "m", f"http://127.0.0.1:{server.server_address[1]}/v1")
    cell = Cell(model, SourceRef("file", str(csv_of_sums(home / "sums.csv", n))), limits=Limits(parallel=2))
    ended = start(Plan((cell,)), settings(home))
    assert ended.evaluation is not None
    return ended.evaluation.results[0]


def test_the_runs_own_part_of_the_metrics_is_its_service_time(tmp_path):
    with vllm() as server:
        result = asked(tmp_path, server)
    speed = result.tally.speed
    assert speed is not None and speed.basis == "server"
    assert (round(speed.service_s or 0.0, 9), speed.served, speed.timed) == (EACH_S, 12, 12)
    assert result.run.manifest["server_clock"]["requests"] == 12
    assert server.looks == 2


def test_where_another_client_asked_too_nothing_is_measured_and_the_manifest_says_why(tmp_path):
    with vllm(each=2) as server:
        result = asked(tmp_path, server)
    assert result.tally.speed is not None and result.tally.speed.basis == "measured"
    assert (
        "count 24 requests meanwhile, where this run made 12"
        in result.run.manifest["server_clock"]["why_not"]
    )


def test_a_server_that_does_not_say_it_is_a_vllm_is_not_asked_for_metrics(tmp_path):
    with vllm(owner="somebody") as server:
        result = asked(tmp_path, server)
    assert server.looks == 0
    assert "server_clock" not in result.run.manifest
