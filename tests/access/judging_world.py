"""What a project holds of judges: grades of two runs, and a judging that waits."""

from __future__ import annotations

import time

from opened import over
from proctor.references import JudgingRef
from proctor.service.judging.names import judge_name
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.write import grades
from proctor.store.write.grades import KeptGrade
from proctor.types import Cell, Grade, Model, Outcome, Plan, Run


def judged(store: Store, settings: Settings, word: str, ticket: Ticket, runs: list[Run]) -> str:
    """The id of a waiting judging of the first run; all runs have grades of its judge."""
    judge = Model("ollama", f"{word}-judge")
    for run in runs:
        name = judge_name(judge, JudgingRef(run.cell.source.listed, run.id), 1)
        given = (
            KeptGrade(row.item_id, row.repeat, row.attempt, time.time(), _grade(name))
            for row in store.latest(run.id)
        )
        grades.add(store, run.id, given)
    ref = JudgingRef(runs[0].cell.source.listed, runs[0].id)
    return queue.submit(over(store, settings), Plan((Cell(judge, ref),)), ticket).id


def _grade(name: str) -> Grade:
    return Grade(Outcome.CORRECT, 1.0, "pass", grader=name, note="correct: pass")
