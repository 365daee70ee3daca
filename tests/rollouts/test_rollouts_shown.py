"""Benchmarks of tasks as they are shown: lists, the matrix, one trial, and files that agents wrote."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from opened import over
from proctor.errors import NotFound
from proctor.service.rollouts import benchmark, folders, listing, trial
from proctor.service.rollouts.benchmark import TrialWish
from proctor.service.rollouts.listing import BenchmarkWish
from proctor.service.rollouts.patches import view_of
from proctor.service.rollouts.trial import TrialName
from proctor.settings import read_settings
from proctor.store import Store
from proctor.types import Status
from rollouts_made import STAMP, made

ENDS = {0: ["passed", "limit"], 1: ["failed", "sandbox"], 2: ["verifier", "rate-limited"]}


def ends(row: int, task: str, rollout: int) -> str | None:
    return None if task == "two" else ENDS[row][rollout]


def three(store: Store, home: Path) -> str:
    return made(store, home, "three", ends, agents=("a", "b", "c"))[0].plan_id


def test_a_benchmark_is_a_matrix_of_rows_and_tasks_whose_trials_say_how_they_ended(
    store: Store, tmp_path: Path
) -> None:
    found = benchmark.one(over(store), three(store, tmp_path))
    assert [row.label for row in found.rows] == ["agent/a", "agent/b", "agent/c"]
    assert [task.id for task in found.tasks] == ["one", "two"]
    shown = [[each.state for each in found.trials[row.run, "one"]] for row in found.rows]
    assert shown == [["passed", "limit"], ["failed", "sandbox"], ["verifier", "provider"]]
    assert {each.state for row in found.rows for each in found.trials[row.run, "two"]} == {"not run"}
    assert [each.run_id for each in found.all_trials] == [f"{STAMP}-{number}" for number in range(12)]
    line = found.line
    assert (line.planned, line.ended, line.passed, line.errors) == (12, 3, 1, 3)
    assert [(row.tokens, row.cost_usd) for row in found.rows] == [(30, 1.0), (15, 0.5), (None, None)]
    page = benchmark.trials(over(store), found.id, TrialWish(state="sandbox"))
    assert [(each.agent, each.task, each.rollout) for each in page.trials] == [("b", "one", 1)]


def test_benchmarks_are_listed_newest_first_a_page_at_a_time(store: Store, tmp_path: Path) -> None:
    ids = [made(store, tmp_path, f"b{number}", ends, agents=("a",))[0].plan_id for number in range(5)]
    first = listing.listed(over(store), limit=2)
    assert ([each.id for each in first.benchmarks], first.total) == ([ids[4], ids[3]], 5)
    rest = listing.listed(over(store), BenchmarkWish(after=first.after), limit=10)
    assert ([each.id for each in rest.benchmarks], rest.after) == ([ids[2], ids[1], ids[0]], None)
    assert [each.name for each in listing.listed(over(store), BenchmarkWish(name="b3")).benchmarks] == ["b3"]
    assert listing.listed(over(store), BenchmarkWish(status=Status.RUNNING)).total == 0


def test_a_trial_shows_its_patch_its_record_and_why_it_measured_nothing(store: Store, tmp_path: Path) -> None:
    context = over(store)
    found = benchmark.one(context, three(store, tmp_path))
    shown = trial.one_trial(context, TrialName(found.id, found.rows[0].run, "one", 0))
    assert shown.patch is not None and shown.record is not None
    assert [line.text for line in shown.patch.files[0].hunks[0].lines] == ["old three", "new three"]
    assert (shown.record.final, shown.instruction) == ("the last words of three", "Do one of three.")
    broken = trial.one_trial(context, TrialName(found.id, found.rows[1].run, "one", 1))
    assert (broken.record, broken.error, broken.tries[0].slug) == (None, "three has met sandbox", "sandbox")
    for name in (
        TrialName(found.id, found.rows[0].run, "one", 2),
        TrialName(found.id, found.rows[0].run, "three", 0),
        TrialName(found.id, "nobody", "one", 0),
        TrialName("nobody", found.rows[0].run, "one", 0),
    ):
        with pytest.raises(NotFound):
            trial.one_trial(context, name)


def test_a_trial_at_work_tells_its_phase_while_its_process_lives(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / f"{STAMP}-0"
    folder.mkdir(parents=True)
    state = {"phase": "agent", "since": 5.0, "pid": os.getpid(), "try": 2, "finished": ["prepare"]}
    (folder / "state.json").write_text(json.dumps(state))
    assert folders.live_phase(tmp_path, f"{STAMP}-0") == folders.LivePhase("agent", 5.0, 2)
    for dead in ({"pid": 2**22 + 5}, {"phase": "done"}, {"phase": None}, {"pid": "1"}):
        (folder / "state.json").write_text(json.dumps({**state, **dead}))
        assert folders.live_phase(tmp_path, f"{STAMP}-0") is None
    (folder / "state.json").write_text("{")
    assert folders.live_phase(tmp_path, f"{STAMP}-0") is None


def test_no_link_that_an_agent_left_leads_out_of_a_trials_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    for name, make in {
        "file": lambda at: (at / "logs").mkdir() or (at / "logs/eval.log").symlink_to(tmp_path / "secret"),
        "folder": lambda at: (at / "logs").symlink_to(tmp_path / "elsewhere"),
        "pipe": lambda at: (at / "logs").mkdir() or os.mkfifo(at / "logs/eval.log"),
        "device": lambda at: (at / "logs").mkdir() or (at / "logs/eval.log").symlink_to("/dev/zero"),
    }.items():
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        make(folder)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/eval.log").write_text("secret")
    (tmp_path / "runs/whole").symlink_to(tmp_path)
    for run_id in ("file", "folder", "pipe", "device", "whole", "..", "", "../runs", "a/b"):
        assert folders.read(tmp_path, run_id, ("logs", "eval.log")) is None
        assert (folders.tails(tmp_path, run_id), folders.files(tmp_path, run_id)) == ((), ())


def test_the_end_of_a_long_log_is_shown_and_how_long_it_is(tmp_path: Path) -> None:
    logs = tmp_path / "runs/x/logs"
    logs.mkdir(parents=True)
    (logs / "agent.log").write_bytes(b"a" * 1_000_000 + b"\xff the end")
    (tail,) = folders.tails(tmp_path, "x")
    assert (tail.bytes, tail.cut, len(tail.text)) == (1_000_009, True, folders.TAIL_BYTES)
    assert tail.text.endswith("\ufffd the end")


def test_a_patch_that_looks_like_several_is_read_by_its_counts() -> None:
    hostile = (
        "diff --git a/a b/a\nnew file mode 100644\n--- /dev/null\n+++ b/a\n@@ -0,0 +1,2 @@\n"
        "+diff --git a/evil b/evil\n+@@ -1,9 +1,9 @@\n"
        "diff --git a/b c b/b c\ndeleted file mode 100644\n@@ -1 +0,0 @@\n-gone\n\\ No newline at end of file\n"
        "diff --git a/p.png b/p.png\nGIT binary patch\nliteral 3\nabc\n"
        "diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"
    )
    found = view_of(hostile)
    assert [(each.path, each.change, each.binary) for each in found.files] == [
        ("a", "added", False),
        ("b c", "deleted", False),
        ("p.png", "modified", True),
        ("new", "renamed", False),
    ]
    assert (found.added, found.removed, found.cut) == (2, 1, False)
    assert view_of("no patch\n" * 5).files == ()
    long = "diff --git a/a b/a\n@@ -0,0 +1,20000 @@\n" + "+x\n" * 20_000
    assert (view_of(long).added, view_of(long).cut) == (20_000, True)


def test_a_benchmark_of_thousands_of_trials_is_shown_in_time(store: Store, tmp_path: Path) -> None:
    """A list a page shows and a matrix that is live must not wait for thousands of records to be read."""
    settings = read_settings({"PROCTOR_HOME": str(tmp_path)})
    names = [f"task-{number}" for number in range(50)]
    many = made(
        store, tmp_path, "many", lambda *_: "failed", tasks=names, rollouts=10, agents=("a", "b", "c")
    )
    began = time.process_time()
    found = benchmark.one(over(store, settings), many[0].plan_id)
    spent_s = time.process_time() - began
    assert len(list(found.all_trials)) == 1500
    assert spent_s < 2.0  # a bound for a busy machine: what is measured quietly is a tenth
