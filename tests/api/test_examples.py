"""The OpenAPI document's examples held against a running server: every JSON answer has one, with the same keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from conversation import Operation, Told, asked, told_by

from served import PREFIX, Server

pytestmark = pytest.mark.slow

# Their keys are names of suites, tasks, models and runs, or what a provider reported.
OPEN = frozenset(
    {"performance_data", "overall", "outcomes", "errors", "manifest", "answers", "scores", "metrics"}
)
TEXT = {"/metrics", "/api/v1/jobs/status/{job_id}/stream"}
TEXT |= {"/v1/files/{file_id}/content", "/admin/datasets/{dataset_id}/content"}
TEXT |= {"/api/v1/rollouts/{benchmark_id}/stream"}
TEXT |= {
    f"/api/v1/rollouts/{{benchmark_id}}/trials/{{run}}/{{task}}/{{rollout}}/{name}"
    for name in ("patch", "log")
}
FILES = ("results.jsonl", "results.csv", "results.parquet", "export")
TEXT |= {f"/admin/benchmarks/{{benchmark_id}}/{name}" for name in FILES}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with asked(tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="module")
def answers(server: Server) -> Told:
    """What each route really answers, by its method and its path in the document."""
    return told_by(server)


@pytest.fixture(scope="module")
def examples(server: Server) -> Told:
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


def test_every_json_answer_has_an_example(examples: Told, answers: Told) -> None:
    assert [operation for operation, (_, example) in examples.items() if example is None] == []
    assert examples.keys() == answers.keys(), "each route is asked here"


def test_examples_are_like_the_answers(examples: Told, answers: Told) -> None:
    faults = []
    for operation, (status, example) in examples.items():
        answered, body = answers[operation]
        assert answered == status, (operation, body)
        faults += [f"{' '.join(operation)}{fault}" for fault in differs(example, body)]
    assert faults == []


def test_lists_in_examples_are_not_empty_where_answers_have_entries(examples: Told, answers: Told) -> None:
    """An empty list would agree with anything."""
    for operation, (_, example) in examples.items():
        for key, value in example.items():
            if isinstance(value, list) and answers[operation][1][key]:
                assert value, (operation, key)


def test_the_comparison_inside_an_example_is_like_the_answers(examples: Told, answers: Told) -> None:
    """What stands below the names that `differs` leaves out."""
    compare = "post", f"{PREFIX}/compare"
    pairs = [side[compare][1]["comparison"]["metrics"]["accuracy"] for side in (examples, answers)]
    assert list(differs(*pairs)) == []
    results = "get", f"{PREFIX}/results/{{job_id}}"
    tasks = [side[results][1]["performance_data"]["glue"] for side in (examples, answers)]
    assert tasks[0].keys() == tasks[1].keys() and list(differs(*tasks)) == []
