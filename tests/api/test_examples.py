"""The OpenAPI document's examples held against a running server: every JSON answer has one, with the same keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from served import PREFIX, Server, serving

pytestmark = pytest.mark.slow

SMALL = {"tasks": ["sst2", "mrpc"]}
JOB = {
    "project_id": 1,
    "suite": "glue",
    "config": {"provider": "simulator", "model": "sim", "data": "sample", "tasks": ["sst2"]},
}
SCHEDULE = {"name": "nightly", "cron": "0 2 * * *", "job": JOB}
PAIR = {"model_ids": ["sim", "majority"], "metrics": ["accuracy"], "items": 1}

# Their keys are names of suites, tasks, models and runs, or what a provider reported.
OPEN = frozenset(
    {"performance_data", "overall", "outcomes", "errors", "manifest", "answers", "scores", "metrics"}
)
TEXT = {"/metrics", "/api/v1/jobs/status/{job_id}/stream"}

Operation = tuple[str, str]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), PROCTOR_REQUESTS_PER_MINUTE="100000") as running:
        yield running


@pytest.fixture(scope="module")
def answers(server: Server) -> dict[Operation, tuple[int, Any]]:
    """What each route really answers, by its method and its path in the document."""
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
    ask("POST", f"{PREFIX}/run", JOB)
    server.ended(found["post", f"{PREFIX}/run"][1]["job_id"])
    ask("POST", f"{PREFIX}/cancel/{{job_id}}", job_id=slow)
    server.ended(slow)
    jobs = "/api/v1/jobs"
    ask("POST", f"{jobs}/restart/{{job_id}}", job_id=slow)
    ask("POST", f"{jobs}/cancel/{{job_id}}", job_id=slow)
    for end in ("", "/poll"):
        ask("GET", f"{jobs}/status/{{job_id}}{end}", job_id=job)
    ask("GET", f"{jobs}/queue/stats")
    ask("POST", "/api/v1/plan", JOB)
    ask("GET", "/api/v1/providers/{name}/models", name="simulator")
    ask("POST", "/api/v1/projects", {"name": "Nightly"})
    ask("POST", "/api/v1/schedules", SCHEDULE)
    ask("POST", "/api/v1/keys", {"user": "ann"})
    for name in ("providers", "suites", "projects", "schedules", "keys", "audit"):
        ask("GET", f"/api/v1/{name}")
    ask("PATCH", "/api/v1/schedules/{number}", {"enabled": False}, number=1)
    ask("PATCH", "/api/v1/keys/{number}", {"project_ids": [1, 2]}, number=1)
    for name in ("schedules", "keys"):
        ask("DELETE", f"/api/v1/{name}/{{number}}", number=1)
    ask("DELETE", f"{jobs}/{{job_id}}", job_id=other)
    ask("GET", "/healthz")
    ask("GET", "/readyz")
    return found


@pytest.fixture(scope="module")
def examples(server: Server) -> dict[Operation, tuple[int, Any]]:
    """The example of each operation's success, None where it has none, by method and path."""
    found: dict[Operation, tuple[int, Any]] = {}
    for path, operations in server.get("/openapi.json")["paths"].items():
        for method, operation in operations.items():
            (status,) = [status for status in operation["responses"] if status.startswith("2")]
            if path not in TEXT:
                content = operation["responses"][status]["content"]["application/json"]
                found[method, path] = int(status), content.get("example")
    return found


def differs(example: Any, answer: Any, where: str = "") -> Iterator[str]:
    """Where the two have other keys; of lists the first entries, and nothing below where either is null."""
    if isinstance(example, dict) and isinstance(answer, dict):
        if example.keys() != answer.keys():
            yield f"{where}: only one of them has {sorted(example.keys() ^ answer.keys())}"
        for key in example.keys() & answer.keys() - OPEN:
            yield from differs(example[key], answer[key], f"{where}.{key}")
    elif isinstance(example, list) and isinstance(answer, list):
        if example and answer:
            yield from differs(example[0], answer[0], f"{where}[0]")
    elif isinstance(example, dict | list) and answer is not None:
        yield f"{where}: the answer is {answer!r}"
    elif isinstance(answer, dict | list) and example is not None:
        yield f"{where}: the example is {example!r}"


def test_every_json_answer_has_an_example(
    examples: dict[Operation, Any], answers: dict[Operation, Any]
) -> None:
    assert [operation for operation, (_, example) in examples.items() if example is None] == []
    assert examples.keys() == answers.keys(), "each route is asked here"


def test_examples_are_like_the_answers(
    examples: dict[Operation, tuple[int, Any]], answers: dict[Operation, tuple[int, Any]]
) -> None:
    faults = []
    for operation, (status, example) in examples.items():
        answered, body = answers[operation]
        assert answered == status, (operation, body)
        faults += [f"{' '.join(operation)}{fault}" for fault in differs(example, body)]
    assert faults == []


def test_lists_in_examples_are_not_empty_where_answers_have_entries(
    examples: dict[Operation, tuple[int, Any]], answers: dict[Operation, tuple[int, Any]]
) -> None:
    """An empty list would agree with anything."""
    for operation, (_, example) in examples.items():
        for key, value in example.items():
            if isinstance(value, list) and answers[operation][1][key]:
                assert value, (operation, key)


def test_the_comparison_inside_an_example_is_like_the_answers(
    examples: dict[Operation, tuple[int, Any]], answers: dict[Operation, tuple[int, Any]]
) -> None:
    """What stands below the names that `differs` leaves out."""
    compare = "post", f"{PREFIX}/compare"
    pairs = [side[compare][1]["comparison"]["metrics"]["accuracy"] for side in (examples, answers)]
    assert list(differs(*pairs)) == []
    results = "get", f"{PREFIX}/results/{{job_id}}"
    tasks = [side[results][1]["performance_data"]["glue"] for side in (examples, answers)]
    assert tasks[0].keys() == tasks[1].keys() and list(differs(*tasks)) == []
