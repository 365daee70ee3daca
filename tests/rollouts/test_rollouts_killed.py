"""A benchmark that is killed or interrupted goes on: what ended is kept, the rest is run once, and nothing is left."""

from __future__ import annotations

import secrets
import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from benchmarks import Desk, entry
from boxed import need_bubblewrap, nothing_left
from trials import MEND

from proctor.service.context import open_context
from proctor.settings import read_settings
from proctor.store.core.tables import ATTEMPT

# By which the processes of this test's agents are known.
SECONDS = str(1_000_000 + secrets.randbelow(100_000_000))
# Every rollout leaves another patch, so that one that was run again would be seen. The daemon outlives its agent.
AGENT = f"""{MEND}
head -c 8 /dev/urandom | od -An -tx1 > token.txt
(setsid sleep {SECONDS} &)
sleep 0.$((TASK_ROLLOUT % 4 * 2 + 2))
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    need_bubblewrap()
    return Desk.made(tmp_path)


def config_of(desk: Desk, rollouts: int, parallel: int) -> str:
    task = desk.task("task_1")
    return desk.config(
        "long",
        desk.agent("slow", AGENT),
        entry(task, "slow", rollouts),
        entry(task, "null", 2),
        parallel=parallel,
    )


def until_some_ended(running: subprocess.Popen[str], wanted: int) -> None:
    assert running.stdout is not None
    seen = 0
    for line in running.stdout:
        seen += line.startswith("✓ Task ")
        if seen >= wanted:
            return
    raise AssertionError(f"it ended after {seen} trials")


def patches(desk: Desk) -> dict[str, bytes]:
    """The patch of every trial that is kept, by its name."""
    found = {}
    for row in desk.manifest("long")["results"]:
        if row["score"] is not None:
            found[row["run_id"]] = Path(row["run_dir"], "artifacts/diff.patch").read_bytes()
    return found


def tries(desk: Desk) -> int:
    with (
        open_context(read_settings({"PROCTOR_HOME": str(desk.data)})) as context,
        context.store.reading() as asked,
    ):
        return len(asked.execute(ATTEMPT.select()).fetchall())


def need_no_daemon() -> None:
    """The kernel ends what is left of a killed runner's boxes; that takes a moment."""
    ours = ["sleep", SECONDS]
    left = [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ours]
    assert psutil.wait_procs(left, timeout=30)[1] == []


def killed_and_resumed(desk: Desk, rollouts: int, parallel: int, after: int) -> None:
    running = desk.begun("run", config_of(desk, rollouts, parallel))
    with running:
        until_some_ended(running, after)
        running.send_signal(signal.SIGKILL)
    need_no_daemon()
    desk.rollouts("summarize", "long")  # the files as the store has it now
    kept = patches(desk)
    assert after <= len(kept) < rollouts
    done = desk.rollouts("resume", "long")
    assert f"Going on: {len(kept)} of {rollouts + 2} tasks have an outcome" in done.stdout
    assert f"✓ All {rollouts + 2} tasks completed!" in done.stdout
    after_all = patches(desk)
    assert len(after_all) == rollouts + 2
    assert {name: after_all[name] for name in kept} == kept
    assert tries(desk) == rollouts + 2  # nobody was asked again
    states = [row["state"] for row in desk.manifest("long")["results"]]
    assert states == ["passed"] * rollouts + ["failed"] * 2


@pytest.mark.promise("X-02")
def test_a_killed_benchmark_goes_on_where_it_was(desk: Desk) -> None:
    with nothing_left(desk.data):
        killed_and_resumed(desk, rollouts=12, parallel=8, after=3)


@pytest.mark.slow
@pytest.mark.promise("C-27")
def test_a_hundred_trials_at_once_eight_of_them_survive_a_kill(desk: Desk) -> None:
    with nothing_left(desk.data):
        killed_and_resumed(desk, rollouts=98, parallel=8, after=40)


def test_ctrl_c_keeps_what_ended_and_says_how_to_go_on(desk: Desk) -> None:
    with nothing_left(desk.data):
        running = desk.begun("run", config_of(desk, 12, 4))
        until_some_ended(running, 2)
        running.send_signal(signal.SIGINT)
        told, _ = running.communicate(timeout=60)
        assert running.returncode == 130, told
        need_no_daemon()
        assert "To go on: proctor resume" in told
        states = [row["state"] for row in desk.manifest("long")["results"]]
        assert states.count("passed") >= 2 and set(states[:12]) <= {"passed", "cancelled"}
        assert "cancelled" in (desk.folder("long") / "summary.md").read_text()
