"""What trials of tasks show: the share that passed, the mean score, pass@k and pass^k, every task weighing alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from proctor.findings import Estimate
from proctor.stats.estimates_share import MEAN_SCORE, SUCCESS_RATE, graded, share
from proctor.stats.estimates_sheet import WILSON, TaskShape, nothing
from proctor.stats.estimates_task import TaskSheet, exam
from proctor.stats.intervals import share_stderr, wilson
from proctor.stats.metrics import Scored
from proctor.stats.repeats import MOST_EVERY, pass_at_k, pass_hat_k, repeat_scores
from proctor.trial_findings import PassAt

NOTHING = "no trial of it was scored"
ONE_TASK = "of one task"
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


def success_of_one(passed: int, trials: int, planned: int) -> Estimate:
    """The share of one task's scored trials that passed, with Wilson's interval: its rollouts are independent."""
    if not trials:
        return nothing(planned, NOTHING)
    share = passed / trials
    return Estimate(share, share_stderr(share, trials), *wilson(share, trials), trials, planned, WILSON)


def score_of_one(scores: Sequence[float], planned: int) -> Estimate:
    """The mean score of one task's scored trials; of so few scores between 0 and 1 no interval is given."""
    if not scores:
        return nothing(planned, NOTHING)
    mean = math.fsum(scores) / len(scores)
    return Estimate(mean, None, None, None, len(scores), planned, "mean", ONE_TASK)


def passes_of_one(passed: int, trials: int) -> tuple[PassAt, ...]:
    """Of a single task for k of 2 and more: what its trials say, without an interval: nothing tells of other tasks."""
    found = []
    for k in range(2, min(trials, MOST_EVERY) + 1):
        chances = (family(trials, passed, k) for family in (pass_at_k, pass_hat_k))
        found.append(PassAt(k, *(Estimate(p, None, None, None, 1, 1, "unbiased", ONE_TASK) for p in chances)))
    return tuple(found)


def _sheet(rows: Iterable[Scored]) -> TaskSheet:
    return exam("tasks", rows, SHAPE, worded=False)
