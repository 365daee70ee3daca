"""What a client trips over that was written from the specification alone: names, sizes, limits, and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from providers.recording import Script, recording
from served import PREFIX, Server, serving
from simulators import settings

pytestmark = pytest.mark.slow
UNKNOWN_SUITE = "Invalid benchmark suite. Supported: glue, superglue, mmlu, medical"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """With the models `mistral:latest` and `qwen3:8b` of an Ollama server."""
    known = known_answers(settings(tmp_path_factory.mktemp("known")), [])
    models = ["--model", "mistral:latest=0.9", "--model", "qwen3:8b=0.5"]
    environ = {"PROCTOR_REQUESTS_PER_MINUTE": "100000"}
    with (
        spawn(models, known) as ollama,
        serving(tmp_path_factory.mktemp("home"), OLLAMA_HOST=ollama.url, **environ) as running,
    ):
        yield running


def test_a_suite_may_be_written_in_capitals(server: Server) -> None:
    body = {"project_id": 1, "suite": "GLUE", "config": {"provider": "ollama", "model": "mistral:latest"}}
    body["config"] |= {"data": "sample", "limit": 4}
    answer = server.post(f"{PREFIX}/run", body)
    assert answer["message"] == "Benchmarking started for suite: glue"
    assert list(server.ended(answer["job_id"])["performance_data"]) == ["glue"]
    listed = server.get(f"{PREFIX}/results?suite=Glue")
    assert answer["job_id"] in [row["job_id"] for row in listed["results"]]
    assert server.get(f"{PREFIX}/leaderboard?suite=GLUE")["suite"] == "glue"


def test_an_unknown_suite_has_the_documented_text_on_every_route(server: Server) -> None:
    config = {"provider": "ollama", "model": "qwen3:8b"}
    job = {"project_id": 1, "suite": "gleu", "config": config}
    models = {"model_ids": ["a", "b"], "benchmark_suite": "gleu"}
    asked = [
        ("POST", f"{PREFIX}/run", job),
        ("POST", "/api/v1/plan", job),
        ("POST", "/api/v1/schedules", {"name": "n", "cron": "0 2 * * *", "job": job}),
        ("POST", f"{PREFIX}/compare", models),
        *(("GET", f"{PREFIX}/{route}?suite=gleu", None) for route in ("results", "history", "leaderboard")),
    ]
    told = [server.ask(*each) for each in asked]
    assert [(answer.status, answer.body["detail"]) for answer in told] == [(400, UNKNOWN_SUITE)] * len(asked)


def test_the_answer_says_how_many_items_of_how_many_are_asked(server: Server) -> None:
    body = {"project_id": 1, "suite": "mmlu", "config": {"provider": "ollama", "model": "qwen3:8b"}}
    quick = server.post(f"{PREFIX}/run", body)
    assert (quick["preset"], quick["items"], quick["full_size"], quick["sample"]) == (
        "quick",
        200,
        14_042,
        False,
    )
    body["config"] |= {"tasks": ["anatomy"], "limit": 3, "data": "sample"}
    few = server.post(f"{PREFIX}/run", body)
    assert (few["preset"], few["items"], few["full_size"], few["sample"]) == (None, 3, 135, True)
    assert server.ended(few["job_id"])["progress"]["planned"] == 3


@pytest.mark.parametrize(
    "path",
    ["benchmarking/results?limt=3", "benchmarking/leaderboard?top=3", "suites?all=1", "audit?who=ann"],
)
def test_an_unknown_query_parameter_is_refused_like_an_unknown_field(server: Server, path: str) -> None:
    answer = server.ask("GET", f"/api/v1/{path}")
    name = path.partition("?")[2].partition("=")[0]
    assert answer.status == 400 and answer.body["error"] == "config"
    assert [each["field"] for each in answer.body["errors"]] == [f"query.{name}"]


def test_a_comparison_leaves_out_the_metric_that_a_suite_lacks_and_says_so(server: Server) -> None:
    for model in ("mistral:latest", "qwen3:8b"):
        server.ended(server.submit("ollama", model, suite="mmlu", limit=2))
    body = {"model_ids": ["mistral:latest", "qwen3:8b"], "benchmark_suite": "mmlu"}
    found = server.post(f"{PREFIX}/compare", {**body, "metrics": ["f1", "accuracy"]})["comparison"]
    assert list(found["metrics"]) == ["accuracy"] and "'f1'" in found["left_out"]["f1"]
    assert found["best_performing"] == "mistral:latest"
    alone = server.ask("POST", f"{PREFIX}/compare", {**body, "metrics": ["f1"]})
    assert alone.status == 400 and "metrics: score, accuracy" in alone.body["detail"]


def test_std_is_a_number_for_a_task_of_one_item(server: Server) -> None:
    found = server.ended(server.submit("ollama", "mistral:latest", tasks=["cola", "rte", "stsb"], limit=1))
    figures = found["performance_data"]["glue"]
    measured = [each for task in figures.values() for each in task.values() if each["mean"] is not None]
    assert measured and all(isinstance(each["std"], float) for each in measured)
    rte = figures["rte"]["accuracy"]
    assert (rte["n"], rte["std"], rte["stderr"]) == (1, 0.5, None) and "the most it can be" in rte["note"]


def test_the_time_of_a_job_grows_while_it_runs(server: Server) -> None:
    job = server.submit("ollama", "qwen3:8b", repeats=100, suite="superglue")
    while server.get(f"/api/v1/jobs/status/{job}")["status"] == "pending":
        server.get(f"/api/v1/jobs/status/{job}/poll?timeout=5&current_status=pending")
    first = server.get(f"{PREFIX}/results/{job}")
    second = server.get(f"{PREFIX}/results/{job}")
    server.post(f"{PREFIX}/cancel/{job}")
    assert first["status"] == second["status"] == "running"
    assert 0 <= first["summary"]["total_time_seconds"] <= second["summary"]["total_time_seconds"]
    assert second["summary"]["total_time_seconds"] > 0


def test_minus_one_means_what_ollama_means_by_it(tmp_path: Path) -> None:
    """No limit as num_predict, and another seed each time: both reach the server as they were given."""
    tags = Script({"models": [{"name": "m:latest"}]})
    reply = Script({"message": {"content": "Answer: no"}, "done_reason": "stop"})
    with recording([tags, reply]) as ollama, serving(tmp_path, OLLAMA_HOST=ollama.url) as running:
        free = {"num_predict": -1, "seed": -1}
        job = running.submit("ollama", "m", tasks=["rte"], limit=2, repeats=2, ollama_params=free)
        assert running.ended(job)["status"] == "completed"
        options = [sent.json["options"] for sent in ollama.sent if sent.path == "/api/chat"]
    assert len(options) >= 4 and {(o["num_predict"], o["seed"]) for o in options} == {(-1, -1)}
