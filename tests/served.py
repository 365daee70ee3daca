"""A real server for tests: `proctor serve` in a process of its own, and a client that speaks JSON to it."""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import started

PREFIX = "/api/v1/benchmarking"


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any
    headers: Mapping[str, str]


@dataclass(frozen=True)
class Server:
    """Where it listens. `ask` gives the answer whatever its status."""

    url: str

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, _read(answer), answer.headers)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, _read(error), error.headers)

    def get(self, path: str) -> Any:
        answer = self.ask("GET", path)
        assert answer.status == 200, answer
        return answer.body

    def post(self, path: str, body: object = None) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status in (200, 201), answer
        return answer.body

    def submit(self, provider: str, model: str, suite: str = "glue", **config: Any) -> str:
        """A job on the suite's sample rows; its id."""
        whole = {"provider": provider, "model": model, "data": "sample", **config}
        body = {"project_id": 1, "suite": suite, "config": whole}
        job_id: str = self.post(f"{PREFIX}/run", body)["job_id"]
        return job_id

    def ended(self, job_id: str, *, s: float = 60.0) -> Any:
        """What the job shows once it has ended."""
        deadline = time.monotonic() + s
        while time.monotonic() < deadline:
            state = self.get(f"/api/v1/jobs/status/{job_id}/poll?timeout=10")
            if state["ended"]:
                return self.get(f"{PREFIX}/results/{job_id}")
        raise AssertionError(f"{job_id} has not ended within {s:g} s")


def _read(answer: Any) -> Any:
    text = answer.read()
    kind = answer.headers.get("Content-Type", "")
    return json.loads(text) if kind.startswith("application/json") else text.decode()


@contextmanager
def serving(home: Path, *options: str, **environ: str) -> Iterator[Server]:
    """`proctor serve` on a free port until the block ends."""
    process = started(home, ["serve", "--port", "0", *options], **environ)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, process.communicate()[1]
        # Nobody reads what it says; a full pipe would stop it in the middle of a traceback.
        reader = threading.Thread(target=process.communicate, daemon=True)
        reader.start()
        try:
            yield Server(line.partition("proctor serves at ")[2].split()[0])
        finally:
            process.terminate()
            reader.join(30)
        assert not reader.is_alive(), "the server does not end"
    finally:
        process.kill()
        process.wait(30)
