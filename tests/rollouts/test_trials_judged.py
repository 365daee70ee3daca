"""Agents' trials judged: the task, the diff and the last words are read, by the criteria of each task's own rubric."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from benchmarks import Desk, entry
from boxed import need_bubblewrap
from trials import IMPORTING, task_folder

from judging.pairs_made import JUDGE, judge_saying
from proctor.references import GradingRubric, JudgingRef
from proctor.service.context import open_context
from proctor.service.judges.wanted import JudgingWanted, judging_plan
from proctor.service.judging.changes import NO_DIFF
from proctor.service.runs.lifecycle import start
from proctor.settings import read_settings
from proctor.store.write import grades
from proctor.types import Grade

TOLD = {
    "one": [
        {"id": "works", "criterion": "The tests pass.", "weight": 1.0},
        {"id": "readable", "criterion": "The change can be read.", "weight": 3.0},
        {"id": "kept", "criterion": "Nothing else changes.", "weight": 1.0, "gate": True},
    ],
    "two": [{"id": "works", "criterion": "It still imports.", "weight": 1.0}],
}
PATCH = """diff --git a/figures.py b/figures.py
--- a/figures.py
+++ b/figures.py
@@ -1,2 +1,2 @@
 def double(number):
-    return number
+    return 2 * number
"""


@dataclass(frozen=True)
class JudgedTrials:
    """What a judge was asked about the trials of two agents, and the grades that it gave, by agent and task.

    `preferred` are its grades of the reference's work beside that of the agent that does nothing, by task.
    """

    asked: list[tuple[str, ...]]
    grades: dict[tuple[str, str], Grade]
    rubric: GradingRubric
    preferred: dict[str, Grade]
    compared: list[tuple[str, ...]]


def better(_criterion: str, first: str, second: str) -> str:
    return f"Answer: {1 if '2 * number' in first else 2}"


def verdict(criterion: str, work: str) -> str:
    return f"Answer: {'pass' if '2 * number' in work and criterion != 'The tests pass.' else 'fail'}"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JudgedTrials]:
    need_bubblewrap()
    desk = Desk.made(tmp_path_factory.mktemp("judged"))
    for name, rubrics in TOLD.items():
        told = {
            "task_id": name,
            "evaluation": {"rubrics": rubrics, "test_scripts": [{"path": "t.py", "rubric_id": "works"}]},
        }
        place = task_folder(desk.place / "tasks" / name, tests={"t.py": IMPORTING}, told=told)
        (place / "overlay_files").mkdir()
        (place / "overlay_files/diff.patch").write_text(PATCH)
    entries = [entry(f"tasks/{task}", agent) for agent in ("reference", "null") for task in TOLD]
    desk.script("run", desk.config("changes", *entries))
    settings = read_settings({"PROCTOR_HOME": str(desk.data), "OPENAI_API_KEY": "none"})
    with judge_saying(verdict) as (url, asked), open_context(settings) as context:
        runs = context.store.runs(limit=None)
        plan = judging_plan(
            context,
            JudgingWanted(tuple(run.id for run in runs), (f"openai/{JUDGE}",), given={"base_url": url}),
        )
        start(context, plan)
        found = {}
        for run in runs:
            (by,) = grades.graders(context.store, run.id)
            for (task, _, _), grade in grades.by(context.store, run.id, by.grader).items():
                found[run.cell.model.name, task] = grade
        with judge_saying(better) as (other_url, compared):
            by_name = {run.cell.model.name: run.id for run in runs}
            wanted = JudgingWanted(
                (by_name["reference"],),
                (f"openai/{JUDGE}",),
                against=by_name["null"],
                given={"base_url": other_url},
            )
            start(context, judging_plan(context, wanted))
        (pairwise,) = (
            each.grader
            for each in grades.graders(context.store, by_name["reference"])
            if "against=" in each.grader
        )
        preferred = grades.by(context.store, by_name["reference"], pairwise)
        ref = plan.cells[0].source
        assert isinstance(ref, JudgingRef)
        told = {task: grade for (task, _, _), grade in preferred.items()}
        yield JudgedTrials(asked, found, ref.rubric, told, compared)


def test_the_criteria_of_each_tasks_own_rubric_are_asked_of_its_trials_and_gates_of_none(
    judged: JudgedTrials,
) -> None:
    assert [(each.name, each.task, each.weight) for each in judged.rubric.criteria] == [
        ("one works", "one", 1.0),
        ("one readable", "one", 3.0),
        ("two works", "two", 1.0),
    ]
    assert sorted(criterion for criterion, _ in judged.asked) == sorted(
        ["The tests pass.", "The change can be read.", "It still imports."] * 2
    )


def test_the_judge_reads_the_diff_and_grades_by_the_weights_of_the_rubric(judged: JudgedTrials) -> None:
    assert {key: grade.score for key, grade in judged.grades.items()} == {
        ("reference", "one"): 0.75,
        ("reference", "two"): 1.0,
        ("null", "one"): 0.0,
        ("null", "two"): 0.0,
    }
    works = [work for _, work in judged.asked if "2 * number" in work]
    assert len(works) == 3 and all("-    return number\n+    return 2 * number" in work for work in works)


def test_a_trial_without_a_diff_says_so(judged: JudgedTrials) -> None:
    assert sum(NO_DIFF in work for _, work in judged.asked) == 3


def test_two_agents_changes_are_compared_by_the_criteria_of_each_task(judged: JudgedTrials) -> None:
    assert {task: (grade.score, grade.note) for task, grade in judged.preferred.items()} == {
        "one": (1.0, "one works: 1; one readable: 1"),
        "two": (1.0, "two works: 1"),
    }
    assert len(judged.compared) == 3 * 2
