"""A judging begun over the API and done in another home, its process killed: every reply is judged, and once."""

from __future__ import annotations

import json
import sqlite3
import urllib.request
from contextlib import closing
from pathlib import Path

import pytest
from judged_home import RIGHT, N, answered

from jobs_world import World, children_of, kill, until
from proctor.service.grades.view import graded_result
from proctor.service.judges.requests import standing_of
from proctor.simulator import prompt_key, spawn
from proctor.store.admin.snapshot import write_snapshot
from proctor.types import Run
from served import serving

pytestmark = pytest.mark.slow  # a server, a fleet of two homes, and a process that is killed
SECRET = "sk-judge-0123456789abcdef0123456789"


def test_a_judging_of_another_home_settles_its_grades_after_its_process_is_killed(
    postgres_url: str, tmp_path: Path
) -> None:
    where = {"PROCTOR_DATABASE_URL": postgres_url}
    home = tmp_path / "asked"
    home.mkdir()
    judged = answered(home, "good", RIGHT, **where)
    away = World(tmp_path / "away" / "home", postgres_url)
    away.set(OPENAI_API_KEY=SECRET)
    with (
        closing(away),
        spawn(["--latency", "0.3"], {}) as judge,
        serving(home, "--no-worker", **where) as server,
    ):
        config = {"base_url": f"{judge.url}/v1", "parallel": 2}
        body = {"runs": [judged], "judges": ["openai/judge-95"], "config": config, "priority": "low"}
        (begun,) = server.post("/api/v1/judgings", body)["judgings"]
        assert (begun["status"], begun["run_id"], begun["deleted"]) == ("pending", judged, [])
        run = away.store.run(begun["job_id"])
        worker = away.program("worker", "--lease", "2")
        until(lambda: away.run(run).settled >= 2, "it judges")
        assert 0 < away.run(run).settled < N
        kept = settled(away, run)
        kill(children_of(run))
        shown = server.ended(run.id)
        assert (shown["status"], sum(shown["outcomes"].values())) == ("completed", N)
        assert worker.poll() is None
        times = asked(judge.url)
        assert len(times) == N and {times[each] for each in kept} == {1}, "no kept verdict is asked for again"
        (known,) = server.get(f"/api/v1/judgings?run_id={judged}")["judgings"]
        assert (known["verdicts"], known["grader"]) == (N, begun["grader"])
        told = server.get(f"/api/v1/judged/{judged}")
        assert (told["grader"], told["judge_alone"]["scored"], told["checked"]) == (known["grader"], N, False)
        assert_whole_and_without_secrets(away, run, tmp_path / "snapshot.db")


def asked(url: str) -> dict[str, int]:
    """How often each prompt was asked."""
    with urllib.request.urlopen(f"{url}/__stats?keys=1", timeout=10) as answer:
        seen: dict[str, int] = json.load(answer)["by_key"]
    return seen


def settled(away: World, run: Run) -> set[str]:
    """The prompts whose verdicts are kept."""
    asks = (away.store.item(row.item_hash).ask for row in away.store.latest(run.id))
    return {prompt_key([(m.role, m.content) for m in ask.messages]) for ask in asks}


def assert_whole_and_without_secrets(away: World, run: Run, path: Path) -> None:
    (known,) = standing_of(away.context, run.cell.source.run)  # type: ignore[union-attr]  # a judging's reference
    assert graded_result(away.context, known.ref.run, known.grader).scores[0].estimate.scored == N
    write_snapshot(away.store, path)
    with closing(sqlite3.connect(path)) as kept:
        assert kept.execute("SELECT count(*), count(score) FROM grade").fetchone() == (N, N)
        kept.execute("PRAGMA journal_mode=DELETE")
    assert SECRET.encode() not in path.read_bytes()
    for row in away.store.latest(run.id):
        assert SECRET not in json.dumps(away.store.payload(run.id, row.item_id), default=str)
