"""Items that were asked several times: pass@k, at least one of k right, and pass^k, all k right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from proctor.findings import Estimate, Score
from proctor.stats.estimates_share import SUCCESS_RATE, share
from proctor.stats.estimates_sheet import TaskShape, base_id, nothing, sheet
from proctor.stats.estimates_task import TaskSheet
from proctor.stats.metrics import Scored
from proctor.types import Outcome


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that k of n askings, drawn without putting back, hold at least one of the `right` ones.

    1 - C(n - right, k) / C(n, k), for k <= n; unbiased (Chen et al. 2021, arXiv 2107.03374).

    >>> pass_at_k(5, 2, 1), pass_at_k(5, 2, 3)
    (0.4, 0.9)
    """
    return 1 - math.comb(n - right, k) / math.comb(n, k)


def pass_hat_k(n: int, right: int, k: int) -> float:
    """The chance that k of n askings are all right: C(right, k) / C(n, k) (Yao et al. 2024, arXiv 2406.12045).

    >>> pass_hat_k(5, 2, 2)
    0.1
    """
    return math.comb(right, k) / math.comb(n, k)


MOST_EVERY = 8  # rollouts up to which there is a pass@k for every k
FAMILIES = {"pass@": pass_at_k, "pass^": pass_hat_k}


def repeat_scores(exams: Sequence[TaskSheet], suite: str) -> Iterator[Score]:
    """pass@k and pass^k over all items, then of each task, for k = 2, 4, 8, ... and the number of askings.

    Of trials, for every k up to their number where that is 8 or less. Over several tasks every item counts the same.
    Nothing where no item was asked twice.
    """
    counted = [one for one in exams if not one.spec.extra and _has_rights(one.spec)]
    if not any(row.repeat for one in counted for row in one.rows):
        return
    if len(counted) > 1:
        rows = tuple(_named(row, one.key) for one in counted for row in one.rows)
        spec, worded = TaskShape(suite), counted[0].worded
        every = sheet(rows, spec, worded=worded)
        yield from _scores(TaskSheet("", spec, rows, every, worded))
    for one in counted:
        yield from _scores(one)


def _named(row: Scored, task: str) -> Scored:
    """The row with names that no other task has."""
    cluster = None if row.cluster is None else f"{task} {row.cluster}"
    return replace(row, item=f"{task} {row.item}", cluster=cluster)


def _has_rights(spec: TaskShape) -> bool:
    return bool({"accuracy", "em", SUCCESS_RATE}.intersection((*spec.official, *spec.also)))


def _scores(of: TaskSheet) -> Iterator[Score]:
    asked = {base_id(row.item, of.worded) for row in of.rows}
    askings: dict[str, list[Scored]] = {}
    for row in of.sheet.rows:  # an item's wordings are other questions, not repeats
        askings.setdefault(row.item, []).append(row)
    most = len({row.repeat for row in of.rows})
    # Tasks have rollouts of their own number each, so that any number may be the last one of some.
    every = SUCCESS_RATE in of.spec.official and most <= MOST_EVERY
    for k in range(2, most + 1) if every else _ks(most):
        for name, family in FAMILIES.items():
            estimate = _estimate(of, list(askings.values()), k, family)
            yield Score(of.key, of.spec.title, f"{name}{k}", replace(estimate, asked=len(asked)))


def _ks(most: int) -> list[int]:
    """
    >>> _ks(5), _ks(1)
    ([2, 4, 5], [])
    """
    powers = [2**i for i in range(1, 20) if 2**i <= most]
    return sorted({*powers, most}) if most > 1 else []


def _estimate(
    of: TaskSheet, askings: Sequence[Sequence[Scored]], k: int, family: Callable[[int, int, int], float]
) -> Estimate:
    made = []
    for rows in askings:
        if len(rows) < k:
            continue  # too few of its askings were measured
        right = sum(1 for row in rows if row.outcome is Outcome.CORRECT)
        made.append(replace(rows[0], repeat=0, score=family(len(rows), right, k)))
    if not made:
        return nothing(0, f"no item has {k} measured askings")
    plain = TaskShape(of.spec.title)
    return share(sheet(made, plain, worded=of.worded), plain, "accuracy")
