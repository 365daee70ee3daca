"""Runs and comparisons made by hand, for tests of statistics and of words about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.findings import Comparison
from proctor.stats.compare import compare
from proctor.types import Cell, Model, Run, SourceRef, Status

Scores = Mapping[tuple[str, str], float]


def run(name: str) -> Run:
    """A run of the model `sim/name`; its id is the name."""
    return Run(
        id=name,
        plan_id="plan",
        status=Status.COMPLETED,
        cell=Cell(Model("sim", name), SourceRef("file", "/q.csv")),
        source_title="q.csv",
        planned=0,
        settled=0,
        manifest={},
        created_at=0.0,
    )


def scored(scores: Sequence[float | None], *, prefix: str = "q") -> Scores:
    """Items in a row with their scores; None is an item that ended in an error."""
    return {(f"{prefix}/{i}", "hash"): s for i, s in enumerate(scores) if s is not None}


def table(both: int, only_first: int, only_second: int, neither: int) -> tuple[Scores, Scores]:
    """Two models' scores from the four counts of their common items."""
    cells = ((1.0, 1.0, both), (1.0, 0.0, only_first), (0.0, 1.0, only_second), (0.0, 0.0, neither))
    first = [a for a, _, times in cells for _ in range(times)]
    second = [b for _, b, times in cells for _ in range(times)]
    return scored(first), scored(second)


def pair(both: int, only_first: int, only_second: int, neither: int) -> Comparison:
    """The comparison of models `a` and `b` with these counts."""
    first, second = table(both, only_first, only_second, neither)
    return compare([(run("a"), first), (run("b"), second)])[0]
