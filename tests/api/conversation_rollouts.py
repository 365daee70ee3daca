"""What the routes of benchmarks of tasks answer, for the examples of the OpenAPI document."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from served import Server

AT = "/api/v1/rollouts"
ONE = f"{AT}/{{benchmark_id}}"
TRIAL = f"{ONE}/trials/{{run}}/{{task}}/{{rollout}}"
TASK = "mend-the-mean"
EXAMPLE = Path(__file__).parents[2] / "examples/tasks" / TASK
ENDED = ("completed", "failed", "cancelled")
HANG_S = 120.0


def task_in(home: Path) -> None:
    """A prepared task of the server whose PROCTOR_HOME this is."""
    shutil.copytree(EXAMPLE, home / "tasks/prepared" / TASK, dirs_exist_ok=True)


def rollouts_told(server: Server) -> Mapping[tuple[str, str], tuple[int, Any]]:
    """By method and path in the document: status and body."""
    found: dict[tuple[str, str], tuple[int, Any]] = {}
    names: dict[str, str] = {"task": TASK, "rollout": "0"}

    def ask(method: str, path: str, body: object = None) -> Any:
        answer = server.ask(method, path.format(**names), body)
        found[method.lower(), path] = answer.status, answer.body
        return answer.body

    def asked(name: str, agent: str) -> dict[str, Any]:
        return {"name": name, "parallel": 2, "tasks": [{"prepared_dir": TASK, "agent": agent, "rollouts": 2}]}

    ask("GET", "/api/v1/tasks")
    ident = names["benchmark_id"] = ask("POST", AT, asked("nightly", "reference"))["benchmark_id"]
    _until_ended(server, ident)
    names["run"] = ask("GET", ONE)["rows"][0]["job_id"]
    for path in (AT, f"{ONE}/trials", TRIAL, f"{TRIAL}/trajectory", f"{ONE}/summary"):
        ask("GET", path)
    names["benchmark_id"] = server.post(AT, asked("weekly", "null"))["benchmark_id"]
    ask("POST", f"{ONE}/cancel")
    _until_ended(server, names["benchmark_id"])
    ask("POST", f"{ONE}/resume")
    server.post(f"{AT}/{names['benchmark_id']}/cancel")
    _until_ended(server, names["benchmark_id"])
    ask("DELETE", ONE)
    return found


def _until_ended(server: Server, ident: str) -> None:
    deadline = time.monotonic() + HANG_S
    while server.get(f"{AT}/{ident}")["status"] not in ENDED:
        assert time.monotonic() < deadline, "the benchmark does not end"
        time.sleep(0.05)
