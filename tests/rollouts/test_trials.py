"""Trials: phases, what of them is kept, and what is verified again, on real boxes."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from boxed import nothing_left
from trials import IMPORTING, MEND, MENDED, Benchmark, task_folder

from proctor.engine.trials.folder import worked_on
from proctor.errors import DiskFull, SandboxError, VerifierError
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.trial_record import record_from


@pytest.fixture
def benchmark_of_one(box_home: Path, bubblewrap: Bubblewrap, tmp_path: Path) -> Benchmark:
    return Benchmark.of(box_home, bubblewrap, task_folder(tmp_path / "task"))


def test_an_agent_that_mends_passes_and_one_that_does_nothing_does_not(benchmark_of_one: Benchmark) -> None:
    with nothing_left(benchmark_of_one.home):
        mended, idle = benchmark_of_one.tried(MEND, 0), benchmark_of_one.idle(1)
    assert (mended.passed, mended.score, mended.ended) == (True, 1.0, "done")
    assert (idle.passed, idle.score, idle.ended) == (False, 0.0, "done")
    assert [each.name for each in mended.phases] == ["prepare", "agent", "collect", "verify", "score"]


@pytest.mark.promise("C-17")
def test_the_documented_files_of_a_trial_tell_its_patch_and_its_scores(benchmark_of_one: Benchmark) -> None:
    reply = benchmark_of_one.asked(benchmark_of_one.scripted(f"echo hello\n{MEND}"))
    place = benchmark_of_one.place()
    record = record_from(reply.raw)
    assert (place / "artifacts/diff.patch").read_text() == reply.text
    assert "-    return number\n+    return 2 * number\n" in reply.text
    assert "The agent's last words" in (place / "artifacts/notes.md").read_text()
    assert json.loads((place / "artifacts/repo_info.json").read_bytes())["touched_files"] == ["figures.py"]
    told = json.loads((place / "evaluation_results.json").read_bytes())
    assert (told["task_id"], told["run_id"]) == ("double", place.name)
    assert told["total_score"] == told["evaluation"]["total_score"] == 1.0
    assert told["evaluation"]["rubrics"]["test_double.py"] == {
        "criterion": "test_double.py",
        "weight": 1.0,
        "score": 1.0,
        "max_score": 1.0,
        "weighted_score": 1.0,
        "test_count": 1,
        "tests_passed": 1,
    }
    assert told["test_results"]["test_double.py"]["success"] is True
    assert told["diff_lines"] == reply.text.count("\n")
    sections = [
        line for line in (place / "scoring_results.md").read_text().splitlines() if line.startswith("## ")
    ]
    assert sections[:2] == ["## Overall Score", "## Scoring Breakdown"]
    assert sections[-2:] == ["## Task Instructions", "## Final Summary"]
    assert (place / "logs/agent.log").read_text() == "hello\n"
    assert "== test_double.py: passed" in (place / "logs/eval.log").read_text()
    assert (place / "record.json").read_bytes() == reply.raw
    assert benchmark_of_one.state()["phase"] is None
    assert not (place / "private").exists()
    assert set(record.hashes) == {"task", "image", "agent", "limits", "patch", "verdict", "chain"}


@pytest.mark.promise("C-23")
def test_figures_that_test_scripts_write_are_in_the_results_and_no_others(
    box_home: Path, bubblewrap: Bubblewrap, tmp_path: Path
) -> None:
    metrics = '{"custom_metrics": {"complexity": 3, "coverage": 0.5, "bad": "x", "nan": NaN}}'
    script = f"open('/app/artifacts/custom_metrics.json', 'w').write('{metrics}')\n"
    benchmark = Benchmark.of(
        box_home, bubblewrap, task_folder(tmp_path / "task", tests={"test_it.py": script})
    )
    record = benchmark.tried(
        'echo \'{"custom_metrics": {"planted": 1}}\' > /app/artifacts/custom_metrics.json'
    )
    assert record.custom_metrics == {"complexity": 3, "coverage": 0.5}
    told = json.loads((benchmark.place() / "evaluation_results.json").read_bytes())
    assert told["custom_metrics"] == {"complexity": 3, "coverage": 0.5}
    assert any("2 custom metrics" in note for note in record.notes)


@pytest.mark.promise("C-29")
def test_a_task_of_its_own_time_stops_its_agent_then_and_is_scored_by_what_is_there(
    benchmark_of_one: Benchmark,
) -> None:
    entry = replace(benchmark_of_one.ref.tasks[0], timeout_s=2.0)
    limited = replace(benchmark_of_one, ref=replace(benchmark_of_one.ref, tasks=(entry,)))
    record = limited.tried(f"{MEND}\nsleep 60")
    assert (record.ended, record.passed) == ("limit", True)
    assert record.limits_met
    assert record.deadlines["agent"] == 2.0


def test_a_whole_trial_s_time_stops_the_agent_and_leaves_the_verifier_its_own(
    box_home: Path, bubblewrap: Bubblewrap, tmp_path: Path
) -> None:
    # Right from the beginning: how far an agent comes in a second is not what this is about.
    folder = task_folder(tmp_path / "task", repository={"figures.py": MENDED})
    record = Benchmark.of(box_home, bubblewrap, folder).limited(trial_s=2.0).tried("sleep 60")
    assert (record.ended, record.passed) == ("limit", True)


def test_an_agent_that_fails_is_scored_by_its_patch(benchmark_of_one: Benchmark) -> None:
    record = benchmark_of_one.tried(f"{MEND}\nexit 3")
    assert (record.ended, record.exit_code, record.passed) == ("failed", 3, True)


def test_a_broken_verifier_says_nothing_and_is_run_again_alone(
    box_home: Path, bubblewrap: Bubblewrap, tmp_path: Path
) -> None:
    folder = task_folder(
        tmp_path / "task",
        told={
            "evaluation": {
                "rubrics": [{"id": "r", "criterion": "c", "weight": 1}],
                "test_scripts": [{"path": "test_double.py", "rubric_id": "r", "runner": "pytest"}],
            }
        },
    )
    benchmark = Benchmark.of(box_home, bubblewrap, folder)
    script = f"{MEND}\necho asked"
    with pytest.raises(VerifierError, match="has no pytest"):
        benchmark.asked(benchmark.scripted(script))
    assert benchmark.state()["finished"] == ["prepare", "agent", "collect"]
    with pytest.raises(VerifierError, match="has no pytest"):
        benchmark.asked(benchmark.scripted(script))
    assert (benchmark.place() / "logs/agent.log").read_text() == "asked\n"
    assert benchmark.state()["verified"] == 2
    assert not (benchmark.place() / "attempts").exists()


def killed_when(benchmark: Benchmark, script: str, begun: Callable[[], bool]) -> None:
    """A process that works on a trial, killed as soon as something has begun."""
    agent = benchmark.scripted(script)
    process = multiprocessing.get_context("fork").Process(target=benchmark.asked, args=(agent,))
    process.start()
    latest = time.monotonic() + 30
    while not begun() and process.is_alive() and time.monotonic() < latest:
        time.sleep(0.005)
    assert begun()
    process.kill()
    process.join()
    with nothing_left(benchmark.home):
        benchmark.sandbox.sweep()


def test_a_trial_whose_agent_was_at_work_when_its_process_was_killed_begins_once_more(
    benchmark_of_one: Benchmark,
) -> None:
    script = f"echo asked\n{MEND}\nsleep 1"
    log = benchmark_of_one.place() / "logs/agent.log"
    killed_when(benchmark_of_one, script, lambda: benchmark_of_one.phase() == "agent" and log.exists())
    record = benchmark_of_one.tried(script)
    assert (record.passed, record.tries, log.read_text()) == (True, 2, "asked\n")
    left = json.loads((benchmark_of_one.place() / "attempts/0/state.json").read_bytes())
    assert (left["phase"], left["finished"], left["try"]) == ("agent", ["prepare"], 1)


def test_a_trial_whose_work_was_collected_when_its_process_was_killed_is_only_verified(
    box_home: Path, bubblewrap: Bubblewrap, tmp_path: Path
) -> None:
    slow = f"import time; time.sleep(1)\n{IMPORTING}"
    benchmark = Benchmark.of(
        box_home, bubblewrap, task_folder(tmp_path / "task", tests={"test_slow.py": slow})
    )
    script = f"echo asked\n{MEND}"
    killed_when(benchmark, script, lambda: benchmark.phase() == "verify")
    assert benchmark.state()["finished"] == ["prepare", "agent", "collect"]
    record = benchmark.tried(script)
    assert (record.passed, record.tries, record.verified) == (True, 1, 1)
    assert (benchmark.place() / "logs/agent.log").read_text() == "asked\n"
    assert not (benchmark.place() / "attempts").exists()
    assert [each.name for each in record.phases] == ["prepare", "agent", "collect", "verify", "score"]


def test_a_finished_trial_is_told_again_and_nothing_is_run(benchmark_of_one: Benchmark) -> None:
    agent = benchmark_of_one.scripted(MEND)
    first = benchmark_of_one.asked(agent)
    assert benchmark_of_one.asked(agent) == first
    assert (benchmark_of_one.place() / "logs/eval.log").read_text().count("==") == 1


def test_another_agent_s_work_is_put_aside_and_never_taken_for_its_own(benchmark_of_one: Benchmark) -> None:
    benchmark_of_one.tried(f"{MEND}\necho first")
    record = benchmark_of_one.tried("echo second")
    assert (record.passed, record.tries) == (False, 2)
    place = benchmark_of_one.place()
    assert (place / "logs/agent.log").read_text() == "second\n"
    assert (place / "attempts/0/logs/agent.log").read_text() == "first\n"
    assert json.loads((place / "attempts/0/state.json").read_bytes())["phase"] is None


def test_a_patch_that_was_changed_on_disk_is_not_taken(benchmark_of_one: Benchmark) -> None:
    script = f"{MEND}\necho asked"
    benchmark_of_one.tried(script)
    (benchmark_of_one.place() / "artifacts/diff.patch").write_text("")
    record = benchmark_of_one.tried(script)
    assert (record.passed, record.tries) == (True, 2)


def test_two_do_not_work_on_one_trial(benchmark_of_one: Benchmark) -> None:
    with (
        worked_on(benchmark_of_one.place()),
        pytest.raises(SandboxError, match="works on this trial already"),
    ):
        benchmark_of_one.idle()


def test_on_a_full_disk_no_agent_is_asked_and_what_was_finished_stays(
    benchmark_of_one: Benchmark, tmp_path: Path
) -> None:
    full = tmp_path / "full"
    full.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=70m", "tmpfs", str(full)], check=True)
    try:
        (benchmark_of_one.home / "runs").symlink_to(full)
        kept = benchmark_of_one.tried(MEND)
        (full / "filling").write_bytes(bytes(20_000_000))
        with pytest.raises(DiskFull, match="64 MB"):
            benchmark_of_one.tried(MEND, 1)
        assert not (benchmark_of_one.place(1) / "logs/agent.log").exists()
        assert benchmark_of_one.tried(MEND) == kept
    finally:
        subprocess.run(["umount", str(full)], check=True)
