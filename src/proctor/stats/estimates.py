"""From scored rows to a run's scores: one per task, and one for the suite."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from proctor.stats.intervals import effective_n, share_stderr, wilson
from proctor.types import Estimate, Score

ACCURACY = "accuracy"
WILSON = "Wilson"
WEIGHTED = "Wilson on the effective n, tasks weighted by their full sizes"


@dataclass(frozen=True, slots=True)
class Shape:
    """What the statistics need to know of a source.

    `tasks` maps key to title in the order of display, `full_sizes` key to the items of its whole
    split, `suite` is the title over all tasks.
    """

    suite: str
    tasks: Mapping[str, str]
    full_sizes: Mapping[str, int]


@dataclass(slots=True)
class Count:
    """Items asked and scored in a task, and the sum of their scores."""

    asked: int = 0
    scored: int = 0
    total: float = 0.0


def count(rows: Iterable[tuple[str, float | None]]) -> dict[str, Count]:
    """Counts by task, from (task, score) of each asked item; a score of None was not measured."""
    counts: dict[str, Count] = {}
    for task, score in rows:
        entry = counts.setdefault(task, Count())
        entry.asked += 1
        if score is not None:
            entry.scored += 1
            entry.total += score
    return counts


def scores(counts: Mapping[str, Count], shape: Shape) -> tuple[Score, ...]:
    """The headline first: the suite's accuracy where there are several tasks, then each task's."""
    present = [task for task in shape.tasks if task in counts]
    rows = [Score(task, shape.tasks[task], ACCURACY, accuracy(counts[task])) for task in present]
    if len(shape.tasks) < 2:
        return tuple(rows)
    return (Score("", shape.suite, ACCURACY, micro(counts, shape)), *rows)


def accuracy(counted: Count) -> Estimate:
    """The share of right answers with its Wilson interval, over the items that were measured."""
    n = counted.scored
    if n == 0:
        return nothing(counted.asked)
    share = counted.total / n
    low, high = wilson(share, n)
    return Estimate(share, share_stderr(share, n), low, high, n, counted.asked, WILSON)


def micro(counts: Mapping[str, Count], shape: Shape) -> Estimate:
    """The accuracy over all tasks, each task weighing as much as its full split (suites.md, "Keys, ids, sizes").

    A task of which nothing was scored has no weight. The interval is Wilson's on Kish's effective n.
    """
    asked = sum(c.asked for c in counts.values())
    used = {task: c for task, c in counts.items() if c.scored}
    if not used:
        return nothing(asked)
    sizes = {task: shape.full_sizes.get(task, c.scored) for task, c in used.items()}
    whole = sum(sizes.values())
    # Divided last, so that a perfect score is 1 and not the float below it.
    share = math.fsum(sizes[task] * (c.total / c.scored) for task, c in used.items()) / whole
    weights = [sizes[task] / c.scored for task, c in used.items() for _ in range(c.scored)]
    n = effective_n(weights)
    low, high = wilson(share, n)
    scored = sum(c.scored for c in used.values())
    return Estimate(share, share_stderr(share, n), low, high, scored, asked, WEIGHTED)


def nothing(asked: int) -> Estimate:
    reason = "no item was asked" if asked == 0 else "every item asked ended in an error"
    return Estimate(None, None, None, None, 0, asked, WILSON, reason)
