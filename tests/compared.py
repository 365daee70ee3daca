"""Runs and comparisons made by hand, for tests of statistics and of words about them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proctor.findings import Comparison
from proctor.manifest import UNOPENED
from proctor.references import ExamRef
from proctor.stats.compare import compare
from proctor.stats.estimates import Shape, TaskShape
from proctor.stats.metrics import Scored
from proctor.types import Cell, Model, Outcome, Run, Status


def run(name: str) -> Run:
    """A run of the model `sim/name`; its id is the name."""
    return Run(
        id=name,
        plan_id="plan",
        status=Status.COMPLETED,
        cell=Cell(Model("sim", name), ExamRef("file", "/q.csv")),
        source_title="q.csv",
        planned=0,
        settled=0,
        manifest=UNOPENED,
        created_at=0.0,
    )


def scored(scores: Sequence[float | None], *, prefix: str = "q", task: str = "q") -> list[Scored]:
    """Items in a row with their scores; None is an item that ended in an error."""
    return [row(f"{prefix}/{i}", s, task=task) for i, s in enumerate(scores)]


def row(item: str, score: float | None, **other: Any) -> Scored:
    facts: dict[str, Any] = {
        "task": "q",
        "target": "yes",
        "answer": {None: None, 1.0: "yes"}.get(score, "no"),
        "outcome": {None: Outcome.ERROR, 1.0: Outcome.CORRECT}.get(score, Outcome.WRONG),
        "score": score,
        "content": f"content of {item}",
    }
    return Scored(item=item, **{**facts, **other})


def table(both: int, only_first: int, only_second: int, neither: int) -> tuple[list[Scored], list[Scored]]:
    """Two models' rows from the four counts of their common items."""
    cells = ((1.0, 1.0, both), (1.0, 0.0, only_first), (0.0, 1.0, only_second), (0.0, 0.0, neither))
    first = [a for a, _, times in cells for _ in range(times)]
    second = [b for _, b, times in cells for _ in range(times)]
    return scored(first), scored(second)


def compared(sides: Sequence[tuple[Run, Sequence[Scored]]], **options: Any) -> tuple[Comparison, ...]:
    """Every pair of runs on one plain task."""
    return compare(sides, Shape("Questions", {"q": TaskShape("Questions")}), **options)


def pair(both: int, only_first: int, only_second: int, neither: int) -> Comparison:
    """The comparison of models `a` and `b` with these counts."""
    first, second = table(both, only_first, only_second, neither)
    return compared([(run("a"), first), (run("b"), second)])[0]
