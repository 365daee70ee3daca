"""What the routes of benchmarks answer, for the examples of the OpenAPI document."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from request_files import lines
from served import Server
from uploads import upload

AT = "/admin/benchmarks"
ONE = f"{AT}/{{benchmark_id}}"
ENDED = ("completed", "failed", "cancelled")
HANG_S = 60.0


def benchmarks_told(server: Server) -> Mapping[tuple[str, str], tuple[int, Any]]:
    """By method and path in the document: status and body."""
    ident = upload(server, ("nightly.jsonl", lines(20)), at="/admin/datasets/upload").body["dataset_id"]
    found: dict[tuple[str, str], tuple[int, Any]] = {}
    names: dict[str, str] = {}

    def ask(method: str, path: str, body: object = None, query: str = "") -> Any:
        answer = server.ask(method, path.format(**names) + query, body)
        found[method.lower(), path] = answer.status, answer.body
        return answer.body

    asked = {"model_id": "simulator/sim", "dataset_id": ident}
    names["benchmark_id"] = ask("POST", f"{AT}/run", asked)["benchmark_id"]
    _until_ended(server, names["benchmark_id"])
    ask("GET", ONE)
    first, second = (line["custom_id"] for line in ask("GET", f"{ONE}/results", query="?limit=2")["results"])
    names["custom_id"] = first
    ask("PUT", f"{ONE}/labels/{{custom_id}}", {"verdict": "good", "tags": ["short"]})
    ask("GET", f"{ONE}/labels/{{custom_id}}")
    ask("GET", f"{ONE}/results/{{custom_id}}")
    names["custom_id"] = second
    ask("POST", f"{ONE}/best/{{custom_id}}", {"among": [names["benchmark_id"]]})
    ask("GET", f"{ONE}/labels")
    ask("GET", AT)
    names["benchmark_id"] = server.post(f"{AT}/run", {**asked, "priority": "low"})["benchmark_id"]
    _end(server, names["benchmark_id"], ask)
    return found


def _end(server: Server, ident: str, ask: Any) -> None:
    """Cancel it before it can have ended, resume it, and delete it."""
    ask("POST", f"{ONE}/cancel")
    _until_ended(server, ident)
    ask("POST", f"{ONE}/resume")
    server.post(f"{AT}/{ident}/cancel")
    _until_ended(server, ident)
    ask("DELETE", ONE)


def _until_ended(server: Server, ident: str) -> None:
    deadline = time.monotonic() + HANG_S
    while server.get(f"{AT}/{ident}")["status"] not in ENDED:
        assert time.monotonic() < deadline, "the benchmark does not end"
        time.sleep(0.05)
