"""The specification's own examples held against the running server: keys, types, texts and statuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.service.opening.simulate import known_answers
from proctor.simulator import spawn
from served import PREFIX, Server, serving
from simulators import settings

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def document(shared: Path) -> str:
    return (shared / "spec" / "benchmarking-api.md").read_text(encoding="utf-8")


def example(document: str, section: str, what: str) -> Any:
    """The JSON block that follows `what` (such as "Success Response") in a section of the specification."""
    part = re.split(r"^##+ ", document, flags=re.M)
    text = next(p for p in part if p.splitlines()[0].startswith(section))
    found = re.search(re.escape(what) + r".*?```json\n(.*?)```", text, flags=re.S)
    assert found, f"{section}: no example after {what!r}"
    return json.loads(found[1])


def differs(expected: Any, found: Any, where: str = "") -> Iterator[str]:
    """Where an answer lacks a key of the example, or has another type; it may have more keys."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            yield f"{where}: {found!r} is no object"
            return
        for key, value in expected.items():
            if key not in found:
                yield f"{where}.{key} is missing"
            else:
                yield from differs(value, found[key], f"{where}.{key}")
    elif isinstance(expected, list):
        if not isinstance(found, list):
            yield f"{where}: {found!r} is no list"
        elif expected and found:
            yield from differs(expected[0], found[0], f"{where}[0]")
    elif isinstance(expected, bool) or isinstance(found, bool):
        if type(expected) is not type(found):
            yield f"{where}: {found!r} instead of {expected!r}"
    elif isinstance(expected, int | float):
        if not isinstance(found, int | float):
            yield f"{where}: {found!r} is no number"
    elif type(expected) is not type(found):
        yield f"{where}: {found!r} instead of {expected!r}"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One simulator that speaks the shapes of Ollama, Gemini and Grok."""
    with spawn([], known_answers(settings(tmp_path_factory.mktemp("known")), [])) as running:
        yield running.url


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, models: str
) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    environ = {
        "OLLAMA_HOST": models,
        "GEMINI_BASE_URL": models,
        "XAI_BASE_URL": f"{models}/v1",
        "GROK_API_KEY": "a-key-for-grok",
        "PROCTOR_FIRST_RETRY": "0.2s",
        "PROCTOR_REQUESTS_PER_MINUTE": "100000",
    }
    if request.param == "postgresql":
        postgres = request.getfixturevalue("postgres")
        environ["PROCTOR_DATABASE_URL"] = postgres.url(postgres.new_database())
    with serving(home, **environ) as running:
        yield running


@pytest.fixture(scope="module")
def job(server: Server, document: str) -> str:
    """The documented request, sent as it stands but for the rows, and ended."""
    body = example(document, "1. Run Benchmarks", "Request Body")
    body["config"] |= {"model": "sim", "data": "sample"}
    answer = server.post(f"{PREFIX}/run", body)
    expected = example(document, "1. Run Benchmarks", "Success Response")
    assert list(differs(expected, answer)) == []
    assert answer["message"] == expected["message"]
    assert re.fullmatch(r"\d+-\d+ (minutes|hours)|under 1 minute", answer["estimated_duration"])
    assert server.ended(answer["job_id"])["status"] == "completed"
    ident: str = answer["job_id"]
    return ident


@pytest.mark.promise("A-01", "A-05", "A-06", "A-07", "A-26")
def test_run_and_results(server: Server, document: str, job: str) -> None:
    found = server.get(f"{PREFIX}/results/{job}")
    expected = example(document, "2. Get Benchmark Results", "Success Response")
    assert list(differs({k: v for k, v in expected.items() if k != "performance_data"}, found)) == []
    documented = expected["performance_data"]["glue"]
    assert documented.keys() <= found["performance_data"]["glue"].keys()
    for task, metrics in documented.items():
        for metric, figures in metrics.items():
            assert list(differs(figures, found["performance_data"]["glue"][task][metric])) == [], (
                task,
                metric,
            )
    assert "mcc" in found["performance_data"]["glue"]["cola"]  # the official metric beside
    sst2 = found["performance_data"]["glue"]["sst2"]["accuracy"]
    assert sst2["ci"][0] <= sst2["mean"] <= sst2["ci"][1] and sst2["n"] == 20 and sst2["method"] == "Wilson"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found["completed_at"])
    assert found["progress"]["percentage"] == 100 and found["answer_rate"] == 1


@pytest.mark.promise("A-10", "A-12")
def test_list_and_history(server: Server, document: str, job: str) -> None:
    listed = server.get(f"{PREFIX}/results?model_name=sim&suite=glue&status=completed&limit=1")
    assert list(differs(example(document, "4. List Benchmark Results", "Success Response"), listed)) == []
    assert len(listed["results"]) == 1 and listed["total"] >= 1
    assert server.get(f"{PREFIX}/results?status=failed&model_name=sim")["total"] == 0
    past = server.get(f"{PREFIX}/history?model_name=sim")
    assert list(differs(example(document, "6. Get Benchmark History", "Success Response"), past)) == []
    assert past["date_range"] == "Last 30 days" and past["trend"][0]["job_id"]
    assert server.get(f"{PREFIX}/history?days=7")["date_range"] == "Last 7 days"


@pytest.mark.promise("A-03", "A-11", "A-13")
def test_compare_and_leaderboard(server: Server, document: str, job: str) -> None:
    for provider, model in (("grok", "sim-small"), ("gemini", "sim-perfect")):
        assert server.ended(server.submit(provider, model))["status"] == "completed"
    body = example(document, "5. Compare Models", "Request Body")
    body["model_ids"] = ["sim", "sim-small", "sim-perfect"]
    found = server.post(f"{PREFIX}/compare", body)
    assert list(differs(example(document, "5. Compare Models", "Success Response"), found)) == []
    of = found["comparison"]
    assert of["best_performing"] == "sim-perfect" and of["statistical_significance"].startswith("p < ")
    assert "better than every other" in of["recommendations"][0] and set(of["metrics"]) == {"accuracy", "f1"}
    assert len(of["runs"]) == 3 and len(of["metrics"]["accuracy"]) == 3
    board = server.get(f"{PREFIX}/leaderboard?suite=glue&metric=accuracy")
    assert list(differs(example(document, "7. Get Leaderboard", "Success Response"), board)) == []
    assert [(p["model"], p["rank"]) for p in board["leaderboard"]] == [
        ("sim-perfect", 1),
        ("sim", 2),
        ("sim-small", 3),
    ]
    assert board["leaderboard"][0]["provider"] == "Gemini" and board["total_models"] == 3
    assert server.get(f"{PREFIX}/leaderboard?suite=mmlu")["leaderboard"] == []


@pytest.mark.promise("A-08", "A-09")
def test_cancel(server: Server, document: str, job: str) -> None:
    slow = server.submit("simulator", "sim", repeats=100)
    found = server.post(f"{PREFIX}/cancel/{slow}")
    expected = example(document, "3. Cancel Benchmark Job", "Success Response")["message"]
    assert found["message"] == expected.replace("a967f363-ee96-4bac-9f52-4d169bbc4851", slow)
    assert server.get(f"{PREFIX}/results/{slow}")["status"] == "cancelled"
    again = server.ask("POST", f"{PREFIX}/cancel/{job}")
    assert again.status == 400 and again.body["detail"].startswith(f"Failed to cancel job {job}")


@pytest.mark.promise("A-14", "A-15")
def test_documented_errors(server: Server, document: str) -> None:
    config = {"provider": "ollama", "model": "sim"}
    unknown = server.ask("POST", f"{PREFIX}/run", {"project_id": 1, "suite": "glu", "config": config})
    expected = example(document, "Common Error Responses", "400 Bad Request")["detail"]
    assert (unknown.status, unknown.body["detail"]) == (400, expected)
    ident = "a967f363-ee96-4bac-9f52-4d169bbc4851"
    for method, path in (("GET", f"results/{ident}"), ("POST", f"cancel/{ident}")):
        missing = server.ask(method, f"{PREFIX}/{path}")
        expected = example(document, "Common Error Responses", "404 Not Found")["detail"]
        assert (missing.status, missing.body["detail"]) == (404, expected)
    for error in (unknown, missing):
        assert error.body.keys() >= {"detail", "error", "request_id"}


@pytest.mark.promise("A-19")
def test_a_missing_key_is_named(tmp_path: Path, document: str) -> None:
    with serving(tmp_path) as plain:
        keyless = plain.ended(plain.submit("gemini", "gemini-2.5-flash"))
    documented = example(document, "Job-Specific Errors", "API Provider Errors")["detail"]
    assert keyless["status"] == "failed" and keyless["error"].startswith(documented)
    assert "GOOGLE_API_KEY" in keyless["error"]


@pytest.mark.promise("A-18", "A-20")
def test_job_errors(server: Server, document: str) -> None:
    nowhere = server.ended(server.submit("ollama", "sim", data="imported"))
    documented = example(document, "Job-Specific Errors", "Dataset Loading Errors")["detail"]
    assert nowhere["status"] == "failed" and nowhere["error"].startswith(documented.partition(":")[0])
    assert nowhere["error"].count("Failed to load") == 1
    greedy = server.ended(server.submit("ollama", "sim", max_total_tokens=50))
    documented = example(document, "Job-Specific Errors", "Resource Limit Errors")["detail"]
    assert greedy["status"] == "failed" and greedy["error"].startswith(documented)


@pytest.mark.promise("A-04")
def test_ollama_parameters_reach_the_model(server: Server) -> None:
    given = {"temperature": 0.3, "top_p": 0.8, "top_k": 30, "num_predict": 77, "num_ctx": 4096, "seed": 5}
    found = server.ended(server.submit("ollama", "sim", ollama_params=given, limit=1, tasks=["rte"]))
    sampling = found["manifest"]["sampling"]
    assert sampling["max_tokens"] == 77 and sampling["context_tokens"] == 4096
    assert {name: sampling[name] for name in ("temperature", "top_p", "top_k", "seed")} == {
        name: given[name] for name in ("temperature", "top_p", "top_k", "seed")
    }
    strange = server.ask(
        "POST",
        f"{PREFIX}/run",
        {
            "project_id": 1,
            "suite": "glue",
            "config": {"provider": "ollama", "model": "m", "ollama_params": {"heat": 1}},
        },
    )
    assert strange.status == 400 and strange.body["errors"][0]["field"] == "config.ollama_params.heat"


@pytest.mark.promise("A-31")
def test_smaller_runs(server: Server) -> None:
    found = server.ended(server.submit("ollama", "sim", tasks=["rte", "wnli"], limit=3, repeats=2))
    assert set(found["performance_data"]["glue"]) == {"rte", "wnli"} and found["progress"]["planned"] == 12


@pytest.mark.promise("A-16", "A-22")
def test_the_queue_is_full(tmp_path: Path, document: str) -> None:
    with serving(tmp_path, "--no-worker") as alone:
        for _ in range(10):
            alone.submit("simulator", "sim")
        body = {"project_id": 1, "suite": "glue", "config": {"provider": "simulator", "model": "sim"}}
        full = alone.ask("POST", f"{PREFIX}/run", body)
    expected = example(document, "Common Error Responses", "429 Too Many Requests")
    assert full.status == 429 and full.body["detail"] == expected["detail"]
    assert full.body["retry_after"] == expected["retry_after"] and full.headers["Retry-After"] == "300"


@pytest.mark.promise("A-25")
def test_priorities_order_the_start(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as alone:
        body = {"project_id": 1, "suite": "glue", "config": {"provider": "simulator", "model": "sim"}}
        ids = {
            p: alone.post(f"{PREFIX}/run", {**body, "priority": p})["job_id"]
            for p in ("low", "normal", "high")
        }
        ahead = {p: alone.get(f"/api/v1/jobs/status/{ident}")["ahead"] for p, ident in ids.items()}
    assert ahead == {"high": 0, "normal": 1, "low": 2}
