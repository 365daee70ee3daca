"""A home with two runs of open questions, judged by a simulated judge and labelled by two people."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opened import start
from proctor.references import ExamRef, JudgingRef
from proctor.service.context import Context, open_context
from proctor.store import Store
from proctor.store.write import further, grades
from proctor.types import Cell, Limits, Model, Plan, Run, Shard
from simulators import settings

N = 12
PEOPLE = ("ann", "bob")
RIGHT = [f"You add the two and get {2 * i + 1}." for i in range(N)]
WRONG = [*RIGHT[: N // 2], *(f"I think it is {i}, more or less." for i in range(N // 2))]


@dataclass(frozen=True, slots=True)
class JudgedHome:
    """Ids of the runs and of their judgings."""

    home: Path
    first: str
    second: str
    judging: str

    @property
    def settings(self) -> Any:
        return settings(self.home)


def questions(home: Path) -> Path:
    path = home / "open.csv"
    rows = (f"What is {i} plus {i + 1}?,{2 * i + 1}" for i in range(N))
    path.write_text("\n".join(["question,answer", *rows]) + "\n")
    return path


def answered(
    home: Path, name: str, replies: Sequence[str], shard: Shard | None = None, **environ: str
) -> str:
    """The id of a run whose replies are these."""
    said = home / f"{name}.jsonl"
    said.write_text("".join(json.dumps({"outputs": [text]}) + "\n" for text in replies))
    source = ExamRef("file", str(questions(home)), grader="contains")
    cell = Cell(Model("replay", name), source, limits=Limits(shard=shard))
    return run_of(start(Plan((cell,), replies=str(said)), settings(home, **environ))).id


def run_of(outcome: Any) -> Run:
    assert outcome.error is None, outcome.error
    run: Run = outcome.evaluation.results[0].run
    return run


def judge(home: Path, run_id: str, against: str | None = None, **more: Any) -> str:
    """The id of a judging of a run by a simulated judge."""
    ref = JudgingRef("open.csv", run_id, against=against, **more)
    return run_of(start(Plan((Cell(Model("simulator", "sim"), ref),), "judge"), settings(home))).id


def label(store: Store, run_id: str, user: str, ids: Sequence[str], grade: str = "pass") -> None:
    """What a person says of replies by the one criterion of the built-in rubric."""
    rubric = JudgingRef("", "").rubric
    known = {row.item_id: row.attempt for row in store.latest(run_id)}
    said = (
        {
            "item_id": item,
            "repeat": 0,
            "verdict": grade,
            "text": None,
            "note": "by hand",
            "tags": '["seen"]',
            "user": user,
            "at": time.time(),
            "criterion": rubric.criteria[0].name,
            "rubric": rubric.words,
            "against": None,
            "drawn": "random",
            "attempt": known[item],
        }
        for item in ids
    )
    further.add(store, run_id, "labels", said)


def judged_home(home: Path) -> JudgedHome:
    first, second = answered(home, "good", RIGHT), answered(home, "half", WRONG)
    judging = judge(home, first)
    judge(home, second)
    with open_context(settings(home)) as context:
        for run_id in (first, second):
            ids = [row.item_id for row in context.store.latest(run_id)]
            for user in PEOPLE:
                label(context.store, run_id, user, ids[:4])
    return JudgedHome(home, first, second, judging)


def said_of(context: Context, run_id: str) -> dict[str, list[dict[str, Any]]]:
    return {which: list(further.rows(context.store, run_id, which)) for which in ("grades", "labels")}


def graders(context: Context, run_id: str) -> list[str]:
    return [each.grader for each in grades.graders(context.store, run_id)]
