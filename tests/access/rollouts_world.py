"""Benchmarks of tasks in somebody's project: one that has ended, one that waits, and one to be deleted."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import update

from opened import over
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.core.tables import JOB, RUN
from proctor.types import Plan, Run
from rollouts_made import cells, made


class RolloutNames(NamedTuple):
    """Benchmarks by their ids, the run of a row of the first, and the task that all have."""

    rollouts: str
    rollouts_row: str
    rollouts_waiting: str
    rollouts_partial: str
    rollouts_doomed: str
    rollouts_task: str


NOBODYS = RolloutNames(
    "a1aaaaaa-0000-4000-8000-aaaaaaaaaaa1",
    "a2aaaaaa-0000-4000-8000-aaaaaaaaaaa2",
    "a3aaaaaa-0000-4000-8000-aaaaaaaaaaa3",
    "a4aaaaaa-0000-4000-8000-aaaaaaaaaaa4",
    "a5aaaaaa-0000-4000-8000-aaaaaaaaaaa5",
    "nobody-task",
)


def benchmarks(store: Store, settings: Settings, word: str, user: str, project: int) -> RolloutNames:
    """Of everything in them the owner's word tells."""
    task = f"{word}-task"
    ended, partial, doomed = (
        _ended(store, settings, f"{word}-{name}", task, project, user, end)
        for name, end in (("ended", "passed"), ("partial", "sandbox"), ("doomed", "failed"))
    )
    plan = Plan(cells(settings.home, f"{word}-waiting", [task], 1, ["null"]), name=f"{word}-waiting")
    (waiting,) = queue.submit_all(over(store, settings), plan, Ticket(user, project))
    return RolloutNames(ended.plan_id, ended.id, waiting.plan_id, partial.plan_id, doomed.plan_id, task)


def _ended(store: Store, settings: Settings, name: str, task: str, project: int, user: str, end: str) -> Run:
    (run,) = made(store, settings.home, name, lambda *_: end, tasks=[task], rollouts=1, agents=["null"])
    row = {"run_num": store.number(run.id), "user": user, "priority": 0, "run_after": 0.0, "tries": 1}
    with store.writing() as connection:
        connection.execute(update(RUN).where(RUN.c.id == run.id).values(project_id=project))
        connection.execute(JOB.insert(), row)
    return run
