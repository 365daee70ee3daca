"""Two agents on the very tasks that both worked on: could the luck of their rollouts have made the difference?"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from proctor.stats.metrics import Scored
from proctor.types import Outcome

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

MOST_STEPS = 4_000_000  # of the whole table of differences; beyond it nothing is computed

Counts = tuple[int, int]  # trials of one task, and how many of them passed


def same_tasks(first: Iterable[Scored], second: Iterable[Scored]) -> float | None:
    """The two-sided exact p-value of the difference in success rate if each task's trials could be either agent's.

    Trials are exchanged within tasks, all ways of it: of a task's passes a hypergeometric number falls to the first.
    It speaks of these tasks alone, where sign flips of tasks (stats/pairs_share.py) speak of tasks like them. None
    where no task has trials of both, or the ways are too many.
    """
    sides = _counts(first), _counts(second)
    shared = [(sides[0][task], sides[1][task]) for task in sides[0] if task in sides[1]]
    if not shared:
        return None
    scale = math.lcm(*(trials for pair in shared for trials, _ in pair))
    if 2 * scale * len(shared) ** 2 > MOST_STEPS:
        return None
    observed = sum(a[1] * scale // a[0] - b[1] * scale // b[0] for a, b in shared)
    chances = _differences(shared, scale)
    middle = scale * len(shared)
    far = abs(observed)
    return min(1.0, float(chances[: middle - far + 1].sum() + chances[middle + far :].sum())) if far else 1.0


def _counts(rows: Iterable[Scored]) -> dict[str, Counts]:
    found: dict[str, Counts] = {}
    for row in rows:
        trials, passed = found.get(row.item, (0, 0))
        found[row.item] = (trials + 1, passed + (row.outcome is Outcome.CORRECT))
    return found


def _differences(shared: list[tuple[Counts, Counts]], scale: int) -> Array:
    """The chance of each sum over tasks of differences, in steps of 1/scale, from the least to the greatest."""
    import numpy as np

    middle = scale * len(shared)
    chances = np.zeros(2 * middle + 1)
    chances[middle] = 1.0
    for (m, a), (n, b) in shared:
        moved = np.zeros_like(chances)
        for passed in range(max(0, a + b - n), min(m, a + b) + 1):
            chance = math.comb(m, passed) * math.comb(n, a + b - passed) / math.comb(m + n, a + b)
            moved += chance * np.roll(chances, passed * scale // m - (a + b - passed) * scale // n)
        chances = moved
    return chances
