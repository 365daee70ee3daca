"""`proctor task check`: tasks are tried with agents that are known, by the trials that benchmarks are made of."""

import asyncio
import json
from pathlib import Path

import pytest
from boxed import nothing_left
from prepared import content, prepared

from proctor import trial_record
from proctor.service.rollouts.calibrating import AgentShown, calibration
from proctor.service.rollouts.checking import CheckedTask, CheckWish, check_task
from proctor.settings import read_settings
from proctor.sources.rollouts.skeleton import make_skeleton
from proctor.trial_record import TrialRecord

EXAMPLES = Path(__file__).parents[2] / "examples/tasks"


def checked(folder: Path, home: Path, repeats: int = 1) -> CheckedTask:
    with nothing_left(home):
        found = check_task(folder, read_settings({"PROCTOR_HOME": str(home)}), CheckWish(repeats))
    assert not list((home / "cache").glob("check-*"))
    return found


def failing(found: CheckedTask) -> str:
    return "\n".join(line.what for line in found.lines if line.how == "fail")


def test_a_new_task_is_fit_before_a_word_of_it_is_changed(tmp_path: Path, box_home: Path) -> None:
    found = checked(make_skeleton(tmp_path / "mine"), box_home, 2)
    assert found.fit, failing(found)
    said = [line.what for line in found.lines if line.how == "ok"]
    for each in (
        "null agent",
        "reference patch scores 1",
        "agrees with itself",
        "planted reward does not",
        "ends",
    ):
        assert any(each in line for line in said)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(each.name for each in EXAMPLES.iterdir()))
def test_the_example_tasks_score_nothing_for_nothing_and_all_for_their_reference(
    name: str, box_home: Path
) -> None:
    async def scores() -> tuple[float, float]:
        async with calibration(EXAMPLES / name, None, box_home, sandbox="bubblewrap", image="base") as tried:
            return (await tried.nothing(1)).best, (await tried.reference(1)).worst

    assert asyncio.run(scores()) == (0.0, 1.0)


def test_a_task_that_gives_points_for_nothing_and_whose_reference_is_wrong_is_not_fit(
    tmp_path: Path, box_home: Path
) -> None:
    patch = "--- a/greeting.py\n+++ b/greeting.py\n@@ -1,2 +1,2 @@\n def greet(name):\n-    return 1\n+    return 2\n"
    found = checked(prepared(tmp_path / "task", {"overlay_files/diff.patch": patch}), box_home)
    told = failing(found)
    assert "the null agent, which does nothing, scores 0.300: deep/test_kept.py pass" in told
    assert "the reference patch scores 0.300: the agent that applies it ended as failed" in told


def test_tests_that_believe_what_the_agent_wrote_are_found_out(tmp_path: Path, box_home: Path) -> None:
    believing = {
        "rubrics": [{"id": "r", "criterion": "c", "weight": 1}],
        "test_scripts": [{"path": "t.sh", "rubric_id": "r", "content": "grep -q 1 /app/repo/reward.txt\n"}],
    }
    told = failing(checked(prepared(tmp_path / "task", evaluation=believing), box_home))
    assert "a planted reward counts" in told and "t.sh" in told


def test_an_instruction_that_holds_a_test_is_found_out(tmp_path: Path) -> None:
    folder = make_skeleton(tmp_path / "mine")
    test = (folder / "evaluation/test_greets.py").read_text()
    (folder / "overlay_files/LM_INSTRUCTIONS.md").write_text(f"Let this pass:\n{test}")
    (folder / "Dockerfile").write_text("FROM a\nRUN make\n")  # so that it is read, and not run
    found = check_task(folder, read_settings({"PROCTOR_HOME": str(tmp_path)}), CheckWish())
    assert "holds lines of test_greets.py" in failing(found)


def test_what_a_box_lacks_is_told_and_no_agent_is_blamed(tmp_path: Path, box_home: Path) -> None:
    needy = {"requires": ["python3", "fortran-77", "python:nonesuch"]}
    told = failing(checked(prepared(tmp_path / "task", proctor=needy), box_home))
    assert "lack the program fortran-77 (for greet); Python's module nonesuch (for greet)" in told
    assert "null agent" not in told


def test_a_dockerfile_that_must_be_built_is_refused_before_anything_is_run(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "task", {"Dockerfile": "FROM a\nRUN make\n"})
    found = check_task(folder, read_settings({"PROCTOR_HOME": str(tmp_path / "home")}), CheckWish())
    assert "bubblewrap builds no Dockerfile" in failing(found)
    assert not (tmp_path / "home/images").exists()


def test_scripts_that_change_their_mind_are_counted() -> None:
    always = trial_record.TestResult(True)

    def record(passed: bool) -> TrialRecord:
        tests = {"a": trial_record.TestResult(passed), "b": always}
        return TrialRecord("r", "d", "done", 0.0, False, tests=tests)

    assert AgentShown([record(True), record(False), record(True)]).flaky == {"a": (2, 3)}


@pytest.mark.promise("C-22")
def test_overrides_reach_the_boxes_and_leave_the_prepared_folder_as_it_was(
    tmp_path: Path, box_home: Path
) -> None:
    folder = make_skeleton(tmp_path / "mine")
    before = content(folder)
    solved = (
        before["overlay_repo_files/greeting.py"]
        .replace(b'"Hello!"', b"f\"Hello, {name or 'you'}!\"")
        .decode()
    )
    overrides = tmp_path / "overrides.json"
    overrides.write_text(json.dumps({"overlay_repo_files": {"greeting.py": solved}}))
    settings = read_settings({"PROCTOR_HOME": str(box_home)})
    found = check_task(folder, settings, CheckWish(1, overrides=overrides))
    assert "the null agent, which does nothing, scores 1.000" in failing(found)
    assert content(folder) == before
