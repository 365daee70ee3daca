"""p-values of the pairs that nobody asked to see but could have: a comparison is one of all of them (Holm).

They tell how many pairs come before the compared ones, so they are counted quickly: the item scores of all runs in one
table, each run against all others at once. Items that are right or wrong have the exact McNemar test that the pair
itself would have; of other means it is the sign-flip test's normal approximation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.stats.estimates import ACCURACY, Shape
from proctor.stats.estimates_share import SUCCESS_RATE, row_score
from proctor.stats.estimates_sheet import TaskShape, base_id, measured
from proctor.stats.estimates_task import PARTIAL, SHARES, is_graded
from proctor.stats.metrics import Scored
from proctor.stats.paired import mcnemar_exact

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from proctor.stats.metrics import Array

Metrics = Mapping[str, tuple[str, ...]]  # by task: those whose mean counts in the headline
Pairs = dict[tuple[int, int], float]


def quick_p_values(sides: Sequence[Sequence[Scored]], shape: Shape, first: int) -> Pairs | None:
    """By the places of both runs, of all pairs with a run from the place `first` on; 1 where they share no scored item.

    None where the headline is no plain mean of item scores, or counts in another way than item by item.
    """
    import numpy as np

    metrics = _counted(shape)
    table = None if metrics is None else _table(sides, shape, metrics)
    if table is None:
        return None
    known = ~np.isnan(table.scores)
    filled = np.where(known, table.scores, 0.0)
    found: Pairs = {}
    for one in range(len(sides)):
        start = max(one + 1, first)
        shared = known[one] & known[start:]
        apart = np.where(shared, filled[one] - filled[start:], 0.0)
        for place in range(len(apart)):
            found[one, start + place] = table.p_value(apart[place], shared[place])
    return found


def _counted(shape: Shape) -> Metrics | None:
    """What the headline is the mean of; None where that is something else."""
    specs = {key: spec for key, spec in shape.tasks.items() if not spec.extra} or dict(shape.tasks)
    alone = next(iter(specs.values())) if len(specs) == 1 else None
    if shape.aggregate == "macro" or (alone is not None and alone.official[0] != ACCURACY):
        found = {key: spec.official for key, spec in specs.items()}
    else:
        found = {key: (ACCURACY,) for key, spec in specs.items() if ACCURACY in (*spec.official, *spec.also)}
    plain = all(_is_mean(specs[key], metric) for key, of in found.items() for metric in of)
    return found if found and plain else None


def _is_mean(spec: TaskShape, metric: str) -> bool:
    return metric != SUCCESS_RATE and (metric in SHARES - PARTIAL or is_graded(spec, metric))


@dataclass(frozen=True, slots=True)
class _Table:
    """`scores` of (runs, items), NaN where a run measured nothing; `task` and `unit` are numbers of each item.

    `sizes` are what the tasks weigh in the headline, 0 where a task weighs as many items as are shared. `plain`: items
    were asked once, are right or wrong, and stand for themselves.
    """

    scores: Array
    task: NDArray[np.int64]
    unit: NDArray[np.int64]
    sizes: Array
    plain: bool

    def p_value(self, apart: Array, shared: Array) -> float:
        """Of the differences between two runs, item by item, 0 where one of them measured nothing."""
        import numpy as np

        counts = np.bincount(self.task[shared], minlength=len(self.sizes))
        each = np.where(self.sizes > 0, self.sizes / np.maximum(counts, 1), 1.0)[counts > 0]
        if not len(each):
            return 1.0
        if self.plain and each.max() <= each.min() * (1 + 1e-9):
            return mcnemar_exact(int((apart > 0).sum()), int((apart < 0).sum()))
        weight = np.where(self.sizes > 0, self.sizes / np.maximum(counts, 1), 1.0)[self.task]
        units = np.bincount(self.unit, apart * weight)
        spread = math.sqrt(2 * float(units @ units))
        return math.erfc(abs(float(units.sum())) / spread) if spread > 0 else 1.0


def _table(sides: Sequence[Sequence[Scored]], shape: Shape, metrics: Metrics) -> _Table | None:
    """None where a task is the mean of two halves, or an item that of its wordings."""
    import numpy as np

    places: dict[tuple[str, str, str], int] = {}
    units: dict[Hashable, int] = {}
    tasks = {key: number for number, key in enumerate(metrics)}
    of_item: list[tuple[int, int]] = []
    sums: list[dict[int, tuple[float, int]]] = []
    for rows in sides:
        mine: dict[int, tuple[float, int]] = {}
        for row in rows:
            if row.task not in metrics or not measured(row, shape.tasks[row.task].kind):
                continue
            if row.half is not None or (shape.worded and base_id(row.item, True) != row.item):
                return None
            place = places.setdefault((row.task, row.item, row.content), len(places))
            if place == len(of_item):
                of_item.append((tasks[row.task], units.setdefault(_unit(row), len(units))))
            total, times = mine.get(place, (0.0, 0))
            mine[place] = (total + _score(row, shape.tasks[row.task], metrics[row.task]), times + 1)
        sums.append(mine)
    scores = np.full((len(sides), len(places)), np.nan)
    for run, mine in enumerate(sums):
        scores[run, list(mine)] = [total / times for total, times in mine.values()]
    sizes = [_size(shape, shape.tasks[key]) for key in metrics]
    once = all(times == 1 for mine in sums for _, times in mine.values())
    plain = (
        once and len(units) == len(places) and bool(np.isin(scores, (0.0, 1.0)).all(where=~np.isnan(scores)))
    )
    task, unit = np.array(of_item, dtype=np.int64).reshape(-1, 2).T
    return _Table(scores, task, unit, np.array(sizes, dtype=np.float64), plain)


def _score(row: Scored, spec: TaskShape, metrics: Sequence[str]) -> float:
    return math.fsum(row_score(row, metric, spec.kind) for metric in metrics) / len(metrics)


def _size(shape: Shape, spec: TaskShape) -> float:
    return 1.0 if shape.aggregate == "macro" else float(spec.full_size or 0)


def _unit(row: Scored) -> Hashable:
    """What is independent of all else, as estimates_sheet has it: copies in any task, a cluster of one, an item."""
    if row.together is not None:
        return row.together
    return (row.task, row.cluster) if row.cluster is not None else (row.task, row.item, row.content)


def adjusting(
    of: Sequence[float | None], method: Callable[[Sequence[float]], list[float]]
) -> list[float | None]:
    """The p-values as `method` adjusts those that there are."""
    known = iter(method([p for p in of if p is not None]))
    return [next(known) if p is not None else None for p in of]
