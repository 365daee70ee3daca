"""A server without rows or keys for everything, and a worker of another home: what pages say of who can do what."""

from __future__ import annotations

from pathlib import Path

import pytest

from programs import started
from request_files import lines
from served import Server, serving
from uploads import upload

PAGES = {"Accept": "text/html"}


@pytest.mark.slow
@pytest.mark.promise("G-28")
def test_requests_uploaded_at_a_server_run_elsewhere_and_pages_say_who_lacks_what(
    tmp_path: Path, postgres_url: str
) -> None:
    home, away = tmp_path / "server", tmp_path / "away"
    home.mkdir()
    away.mkdir()
    calm = {"PROCTOR_REQUESTS_PER_MINUTE": "1000000", "PROCTOR_DATABASE_URL": postgres_url}
    with serving(home, "--no-worker", **calm) as server:
        worker = started(away, ["worker"], PROCTOR_DATABASE_URL=postgres_url)
        try:
            _seen(server)
            keyless = server.submit("gemini", "gemini-2.5-flash")
            told = _told(server, keyless, "no worker can take it")
            assert "lacks GOOGLE_API_KEY or GEMINI_API_KEY" in told
            assert told in server.get("/system").replace("&#39;", "'")
            answer = upload(server, ("asked.jsonl", lines(5)), at="/admin/datasets/upload")
            assert answer.status in (200, 201), answer
            asked = {"dataset_id": answer.body["dataset_id"], "model_id": "simulator/sim"}
            job = server.post("/admin/benchmarks/run", asked)["benchmark_id"].removeprefix("bm_")
            assert server.ended(job)["status"] == "completed"
            assert (away / "logs" / f"{job}.log").exists() and not (home / "logs" / f"{job}.log").exists()
            page = server.get(f"/runs/{job}?tab=log")
            assert f"logs/{job}.log" in page and "in PROCTOR_HOME of worker" in page
        finally:
            worker.terminate()
            worker.communicate()


def _seen(server: Server) -> None:
    while server.get("/readyz")["worker"] != "at work":
        pass


def _told(server: Server, job: str, beginning: str) -> str:
    """The job's step, once it begins so."""
    while True:
        state = server.get(f"/api/v1/jobs/status/{job}")
        if state["step"].startswith(beginning):
            return str(state["step"])
        assert state["status"] == "pending", state
