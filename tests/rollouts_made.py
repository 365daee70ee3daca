"""Benchmarks of tasks in a store, with verdicts that nobody had to wait for; no sandbox is asked."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from proctor.manifest import UNOPENED, RolloutFacts, TaskSpec
from proctor.references import Agent, RolloutsRef, TaskEntry
from proctor.store import AttemptWriter, Store
from proctor.trial_record import PhaseTime, RubricScore, TestResult, TrialRecord, record_bytes
from proctor.types import (
    Attempt,
    Cell,
    Failure,
    Gold,
    Grade,
    Item,
    Limits,
    Model,
    Outcome,
    Plan,
    Reply,
    Run,
    Status,
    TaskFolder,
)

STAMP = "20261122__12-00-00"
PATCH = "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-old {word}\n+new {word}\n"
# What became of a trial, by its row, task and rollout: passed, failed, limit, the slug of an error, or None.
Ends = Callable[[int, str, int], str | None]


def reference(home: Path, name: str, tasks: Sequence[str], rollouts: int, *, first: int = 0) -> RolloutsRef:
    entries = tuple(TaskEntry(f"/prepared/{task}", rollouts) for task in tasks)
    return RolloutsRef(name, tasks=entries, data=str(home.absolute()), stamp=STAMP, first=first)


def cells(
    home: Path, name: str, tasks: Sequence[str], rollouts: int, agents: Sequence[str]
) -> tuple[Cell, ...]:
    trials = len(tasks) * rollouts
    return tuple(
        Cell(
            Model("agent", agent),
            reference(home, name, tasks, rollouts, first=place * trials),
            limits=Limits(parallel=4),
            repeats=rollouts,
            agent=Agent(agent, "null"),
        )
        for place, agent in enumerate(agents)
    )


def made(
    store: Store,
    home: Path,
    name: str,
    ends: Ends,
    *,
    tasks: Sequence[str] = ("one", "two"),
    rollouts: int = 2,
    agents: Sequence[str] = ("reference", "null"),
) -> list[Run]:
    """The ended runs of a benchmark: one for each agent. Its words are all made of `name`."""
    plan = Plan(cells(home, name, tasks, rollouts, agents), name=name)
    now = time.time()
    plan_id = store.add_plan(plan, now=now)
    return [_run(store, plan_id, cell, place, name, ends, now) for place, cell in enumerate(plan.cells)]


def _run(store: Store, plan_id: str, cell: Cell, place: int, name: str, ends: Ends, now: float) -> Run:
    ref = cell.source
    assert isinstance(ref, RolloutsRef)
    ids = [Path(entry.folder).name for entry in ref.tasks]
    facts = RolloutFacts(
        rows="rollouts",
        tasks={"tasks": TaskSpec(name, "text", ("success_rate",), ("mean_score",), asked=len(ids))},
        n=len(ids),
        folders={each: hashlib.sha256(each.encode()).hexdigest() for each in ids},
        rollouts=dict.fromkeys(ids, cell.repeats),
    )
    run = store.add_run(
        plan_id,
        cell,
        source_title=name,
        planned=len(ids) * cell.repeats,
        manifest=replace(UNOPENED, facts=facts),
        comparability=None,
        sample=False,
        now=now,
    )
    store.claim(run.id, owner="maker", now=time.time(), lease_s=600)
    writer = AttemptWriter(store, run.id, owner="maker")
    for position, task in enumerate(ids):
        for rollout in range(cell.repeats):
            end = ends(place, task, rollout)
            if end is not None:
                number = ref.first + position * cell.repeats + rollout
                writer.keep(_attempt(name, task, position, rollout, end, f"{ref.stamp}-{number}"))
    writer.close()
    return store.finish(run.id, Status.COMPLETED, owner="maker", now=time.time(), elapsed_s=1.0)


def _attempt(name: str, task: str, position: int, rollout: int, end: str, run_id: str) -> Attempt:
    ask = TaskFolder(f"/prepared/{task}", f"Do {task} of {name}.")
    digest = hashlib.sha256(f"{name} {task}".encode()).hexdigest()[:32]
    item = Item(task, "tasks", ask, Gold("passed"), hash=digest)
    if end not in ("passed", "failed", "limit"):
        failure = Failure(end, f"{name} has met {end}")
        return Attempt(item, position, rollout, 0, time.time(), Grade(Outcome.ERROR, None), failure=failure)
    passed = end == "passed"
    record = TrialRecord(
        run_id,
        f"/runs/{run_id}",
        "limit" if end == "limit" else "done",
        1.0 if passed else 0.25,
        passed,
        phases=(PhaseTime("agent", 1.0, 2.0),),
        rubrics={"all": RubricScore("All of it", 1.0, float(passed), 1, int(passed))},
        tests={"test.py": TestResult(passed, f"{name} was tested")},
        final=f"the last words of {name}",
    )
    reply = Reply(
        PATCH.format(word=name),
        finish=record.ended,
        input_tokens=10,
        output_tokens=5,
        cost_usd=0.5,
        latency_s=2.0,
        raw=record_bytes(record),
    )
    outcome = Outcome.CORRECT if passed else Outcome.WRONG
    grade = Grade(outcome, record.score, "passed" if passed else "failed", grader="verifier/1")
    return Attempt(item, position, rollout, 0, time.time(), grade, reply=reply)
