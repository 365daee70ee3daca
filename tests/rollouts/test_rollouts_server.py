"""Benchmarks of tasks over /api/v1/rollouts: a real server, its worker, real boxes."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from boxed import image_in, nothing_left

from served import Server, serving

ROLLOUTS = "/api/v1/rollouts"
EXAMPLE = Path(__file__).parents[2] / "examples/tasks/mend-the-mean"
TASK = "mend-the-mean"
HANG_S = 60.0
AGENTS = """
[agents.sleeper]
kind = "scripted"
script = "{folder}/sleeper.sh"

[agents.halver]
kind = "scripted"
script = "{folder}/halver.sh"
"""
SLEEPER = "echo begun; (setsid sleep 300 &); sleep 300\n"
# Its first rollout is done at once, the others take as long as somebody lets them.
HALVER = 'echo "def half(): return 2" >> figures.py; [ "$TASK_ROLLOUT" = 0 ] || sleep 300\n'


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = image_in(tmp_path_factory.mktemp("rollouts") / "home")
    shutil.copytree(EXAMPLE, home / "tasks/prepared" / TASK)
    (home / "sleeper.sh").write_text(SLEEPER)
    (home / "halver.sh").write_text(HALVER)
    (home / "proctor.toml").write_text(AGENTS.format(folder=home))
    return home


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home, PROCTOR_REQUESTS_PER_MINUTE="100000", PROCTOR_FIRST_RETRY="0.1s") as running:
        yield running


def body(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    listed = [{"prepared_dir": TASK, **each} for each in tasks]
    return {"name": "small", "tasks": listed, **more}


def until(server: Server, ident: str, done: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The benchmark once something is true of it."""
    deadline = time.monotonic() + HANG_S
    while not done(found := server.get(f"{ROLLOUTS}/{ident}")):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return dict(found)


def ended(found: dict[str, Any]) -> bool:
    return found["status"] not in ("pending", "running")


def states(found: dict[str, Any]) -> list[list[str]]:
    """The states of each row's trials."""
    return [[trial["state"] for task in row for trial in task] for row in found["matrix"]]


def at_work(found: dict[str, Any]) -> bool:
    return any("working" in row for row in states(found))


@pytest.fixture(scope="module")
def finished(server: Server) -> str:
    """A benchmark of two agents that has ended; the last test deletes it."""
    asked = body({"agent": "reference", "rollouts": 2}, {"agent": "null", "rollouts": 2}, parallel=2)
    ident: str = server.post(ROLLOUTS, asked)["benchmark_id"]
    until(server, ident, ended)
    return ident


def test_a_benchmark_is_started_followed_and_read_down_to_its_patch_and_log(
    server: Server, home: Path, finished: str
) -> None:
    ident = finished
    found = until(server, ident, ended)
    assert (found["status"], found["planned"], found["ended"], found["passed"]) == ("completed", 4, 4, 2)
    assert [row["label"] for row in found["rows"]] == ["agent/reference", "agent/null"]
    assert states(found) == [["passed", "passed"], ["failed", "failed"]]
    assert found["benchmark_id"] in [each["benchmark_id"] for each in server.get(ROLLOUTS)["benchmarks"]]
    # Rows are done one after the other, so that no more than `parallel` trials are at work.
    times = [(row["started_at"], row["completed_at"]) for row in found["rows"]]
    assert times[1][0] >= times[0][1]

    job = found["rows"][0]["job_id"]
    where = f"{ROLLOUTS}/{ident}/trials/{job}/{TASK}/1"
    trial = server.get(where)
    assert (trial["state"], trial["score"], trial["here"]) == ("passed", 1.0, True)
    assert [each["name"] for each in trial["record"]["phases"]][-1] in ("score", "verify")
    assert trial["patch"]["files"][0]["path"] == "figures.py"
    assert (home / "runs" / trial["run_id"]).is_dir()
    patch = server.ask("GET", f"{where}/patch")
    assert "+    if not numbers:" in patch.body
    assert patch.headers["Content-Type"].startswith("text/plain")
    assert any("sandbox" in each for each in patch.headers.get_all("Content-Security-Policy"))  # type: ignore[attr-defined]  # the headers of urllib
    assert server.ask("GET", f"{where}/log").status == 200
    told = server.ask("GET", f"{where}/trajectory")
    assert (told.body["schema_version"], told.body["session_id"]) == ("ATIF-v1.8", trial["run_id"])
    assert "[user]" in server.ask("GET", f"{where}/trajectory?format=text").body
    assert server.ask("GET", f"{where}/trajectory?format=jsonl").status == 404  # it asks no model
    assert server.ask("GET", f"{ROLLOUTS}/{ident}/trials/{job}/{TASK}/2").status == 404
    page = server.get(f"{ROLLOUTS}/{ident}/trials?state=failed&limit=1")
    assert (page["total"], page["after"], page["trials"][0]["agent"]) == (2, 1, "null")
    shown = server.get(f"{ROLLOUTS}/{ident}/summary")
    assert [row["success_rate"]["value"] for row in shown["runs"]] == [1.0, 0.0]
    assert server.get(f"/api/v1/jobs/status/{job}")["status"] == "completed"
    log = (home / "logs" / f"{job}.log").read_text()
    assert f"trial {TASK}, rollout 1: passed, score 1.00" in log


def test_the_prepared_tasks_of_the_server_are_listed_with_their_rubrics(server: Server) -> None:
    (task,) = server.get("/api/v1/tasks")["tasks"]
    assert (task["prepared_dir"], task["task"], task["fault"]) == (TASK, TASK, None)
    assert len(task["sha256"]) == 64
    assert [rubric["tests"] for rubric in task["rubrics"]] == [1, 1]


