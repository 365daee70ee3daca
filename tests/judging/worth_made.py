"""Runs whose grades by a judge and by people a test writes itself, straight into a store."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from proctor.references import Criterion, GradingRubric, JudgingRef
from proctor.service.judging.names import judge_name
from proctor.store import Store
from proctor.store.write import graded_labels, grades
from proctor.store.write.graded_labels import GradedLabel
from proctor.store.write.grades import KeptGrade
from proctor.types import Grade, Model, Outcome, Run

CORRECT = GradingRubric()
TWO = GradingRubric(
    "two", (Criterion("correct", "Is it right?"), Criterion("tone", "Is it kind?", "1-5", weight=3.0))
)
JUDGE = Model("openai", "judge")


def judge_says(
    store: Store,
    run: Run,
    said: Sequence[str | None],
    *,
    rubric: GradingRubric = CORRECT,
    against: Run | None = None,
    scores: Sequence[float] = (),
) -> str:
    """The grader's name; `said` are notes as a judge's grades have them, one a reply, None where it gave no grade."""
    name = judge_name(JUDGE, JudgingRef("open.csv", run.id, against=against and against.id, rubric=rubric), 1)
    worth = {"pass": 1.0, "fail": 0.0, "1": 1.0, "tie": 0.5, "2": 0.0}
    kept = []
    for place, note in enumerate(said):
        if note is None:
            continue
        score = scores[place] if scores else worth[note.rpartition(": ")[2]]
        outcome = Outcome.CORRECT if score == 1.0 else Outcome.WRONG
        kept.append(KeptGrade(f"q/{place}", 0, 0, time.time(), Grade(outcome, score, grader=name, note=note)))
    grades.add(store, run.id, kept)
    return name


def people_say(
    store: Store, run: Run, said: Mapping[int, str], *, rubric: GradingRubric = CORRECT, **more: Any
) -> None:
    """Labels by item; `more` are fields of a label that are not as usual."""
    usual = {"criterion": "correct", "drawn": "random", "user": "ann", "attempt": 0, "against": None} | more
    graded_labels.add(
        store,
        run.id,
        [
            GradedLabel(
                0,
                f"q/{place}",
                0,
                rubric=rubric.words,
                grade=grade,
                note=None,
                tags=(),
                at=time.time(),
                **usual,
            )
            for place, grade in said.items()
        ],
    )


def passes(worths: Sequence[float]) -> list[str]:
    return [f"correct: {'pass' if each else 'fail'}" for each in worths]


def said_by_people(worths: Sequence[float], begin: int = 0) -> dict[int, str]:
    return {begin + n: "pass" if each else "fail" for n, each in enumerate(worths)}
