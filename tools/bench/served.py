"""The server with 10,000 runs in its store: how long lists, history and leaderboard take, idle and beside a job.

Prints one JSON object: for each figure the milliseconds of all requests of a round, and those of /healthz, which is
the least that a request takes here.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import text

from proctor.findings import METRIC_VERSIONS, Estimate, Score
from proctor.manifest_json import manifest_from
from proctor.references import ExamRef
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.profile import summary_of
from proctor.store import AttemptWriter, Store
from proctor.store.core.scores import Figures
from proctor.types import Attempt, Cell, Chat, Gold, Grade, Item, Model, Outcome, Plan, Reply, Status

RUNS, MODELS, ITEMS, REQUESTS = 10_000, 8, 200, 100
PATHS = {
    "list_p95_ms": "/api/v1/benchmarking/results?limit=100",
    "history_p95_ms": "/api/v1/benchmarking/history?limit=100",
    "leaderboard_p95_ms": "/api/v1/benchmarking/leaderboard?suite=bench",
}


def fill(url: str, items: int = ITEMS) -> None:
    """10,000 completed runs of eight models; each model's first has its items, the others copy its figures."""
    store = Store.open(url)
    spec = {
        "official": ["accuracy"],
        "also": [],
        "positive": None,
        "kind": "choices",
        "labels": [],
        "extra": False,
    }
    manifest = manifest_from(
        {
            "tasks": {"q": "Questions"},
            "metrics": {"q": spec},
            "metric_versions": {"accuracy": METRIC_VERSIONS["accuracy"]},
            "full_sizes": {"q": items},
            "item_set_sha256": "0" * 64,
        }
    )
    for m in range(MODELS):
        cell = Cell(Model("bench", f"m{m}"), ExamRef("suite", "bench"))
        plan = store.add_plan(Plan((cell,)), now=1.0)
        run = store.add_run(
            plan,
            cell,
            source_title="Bench",
            planned=items,
            manifest=manifest,
            comparability=comparability(manifest),
            exam=exam(manifest),
            sample=False,
            now=1.0,
        )
        store.claim(run.id, owner="bench", now=1.0, lease_s=1e9)
        writer = AttemptWriter(store, run.id, owner="bench", lease_s=1e9)
        for i in range(items):
            ok = (i * 7 + m) % 10 < 5 + m % 4
            item = Item(f"q/{i}", "q", Chat(), Gold("A"), hash=f"{i:032x}")
            reading = Grade(Outcome.CORRECT if ok else Outcome.WRONG, float(ok), "A" if ok else "B", 1)
            writer.keep(Attempt(item, i, 0, 0, 2.0, reading, Reply("A")))
        writer.close()
        scores = [Score("q", "Questions", "accuracy", Estimate(0.6, 0.03, 0.5, 0.7, items, items, "Wilson"))]
        figures = Figures(scores, {**summary_of(store, run, store.tally(run.id)), "causes": []})
        store.finish(run.id, Status.COMPLETED, owner="bench", now=time.time(), elapsed_s=1.0, figures=figures)
    _copies(store)
    store.close()


def _copies(store: Store) -> None:
    """Older runs of the same models: rows of `run` alone, as lists and boards read them."""
    with store.writing() as connection:
        names = [
            row[1]
            for row in connection.exec_driver_sql("PRAGMA table_info(run)")
            if row[1] not in ("num", "id")
        ]
        kept = ", ".join(names)
        values = ", ".join("created_at - 86400 - n" if name == "created_at" else name for name in names)
        connection.execute(
            text(
                f"WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < {RUNS // MODELS - 1}) "  # noqa: S608 - numbers of our own
                f"INSERT INTO run (id, {kept}) SELECT lower(hex(randomblob(18))), {values} FROM run, c"
            )
        )


def ask(port: int, path: str, times: int) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    found = []
    for _ in range(times):
        start = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}")
        found.append(1000 * (time.perf_counter() - start))
    connection.close()
    return found


def post(port: int, path: str, body: object) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != 200:
        raise SystemExit(f"{path}: {answer.status} {answer.read()[:300]!r}")
    connection.close()


def main(folder: Path, rounds: int) -> None:
    home = folder / "served"
    environ = {**os.environ, "PROCTOR_HOME": str(home), "PROCTOR_REQUESTS_PER_MINUTE": "1000000"}
    fill(f"sqlite:///{home / 'proctor.db'}")
    server = subprocess.Popen(
        [sys.executable, "-m", "proctor", "serve", "--port", "0"],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        print(json.dumps(measured(server, rounds)))
    finally:
        server.terminate()
        server.wait(timeout=30)


def measured(server: subprocess.Popen[str], rounds: int) -> dict[str, list[float]]:
    assert server.stdout is not None
    port = int(server.stdout.readline().split("http://")[1].split("/")[0].split()[0].rpartition(":")[2])
    found: dict[str, list[float]] = {name: [] for name in (*PATHS, "health_p95_ms", "busy_p95_ms")}
    for _ in range(rounds):
        found.setdefault("board_first_ms", []).append(ask(port, PATHS["leaderboard_p95_ms"], 1)[0])
        found["health_p95_ms"].append(_p95(ask(port, "/healthz", REQUESTS)))
        for name, path in PATHS.items():
            found[name].append(_p95(ask(port, path, REQUESTS)))
        config = {"provider": "simulator", "model": "sim", "data": "sample", "repeats": 100}
        post(port, "/api/v1/benchmarking/run", {"project_id": 1, "suite": "glue", "config": config})
        time.sleep(2)  # until it asks at full speed
        found["busy_p95_ms"].append(_p95(ask(port, PATHS["list_p95_ms"], REQUESTS)))
    return found


def _p95(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
