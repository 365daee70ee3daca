"""What trials of tasks show: the share that passed, the mean score, pass@k and pass^k, every task weighing alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from proctor.findings import Estimate
from proctor.stats.estimates_share import MEAN_SCORE, SUCCESS_RATE, graded, share
from proctor.stats.estimates_sheet import TaskShape
from proctor.stats.estimates_task import TaskSheet, exam
from proctor.stats.metrics import Scored
from proctor.stats.repeats import repeat_scores
from proctor.trial_findings import PassAt

SHAPE = TaskShape("tasks", (SUCCESS_RATE,), (MEAN_SCORE,), kind="text")


def success_rate(rows: Iterable[Scored]) -> Estimate:
    """The mean over tasks of the share of their scored trials that passed; `scored` counts tasks."""
    return share(_sheet(rows).sheet, SHAPE, SUCCESS_RATE)


def mean_score(rows: Iterable[Scored]) -> Estimate:
    """The mean over tasks of the mean score of their scored trials; `scored` counts tasks."""
    return graded(_sheet(rows).sheet, SHAPE, MEAN_SCORE)


def passes(rows: Iterable[Scored]) -> tuple[PassAt, ...]:
    """pass@k and pass^k for every k that some task has as many planned rollouts of; none where all have one."""
    found = {score.metric: score.estimate for score in repeat_scores([_sheet(rows)], "tasks")}
    ks = sorted({int(name.removeprefix("pass@")) for name in found if name.startswith("pass@")})
    return tuple(PassAt(k, found[f"pass@{k}"], found[f"pass^{k}"]) for k in ks)


def passes_of_one(rows: Iterable[Scored]) -> tuple[PassAt, ...]:
    """The same of a single task: what its trials say, without an interval, since other tasks are not told of."""
    return tuple(PassAt(one.k, _alone(one.any), _alone(one.all)) for one in passes(rows))


def _alone(of: Estimate) -> Estimate:
    reason = of.reason or "of one task: nothing tells how tasks differ"
    return replace(of, stderr=None, low=None, high=None, reason=reason)


def _sheet(rows: Iterable[Scored]) -> TaskSheet:
    return exam("tasks", rows, SHAPE, worded=False)