REFUSED = {
    "a folder of the machine": body({"agent": "null", "prepared_dir": "/etc"}),
    "a way out of the prepared tasks": body({"agent": "null", "prepared_dir": f"../prepared/{TASK}"}),
    "a path that is no name": body({"agent": "null", "prepared_dir": f"x/../{TASK}"}),
    "a link out": body({"agent": "null", "prepared_dir": "linked"}),
    "an agent with a program of its own": body({"agent": "null"}, agents={"null": {"kind": "scripted"}}),
    "a script": body({"agent": "scripted", "script": "/bin/sh"}),
    "an agent that nobody defined": body({"agent": "scripted"}),
    "a weaker sandbox": body({"agent": "null"}, sandbox="local"),
    "overrides outside of the task": body({"agent": "null", "overrides": "../../../proctor.toml"}),
    "overrides by a path of the machine": body({"agent": "null", "overrides": "/etc/passwd"}),
    "overrides behind a link": body({"agent": "null", "overrides": "out.json"}),
    "an image by a path": body({"agent": "null"}, image="../../etc"),
    "a folder by its name": body({"agent": "null"}, name="../../etc"),
    "more than a machine has": body({"agent": "null"}, parallel=200),
    "more memory than allowed": body({"agent": "null"}, limits={"memory_mb": 10**6}),
    "a model of files": body({"agent": "shell", "model": "replay/x"}),
    "an address": body({"agent": "shell", "model": "openai/x", "base_url": "http://127.0.0.1:1"}),
    "another's project": body({"agent": "null"}, project_id=77),
}


@pytest.mark.parametrize("what", REFUSED)
def test_no_request_brings_a_path_a_program_or_a_weaker_sandbox(
    what: str, server: Server, home: Path, tmp_path: Path
) -> None:
    linked, out = home / "tasks/prepared/linked", home / "tasks/prepared" / TASK / "out.json"
    linked.symlink_to(EXAMPLE)
    out.symlink_to("/etc/passwd")
    before = server.get(ROLLOUTS)["total"], sorted(home.glob("rollouts/*/*"))
    try:
        answer = server.ask("POST", ROLLOUTS, REFUSED[what])
    finally:
        linked.unlink()
        out.unlink()
    assert answer.status in (400, 403, 404), answer
    assert (server.get(ROLLOUTS)["total"], sorted(home.glob("rollouts/*/*"))) == before


@pytest.mark.slow
def test_a_cancelled_benchmark_leaves_nothing_at_work_and_goes_on_with_what_it_lacks(
    server: Server, home: Path
) -> None:
    asked = body({"agent": "halver", "rollouts": 2}, {"agent": "null"}, parallel=2, limits={"agent_s": 200})
    ident = server.post(ROLLOUTS, asked)["benchmark_id"]
    until(server, ident, lambda found: found["ended"] == 1 and bool(list((home / "boxes").iterdir())))
    with nothing_left(home):
        server.post(f"{ROLLOUTS}/{ident}/cancel")
        found = until(server, ident, ended)
        until(server, ident, lambda _found: not list((home / "boxes").iterdir()))
    assert found["status"] == "cancelled"
    assert states(found) == [["failed", "cancelled"], ["cancelled"]]
    kept = found["matrix"][0][0][0]
    (home / "halver.sh").write_text("echo done\n")
    try:
        server.post(f"{ROLLOUTS}/{ident}/resume")
        found = until(server, ident, ended)
    finally:
        (home / "halver.sh").write_text(HALVER)
    assert states(found) == [["failed", "failed"], ["failed"]]
    assert found["matrix"][0][0][0] == kept
    assert server.ask("POST", f"{ROLLOUTS}/{ident}/resume").status == 409
    assert server.ask("POST", f"{ROLLOUTS}/{ident}/cancel").status == 409


def _of_job(run_id: str) -> list[int]:
    """The process that works on a run."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if "work-on" in words and run_id in words:
            found.append(process.pid)
    return found


@pytest.mark.slow
def test_a_benchmark_whose_process_is_killed_goes_on_and_keeps_its_verdicts(
    server: Server, home: Path
) -> None:
    ident = server.post(ROLLOUTS, body({"agent": "halver", "rollouts": 2}, parallel=2))["benchmark_id"]
    found = until(server, ident, lambda found: found["ended"] == 1 and bool(list((home / "boxes").iterdir())))
    kept = found["matrix"][0][0][0]
    (job,) = _of_job(found["rows"][0]["job_id"])
    (home / "halver.sh").write_text("echo done\n")
    try:
        os.kill(job, signal.SIGKILL)
        with nothing_left(home):  # by the worker, before the benchmark goes on
            found = until(server, ident, ended)
    finally:
        (home / "halver.sh").write_text(HALVER)
    assert (found["status"], found["ended"]) == ("completed", 2)
    assert found["matrix"][0][0][0] == kept


def test_a_deleted_benchmark_takes_its_folders_with_it(server: Server, home: Path, finished: str) -> None:
    stamp = server.get(f"{ROLLOUTS}/{finished}")["stamp"]
    assert len(list((home / "runs").glob(f"{stamp}-*"))) == 4
    assert server.ask("DELETE", f"{ROLLOUTS}/{finished}").status == 200
    assert list((home / "runs").glob(f"{stamp}-*")) == []
    assert not (home / "rollouts/small" / stamp).exists()
    assert server.ask("GET", f"{ROLLOUTS}/{finished}").status == 404
