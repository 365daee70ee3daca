"""Benchmarks over HTTP on a real server, as the dataset runner documents them: run, followed, read, ended, taken up."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rows_made import attempt_at, batch_of

from proctor.store import Store
from proctor.types import Status
from served import Server, serving
from simulators import nearby
from uploads import upload

pytestmark = pytest.mark.slow

AT = "/admin/benchmarks"
STAMP = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
DOCUMENTED = {
    "benchmark_id": str,
    "model_id": str,
    "model_name": str,
    "dataset_id": str,
    "dataset_name": str,
    "status": str,
    "progress": int,
    "completed": int,
    "total": int,
    "throughput": float,
    "eta_seconds": int,
    "started_at": str,
}
MANY = 1_500
CALM = {"PROCTOR_REQUESTS_PER_MINUTE": "1000000"}


def requests_of(count: int) -> bytes:
    lines = []
    for place in range(count):
        body = {"model": "gpt-4o", "messages": [{"role": "user", "content": f"What is {place} + {place}?"}]}
        line = {
            "custom_id": f"candidate-{place}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": body,
        }
        lines.append(json.dumps(line))
    return "\n".join(lines).encode() + b"\n"


def dataset(server: Server, count: int, name: str = "batch_5k.jsonl") -> str:
    made = upload(server, (name, requests_of(count)), at="/admin/datasets/upload")
    assert made.status == 200, made
    return str(made.body["dataset_id"])


def until(look: Callable[[], Any], s: float = 60.0) -> Any:
    """What `look` says as soon as it says something."""
    deadline = time.monotonic() + s
    while not (found := look()):
        assert time.monotonic() < deadline, "it does not come"
        time.sleep(0.05)
    return found


def ended(server: Server, ident: str) -> Any:
    def look() -> Any:
        found = server.get(f"{AT}/{ident}")
        return found if found["status"] in ("completed", "failed", "cancelled") else None

    return until(look)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home, OLLAMA_HOST="127.0.0.1:1", **CALM) as running:
        yield running


@pytest.mark.promise("B-06")
@pytest.mark.promise("B-07")
@pytest.mark.promise("B-08")
@pytest.mark.promise("B-13")
def test_a_benchmark_is_run_listed_and_read_as_documented(server: Server) -> None:
    ident = dataset(server, 60)
    made = server.post(f"{AT}/run", {"model_id": "simulator/sim", "dataset_id": ident})
    assert made.keys() == {"benchmark_id", "status", "started_at"}
    assert made["status"] in ("pending", "running") and STAMP.fullmatch(made["started_at"])
    bench = made["benchmark_id"]
    assert bench.startswith("bm_")
    done = ended(server, bench)
    assert done["status"] == "completed" and STAMP.fullmatch(done["completed_at"])
    (line,) = [each for each in server.get(AT)["benchmarks"] if each["benchmark_id"] == bench]
    assert {name: type(line[name]) for name in DOCUMENTED} == DOCUMENTED
    assert (line["model_id"], line["model_name"]) == ("simulator/sim", "sim")
    assert (line["dataset_id"], line["dataset_name"]) == (ident, "batch_5k.jsonl")
    assert (line["progress"], line["completed"], line["total"], line["eta_seconds"]) == (100, 60, 60, 0)
    assert line["throughput"] > 0 and line["requests_per_s"] > 0 and line["total_time_seconds"] > 0
    shown = server.get(f"{AT}/{bench}/results?limit=10")
    documented = ("benchmark_id", "model_name", "dataset_name", "status", "throughput", "total_time_seconds")
    assert {name: shown[name] for name in documented} == {name: line[name] for name in documented}
    assert [each["custom_id"] for each in shown["results"]] == [f"candidate-{n}" for n in range(10)]
    first = shown["results"][0]
    assert first["response"]["status_code"] == 200
    assert first["response"]["body"]["choices"][0]["message"]["content"]
    assert (shown["total"], shown["matched"]) == (60, 60)
    rest = server.get(f"{AT}/{bench}/results?limit=1000&after={shown['after']}")
    assert len(rest["results"]) == 50 and rest["after"] is None
    _reads_files(server, bench)


def _reads_files(server: Server, bench: str) -> None:
    lines = server.get(f"{AT}/{bench}/results.jsonl").splitlines()
    assert len(lines) == 60 and json.loads(lines[59])["custom_id"] == "candidate-59"
    table = server.get(f"{AT}/{bench}/results.csv?prefix=candidate-5")
    assert table.count("simulator/sim") == 11
    with urllib.request.urlopen(f"{server.url}{AT}/{bench}/results.parquet", timeout=30) as answer:
        assert answer.read(4) == b"PAR1"
        assert answer.headers["Content-Disposition"].endswith('.parquet"')


@pytest.mark.promise("B-15")
def test_results_are_filtered_by_the_candidates_name(server: Server) -> None:
    asked = {"model_id": "simulator/sim", "dataset_id": dataset(server, 60), "candidate": r"^(candidate-\d)"}
    bench = server.post(f"{AT}/run", asked)["benchmark_id"]
    ended(server, bench)
    shown = server.get(f"{AT}/{bench}/results?candidate=candidate-3")
    assert [each["custom_id"] for each in shown["results"]] == [
        "candidate-3",
        *(f"candidate-{n}" for n in range(30, 40)),
    ]
    assert shown["results"][0]["candidate"] == "candidate-3"
    by = "candidate_by=%24.messages%5B0%5D.content&candidate=What%20is%207%20%2B%207%3F"
    (one,) = server.get(f"{AT}/{bench}/results?{by}")["results"]
    assert one["custom_id"] == "candidate-7"
    item = server.get(f"{AT}/{bench}/results/candidate-7")
    assert item["request"]["body"]["model"] == "gpt-4o" and len(item["tries"]) == 1
    assert server.ask("GET", f"{AT}/{bench}/results?status=teapot").status == 400


def test_labels_are_put_and_exported_over_http(server: Server) -> None:
    asked = {"model_id": "simulator/sim", "dataset_id": dataset(server, 60)}
    first, second = (server.post(f"{AT}/run", asked)["benchmark_id"] for _ in range(2))
    ended(server, first), ended(server, second)
    put = server.ask("PUT", f"{AT}/{first}/labels/candidate-1", {"verdict": "edited", "text": "Two."})
    assert put.status == 200 and put.body["verdict"] == "edited" and STAMP.fullmatch(put.body["at"])
    assert server.ask("PUT", f"{AT}/{first}/labels/candidate-1", {"verdict": "fine"}).status == 400
    assert server.ask("PUT", f"{AT}/{first}/labels/nobody", {"verdict": "good"}).status == 404
    best = server.post(f"{AT}/{second}/best/candidate-2", {"among": [first, second]})
    assert [each["verdict"] for each in best["labels"]] == ["best"]
    assert server.get(f"{AT}/{first}")["labels"]["verdicts"] == {"edited": 1}
    (sft,) = server.get(f"{AT}/{first}/export?format=sft").splitlines()
    assert json.loads(sft)["messages"][-1] == {"role": "assistant", "content": "Two."}
    told = server.get(f"{AT}/{first}/export?format=sft&also={second}&manifest=true")
    assert told["written"] == 2 and [each["settled"] for each in told["runs"]] == [60, 60]


@pytest.mark.promise("B-23")
def test_a_failed_benchmark_is_shown_as_failed_and_says_why(server: Server) -> None:
    asked = {
        "model_id": "openai/nobody",
        "base_url": "http://127.0.0.1:9/v1",
        "dataset_id": dataset(server, 60),
    }
    bench = server.post(f"{AT}/run", asked)["benchmark_id"]
    done = ended(server, bench)
    assert done["status"] == "failed" and done["progress"] == 0
    assert "127.0.0.1:9" in done["error"]
    assert [each["benchmark_id"] for each in server.get(f"{AT}?status=failed")["benchmarks"]] == [bench]
    assert bench not in [each["benchmark_id"] for each in server.get(f"{AT}?status=completed")["benchmarks"]]


@pytest.mark.promise("B-18")
def test_a_benchmark_outlives_page_and_server(tmp_path: Path) -> None:
    with nearby([], "--latency", "0.04") as model:
        environ = {"OPENAI_BASE_URL": f"{model}/v1", "OPENAI_API_KEY": "none", **CALM}
        with serving(tmp_path, **environ) as server:
            asked = {"model_id": "openai/sim", "dataset_id": dataset(server, MANY), "parallel": 12}
            bench = server.post(f"{AT}/run", asked)["benchmark_id"]

            def at_work() -> Any:
                seen = server.get(f"{AT}/{bench}")
                return seen if seen["completed"] and seen["requests_per_s"] else None

            seen = until(at_work)  # nobody follows it but by looking
            assert seen["status"] == "running" and seen["total"] == MANY and 0 <= seen["progress"] < 100
        with serving(tmp_path, **environ) as server:
            before = server.get(f"{AT}/{bench}")["completed"]
            assert before >= seen["completed"], "what was answered is kept"
            done = ended(server, bench)
            assert (done["status"], done["completed"], done["progress"]) == ("completed", MANY, 100)
            lines = server.get(f"{AT}/{bench}/results.jsonl").splitlines()
            assert len({json.loads(line)["custom_id"] for line in lines}) == len(lines) == MANY


def test_a_benchmark_waits_is_cancelled_resumed_and_deleted(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker", **CALM) as server:
        asked = {"model_id": "simulator/sim", "dataset_id": dataset(server, 30)}
        bench = server.post(f"{AT}/run", asked)["benchmark_id"]
        waiting = server.get(f"{AT}/{bench}")
        assert (waiting["status"], waiting["completed"], waiting["total"]) == ("pending", 0, 30)
        assert waiting["throughput"] is None and waiting["eta_seconds"] is None
        assert server.ask("DELETE", f"{AT}/{bench}").status == 409
        assert server.post(f"{AT}/{bench}/cancel")["status"] == "cancelled"
        assert server.post(f"{AT}/{bench}/resume")["status"] == "pending"
        server.post(f"{AT}/{bench}/cancel")
        assert server.ask("DELETE", f"{AT}/{bench}").status == 200
        assert server.ask("GET", f"{AT}/{bench}").status == 404
        page = server.get(f"{AT}?limit=1")
        assert page == {"benchmarks": [], "after": None, "total": 0}


def test_a_run_that_nobody_answered_is_failed_and_partial_ones_tell_their_errors(
    server: Server, home: Path
) -> None:
    store = Store.open(f"sqlite:///{home}/proctor.db")
    nobody = batch_of(store, [attempt_at(place) for place in (3, 4)])
    partly = batch_of(store, [attempt_at(place) for place in range(10)])
    store.close()
    assert nobody.status is Status.COMPLETED
    shown = server.get(f"{AT}/bm_{nobody.id}")
    assert (shown["status"], shown["error"]) == ("failed", "no request was answered")
    shown = server.get(f"{AT}/{partly.id}")
    assert (shown["completed"], shown["failed"], shown["partial"]) == (8, 2, True)
    assert shown["errors"] == {"rate-limited": 1, "network": 1}
