"""One request to every JSON route of a server: the OpenAPI document's examples are recorded from it and held to it.

`make examples` records them anew. A new route needs a line in `told_by` and a recording.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conversation_batches import benchmarks_told
from conversation_judging import judging_told
from conversation_rollouts import rollouts_told, task_in

from proctor.api.examples import FILE
from proctor.api.schemas import JOB_ID
from request_files import lines
from served import PREFIX, Server, serving
from simulators import nearby
from uploads import DATASETS, csv_of, upload

SMALL = {"tasks": ["sst2", "mrpc"]}
JOB = {
    "project_id": 1,
    "suite": "glue",
    "config": {"provider": "simulator", "model": "sim", "data": "sample", "tasks": ["sst2"]},
}
SCHEDULE = {"name": "nightly GLUE", "cron": "0 2 * * *", "job": JOB}
PAIR = {"model_ids": ["sim", "majority"], "metrics": ["accuracy"], "items": 1}
JOBS = "/api/v1/jobs"
REQUESTS = "/admin/datasets"
HANG_S = 60.0

Operation = tuple[str, str]  # method in small letters, path in the document
Told = Mapping[Operation, tuple[int, Any]]


def told_by(server: Server) -> Told:
    """What each route answers: status and body."""
    job, other = (
        server.submit(*model.split("/"), **SMALL) for model in ("simulator/sim", "baseline/majority")
    )
    server.ended(job)
    server.ended(other)
    slow = server.submit("simulator", "sim", repeats=100)
    found: dict[Operation, tuple[int, Any]] = {}

    def ask(method: str, path: str, body: object = None, query: str = "", **names: object) -> None:
        answer = server.ask(method, path.format(**names) + query, body)
        found[method.lower(), path] = answer.status, answer.body

    for path, query in (("results", ""), ("history", "?model_name=sim"), ("leaderboard", "?metric=accuracy")):
        ask("GET", f"{PREFIX}/{path}", query=query)
    ask("GET", f"{PREFIX}/results/{{job_id}}", job_id=job)
    ask("POST", f"{PREFIX}/compare", PAIR)
    _until_at_work(server, slow)
    ask("GET", f"{JOBS}/queue/stats")
    ask("GET", f"{JOBS}/status/{{job_id}}", job_id=slow)
    ask("POST", f"{PREFIX}/run", JOB)
    server.ended(found["post", f"{PREFIX}/run"][1]["job_id"])
    ask("POST", f"{PREFIX}/cancel/{{job_id}}", job_id=slow)
    server.ended(slow)
    ask("POST", f"{JOBS}/restart/{{job_id}}", job_id=slow)
    ask("POST", f"{JOBS}/cancel/{{job_id}}", job_id=slow)
    ask("GET", f"{JOBS}/status/{{job_id}}/poll", job_id=job)
    ask("POST", "/api/v1/plan", JOB)
    ask("GET", "/api/v1/providers/{name}/models", name="simulator")
    ask("POST", "/api/v1/projects", {"name": "Nightly"})
    ask("POST", "/api/v1/schedules", SCHEDULE)
    ask("POST", "/api/v1/keys", {"user": "ann", "name": "laptop"})
    for name in ("providers", "suites", "projects", "schedules", "keys", "audit"):
        ask("GET", f"/api/v1/{name}")
    found |= _datasets_told(server) | _openai_told(server) | _requests_told(server)
    found |= benchmarks_told(server) | rollouts_told(server) | judging_told(server, job, other)
    ask("PATCH", "/api/v1/schedules/{number}", {"enabled": False}, number=1)
    ask("PATCH", "/api/v1/keys/{number}", {"project_ids": [1, 2]}, number=1)
    for name in ("schedules", "keys"):
        ask("DELETE", f"/api/v1/{name}/{{number}}", number=1)
    ask("DELETE", f"{JOBS}/{{job_id}}", job_id=other)
    ask("GET", "/healthz")
    ask("GET", "/readyz")
    return found


def _datasets_told(server: Server) -> Told:
    made = upload(server, ("sums.csv", csv_of(30)))
    found: dict[Operation, tuple[int, Any]] = {("post", DATASETS): (made.status, made.body)}
    one, name = f"{DATASETS}/{{dataset_id}}", {"name": "Additions"}
    asked = (("GET", DATASETS), ("GET", one), ("GET", f"{one}/rows"), ("PATCH", one), ("DELETE", one))
    for method, path in asked:
        answer = server.ask(
            method, path.format(dataset_id=made.body["id"]), name if method == "PATCH" else None
        )
        found[method.lower(), path] = answer.status, answer.body
    return found


def _openai_told(server: Server) -> Told:
    body = {"model": "simulator/sim", "messages": [{"role": "user", "content": "What is 2 + 2?"}]}
    line = {"custom_id": "one", "method": "POST", "url": "/v1/chat/completions", "body": body}
    lines = json.dumps(line).encode() + b"\n"
    made = upload(server, ("requests.jsonl", lines), at="/v1/files", purpose="batch")
    found: dict[Operation, tuple[int, Any]] = {("post", "/v1/files"): (made.status, made.body)}

    def ask(method: str, path: str, body: object = None, **names: str) -> Any:
        answer = server.ask(method, path.format(**names), body)
        found[method.lower(), path] = answer.status, answer.body
        return answer.body

    asked = {"input_file_id": made.body["id"], "endpoint": line["url"], "completion_window": "24h"}
    batch = ask("POST", "/v1/batches", {**asked, "metadata": {"night": "Sunday"}})["id"]
    while ask("GET", "/v1/batches/{batch_id}", batch_id=batch)["status"] != "completed":
        time.sleep(0.05)
    other = server.post("/v1/batches", asked)["id"]
    ask("POST", "/v1/batches/{batch_id}/cancel", batch_id=other)
    while server.get(f"/v1/batches/{other}")["status"] not in ("cancelled", "completed"):
        time.sleep(0.05)
    for path in ("/v1/files", "/v1/batches", "/v1/models"):
        ask("GET", path)
    ask("GET", "/v1/models/{model}", model="openai/sim")
    for method in ("GET", "DELETE"):
        ask(method, "/v1/files/{file_id}", file_id=made.body["id"])
    return found


def _requests_told(server: Server) -> Told:
    made = upload(server, ("batch_5k.jsonl", lines(30)), at=f"{REQUESTS}/upload")
    found: dict[Operation, tuple[int, Any]] = {("post", f"{REQUESTS}/upload"): (made.status, made.body)}
    one, name = f"{REQUESTS}/{{dataset_id}}", {"name": "candidates of May"}
    for method, path in (
        ("GET", REQUESTS),
        ("GET", one),
        ("GET", f"{one}/rows"),
        ("PATCH", one),
        ("DELETE", one),
    ):
        body = name if method == "PATCH" else None
        answer = server.ask(method, path.format(dataset_id=made.body["dataset_id"]), body)
        found[method.lower(), path] = answer.status, answer.body
    facts = {"model_id": "openai/allenai/OLMo-2-1124-7B-Instruct", "name": "OLMo 2 7B", "parameters": "7.3B"}
    for method, path, asked in (
        ("POST", "/admin/models", facts),
        ("GET", "/admin/models", None),
        ("DELETE", "/admin/models/{model_id}", None),
    ):
        answer = server.ask(method, path.format(model_id=facts["model_id"]), asked)
        found[method.lower(), path] = answer.status, answer.body
    return found


def _until_at_work(server: Server, job_id: str) -> None:
    """Wait until answers came in and the worker has said what the job uses."""
    deadline = time.monotonic() + HANG_S
    while not (
        server.get(f"{JOBS}/status/{job_id}")["settled"] and server.get(f"{JOBS}/queue/stats")["at_work"]
    ):
        assert time.monotonic() < deadline, "no job is at work"
        time.sleep(0.05)


@contextmanager
def asked(home: Path) -> Iterator[Server]:
    task_in(home)
    with (
        nearby([]) as models,
        serving(home, PROCTOR_REQUESTS_PER_MINUTE="100000", OPENAI_BASE_URL=f"{models}/v1") as running,
    ):
        yield running


# Recording ---------------------------------------------------------------------------------------

ENTRIES = 2  # kept of a list
AT, NIGHT = "2026-11-21T07:30:39Z", "2026-11-22T02:00:00Z"
STAMP = "20261121__07-30-39"  # the same as part of a folder's name
WHO, HOME = "proctor_a1B2c3", "/home/ann/.proctor"
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def recorded(told: Told, home: Path) -> dict[str, Any]:
    """Answers as examples: lists in short, figures rounded, and nothing of this day, machine or key."""
    text = json.dumps({" ".join(operation): _short(body) for operation, (_, body) in sorted(told.items())})
    first = told["get", f"{PREFIX}/results/{{job_id}}"][1]["job_id"]
    others = [found for found in dict.fromkeys(UUID.findall(text)) if found != first]
    names = {first: JOB_ID} | {each: str(uuid.UUID(int=n, version=4)) for n, each in enumerate(others, 1)}
    text = UUID.sub(lambda found: names[found[0]], text)
    text = re.sub(r"\d{4}-\d\d-\d\dT02:00:00Z", NIGHT, text)
    text = re.sub(rf"(?!{NIGHT})\d{{4}}-\d\d-\d\dT[\d:.]+Z", AT, text)
    text = re.sub(r"\d{8}__\d\d-\d\d-\d\d", STAMP, text)
    text = re.sub(r'(?<="key": ")proctor_[^"]+', f"{WHO}...shown-this-once", text)
    text = re.sub(r'(?<="prefix": ")proctor_[^"]+', WHO, text).replace(str(home), HOME)
    record: dict[str, Any] = json.loads(text)
    return record


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _short(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_short(each) for each in value[:ENTRIES]]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, asked(home := Path(folder)) as server:
        told = told_by(server)
    if wrong := [
        f"{' '.join(operation)}: {body}" for operation, (status, body) in told.items() if status >= 300
    ]:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    FILE.write_text(json.dumps(recorded(told, home), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(told)} answers are in {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
