"""Deleting one job over the API: what goes with it, what stays, and what is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from jobs_world import until
from programs import proctor_json
from served import PREFIX, Server, serving

pytestmark = pytest.mark.slow

UNKNOWN = "a967f363-ee96-4bac-9f52-4d169bbc4851"
SMALL = {"tasks": ["rte", "wnli"], "limit": 3}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request: pytest.FixtureRequest, home: Path) -> Iterator[Server]:
    environ = {"PROCTOR_REQUESTS_PER_MINUTE": "100000"}
    if request.param == "postgresql":
        postgres = request.getfixturevalue("postgres")
        environ["PROCTOR_DATABASE_URL"] = postgres.url(postgres.new_database())
    with serving(home, **environ) as running:
        yield running


def deleted(server: Server, job: str) -> Any:
    return server.ask("DELETE", f"/api/v1/jobs/{job}")


def test_an_ended_job_goes_and_its_neighbours_stay(server: Server, home: Path) -> None:
    """Both models were asked the same items: the other one keeps its answers, and the board its place."""
    goes = server.submit("baseline", "majority", **SMALL)
    stays = server.submit("simulator", "sim", **SMALL)
    assert server.ended(goes)["status"] == "completed"
    before = server.ended(stays)
    board = server.get(f"{PREFIX}/leaderboard?suite=glue&metric=score")
    assert {place["job_id"] for place in board["leaderboard"]} == {goes, stays}
    assert (home / "logs" / f"{goes}.log").exists()

    answer = deleted(server, goes)
    assert (answer.status, answer.body) == (200, {"job_id": goes, "message": f"Job {goes} deleted"})

    for path in (f"{PREFIX}/results/{goes}", f"/api/v1/jobs/status/{goes}"):
        assert server.ask("GET", path).status == 404
    listed = server.get(f"{PREFIX}/results?limit=1000")["results"]
    assert stays in (ids := {row["job_id"] for row in listed}) and goes not in ids
    assert server.get(f"{PREFIX}/results/{stays}") == before
    board = server.get(f"{PREFIX}/leaderboard?suite=glue&metric=score")
    assert [place["job_id"] for place in board["leaderboard"]] == [stays], "nothing kept from before"
    assert not (home / "logs" / f"{goes}.log").exists() and (home / "logs" / f"{stays}.log").exists()
    (deed,) = [d for d in server.get("/api/v1/audit?action=delete")["audit"] if d["target"] == goes]
    assert (deed["user"], deed["detail"]) == ("local", "baseline/majority on GLUE: rte, wnli")


def test_what_is_not_there_cannot_be_deleted(server: Server) -> None:
    job = server.submit("baseline", "majority", **SMALL)
    server.ended(job)
    assert deleted(server, job).status == 200
    for ident in (UNKNOWN, job, "short"):
        answer = deleted(server, ident)
        assert (answer.status, answer.body["error"]) == (404, "not-found")
        assert answer.body["detail"] == f"Benchmark job {ident} not found"
    kept = server.submit("baseline", "random", **SMALL)
    assert server.ended(kept) and deleted(server, kept[:8]).status == 404, "only by its whole id"
    assert server.get(f"{PREFIX}/results/{kept}")["job_id"] == kept


def test_a_job_at_work_is_cancelled_first(server: Server) -> None:
    job = server.submit("simulator", "sim", repeats=100)
    state = server.get(f"/api/v1/jobs/status/{job}/poll?timeout=60&current_status=pending")
    assert state["status"] == "running"
    refused = deleted(server, job)
    assert (refused.status, refused.body["error"]) == (409, "conflict")
    assert refused.body["detail"] == f"Benchmark job {job} is running: cancel it before it is deleted"
    server.post(f"{PREFIX}/cancel/{job}")
    assert server.ended(job)["status"] == "cancelled"
    assert deleted(server, job).status == 200
    actions = [d["action"] for d in server.get("/api/v1/audit")["audit"] if d["target"] == job]
    assert actions == ["delete", "cancel", "submit"], "a refusal is no deed"


def test_a_waiting_job_stays_and_nothing_of_a_deleted_one_is_left(tmp_path: Path) -> None:
    with serving(tmp_path, "--no-worker") as alone:
        waits, goes = (alone.submit("simulator", "sim") for _ in range(2))
        refused = deleted(alone, waits)
        assert refused.status == 409 and "is pending: cancel it" in refused.body["detail"]
        alone.post(f"{PREFIX}/cancel/{goes}")
        assert deleted(alone, goes).status == 200
        assert alone.get(f"/api/v1/jobs/status/{waits}")["status"] == "pending"
        assert alone.get("/api/v1/jobs/queue/stats")["jobs"] == {
            "pending": 1,
            "running": 0,
            "completed": 0,
            "failed": 0,
            "cancelled": 0,
        }
    with closing(sqlite3.connect(tmp_path / "proctor.db")) as database:
        for table in ("run", "job", "plan"):
            assert database.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,), table


def test_no_row_of_a_deleted_job_is_left(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        jobs = [server.submit("baseline", name, **SMALL) for name in ("majority", "random")]
        for job in jobs:
            server.ended(job)
        tables = ("run", "plan", "job", "attempt", "payload", "score", "item")

        def rows() -> dict[str, int]:
            with closing(sqlite3.connect(tmp_path / "proctor.db")) as database:
                return {t: database.execute(f"SELECT count(*) FROM {t}").fetchone()[0] for t in tables}

        def scored() -> int:
            with closing(sqlite3.connect(tmp_path / "proctor.db")) as database:
                return int(database.execute("SELECT count(DISTINCT run_num) FROM score").fetchone()[0])

        until(lambda: scored() == 2, "both are scored, which is after they have ended")
        both = rows()
        deleted(server, jobs[0])
        one = rows()
        deleted(server, jobs[1])
        none = rows()
    assert all(both[table] == 2 * one[table] > 0 for table in tables if table != "item")
    assert both["item"] == one["item"] == 6, "the other job asked the same items"
    assert none == dict.fromkeys(tables, 0)


def test_deleting_needs_the_scope_run(tmp_path: Path) -> None:
    keys = {
        scope: proctor_json(tmp_path, "keys", "create", "--user", f"u-{scope}", "--scope", scope)["key"]
        for scope in ("read", "run")
    }
    with serving(tmp_path, "--no-worker", PROCTOR_AUTH="keys") as server:
        heads = {scope: {"X-API-Key": key} for scope, key in keys.items()}
        body = {"project_id": 1, "suite": "glue", "config": {"provider": "baseline", "model": "majority"}}
        job = server.ask("POST", f"{PREFIX}/run", body, heads["run"]).body["job_id"]
        server.ask("POST", f"{PREFIX}/cancel/{job}", {}, heads["run"])
        path = f"/api/v1/jobs/{job}"
        assert [server.ask("DELETE", path, headers=h).status for h in ({}, heads["read"])] == [401, 403]
        assert server.ask("GET", f"{PREFIX}/results/{job}", headers=heads["read"]).status == 200
        assert server.ask("DELETE", path, headers=heads["run"]).status == 200
        strange = {**heads["run"], "Origin": "http://evil.example"}
        assert server.ask("DELETE", path, headers=strange).status == 403
