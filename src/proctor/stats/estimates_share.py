"""Shares of right answers: metrics that are the mean of a score between 0 and 1 of each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.findings import OF_TRIALS, Estimate
from proctor.stats import clusters, metrics
from proctor.stats.estimates_sheet import WILSON, Sheet, TaskShape, nothing
from proctor.stats.intervals import Z95, t95, wilson
from proctor.stats.metrics import Scored
from proctor.stats.resample import Figure
from proctor.types import Outcome

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

EFFECTIVE = "Wilson on the effective n"
EFFECTIVE_CLUSTERS = "Wilson on the effective n of the clusters"
STUDENT = "Student's t or Wilson between the least and the greatest score, the wider of both"
STUDENT_CLUSTERS = (
    "Student's t over clusters or Wilson between the least and the greatest score, the wider of both"
)
EFFECTIVE_TASKS = "Wilson on the effective n of the tasks"
BOUNDED_TASKS = "Student's t over tasks or Wilson on the effective n of the tasks, the wider of both"
BOUNDED = "Student's t or Wilson on the effective n, the wider of both"
BOUNDED_CLUSTERS = "Student's t over clusters or Wilson on the effective n of the clusters, the wider of both"
# Of a cluster of the mean size, added at each end where it is asked how much clusters hang together: with a
# hundredth, 30 clusters of 20 that are 95 % right cover 87 %, with a tenth 10 clusters are half as wide again.
UNSEEN = 0.05


SUCCESS_RATE, MEAN_SCORE = OF_TRIALS


def row_score(row: Scored, metric: str, kind: str) -> float:
    if metric == SUCCESS_RATE:
        return float(row.outcome is Outcome.CORRECT)
    if kind == "entity" and metric in ("accuracy", "em"):
        return float(row.outcome is Outcome.CORRECT)
    if kind == "letters" and metric == "em":
        said = row.answer is not None and row.target is not None
        return float(said and metrics.letters(row.target or "") == metrics.letters(row.answer or ""))
    if kind == "text" and metric == "f1":
        return max(row.score or 0.0, metrics.squad_f1(row.answer, (row.target or "",)))
    return row.score or 0.0


def halves(one: Sheet, metric: str) -> list[Array]:
    """The rows' part in each half that is averaged; all rows as one where there are no halves."""
    import numpy as np

    names = sorted({row.half or "" for row in one.rows}) if metric == "accuracy" else []
    if len(names) < 2:
        return [np.ones(len(one.rows))]
    return [np.array([float((row.half or "") == name) for row in one.rows]) for name in names]


def mean(one: Sheet, spec: TaskShape, metric: str) -> Figure:
    import numpy as np

    score = np.array([row_score(row, metric, spec.kind) for row in one.rows])
    parts = halves(one, metric)
    units = [one.weight @ half / one.units for half in parts]  # an average unit's weight

    def figure(weights: Array, right: Array, wrong: Array) -> Array:
        found = [
            (weights @ (half * score) + right * unit) / (weights @ half + (right + wrong) * unit)
            for half, unit in zip(parts, units, strict=True)
        ]
        total: Array = sum(found[1:], start=found[0]) / len(found)
        return total

    return figure


def share(one: Sheet, spec: TaskShape, metric: str) -> Estimate:
    """A mean of right answers with its Wilson interval, on an effective n where items hang together."""
    if not one.items:
        return nothing(one.asked, one.reason)
    value = value_of(mean(one, spec, metric), one)
    n, stderr = effective(one, spec, metric)
    return shared(one, value, n, stderr, metric)


def shared(one: Sheet, value: float, n: float, stderr: float | None, metric: str = "") -> Estimate:
    """A share of the sheet's items that is worth `n` independent ones."""
    low, high = wilson(value, n)
    loose = WILSON if n == one.items else EFFECTIVE_TASKS if metric in OF_TRIALS else EFFECTIVE
    method = EFFECTIVE_CLUSTERS if one.clustered else loose
    return Estimate(value, stderr, low, high, one.items, one.asked, method)


def graded(one: Sheet, spec: TaskShape, metric: str) -> Estimate:
    """A mean of graded scores: Student's t, over clusters where there are any (Miller 2024, appendix A).

    Scores that crowd near an end are so skewed that t covers 90 % or less; there Wilson's interval of as many
    items as the mean is worth is laid beside it, and the wider end taken. Its ends are 0 and 1, or the least and
    the greatest score where scores lie beyond, whose scale nobody told. Where no score differs from another a
    variance cannot be seen: then Wilson's alone, and none for other ranges.
    """
    if not one.items:
        return nothing(one.asked, one.reason)
    return graded_mean(one, np_scores(one, spec, metric), value_of(mean(one, spec, metric), one), metric)


def graded_mean(one: Sheet, score: Array, value: float, metric: str = "") -> Estimate:
    """`graded` of the scores of a sheet's rows, whose weighted mean is `value`."""
    stderr = unit_stderr(one, score, value)
    bounded = bool((score >= 0).all() and (score <= 1).all())
    if not stderr or score.min() == score.max():  # of equal scores rounding leaves a little
        return _flat(one, value, stderr, bounded=bounded)
    variance, freedom = _spread(one, score - value, (-value, 1 - value) if bounded else None)
    half = t95(freedom) * math.sqrt(variance)
    start, end = (0.0, 1.0) if bounded else (float(score.min()), float(score.max()))
    part, wide = (value - start) / (end - start), end - start
    worth = 1 + part * (1 - part) * wide**2 / variance
    if one.clustered:
        worth = max(1.0, worth * (Z95 / t95(freedom)) ** 2)
    elif metric in OF_TRIALS:
        worth = few(worth, one.items)
    low, high = (start + wide * side for side in wilson(part, worth))
    low, high = min(value - half, low), max(value + half, high)
    if bounded:
        low, high = max(0.0, low), min(1.0, high)
    methods = {True: (BOUNDED, BOUNDED_CLUSTERS), False: (STUDENT, STUDENT_CLUSTERS)}
    method = BOUNDED_TASKS if metric in OF_TRIALS else methods[bounded][one.clustered]
    return Estimate(value, stderr, low, high, one.items, one.asked, method)


def _spread(one: Sheet, rest: Array, ends: tuple[float, float] | None) -> tuple[float, float]:
    """The variance of a mean of graded scores and its degrees of freedom.

    `rest` are the scores less the mean, `ends` the ends of their scale less that mean, None if it is not known.
    """
    import numpy as np

    sizes = _unit_sizes(one)
    parts = np.bincount(one.unit.astype(np.int64), one.weight * rest, minlength=one.units) / one.weight.sum()
    variance = clusters.seen(parts, sizes)
    if one.clustered:
        items, unit = items_of(one, rest)
        variance = max(variance, clusters.alike(items, unit, ends or (0.0, 0.0), UNSEEN if ends else 0.0))
    return variance, clusters.freedom(sizes)


def _unit_sizes(one: Sheet) -> Array:
    import numpy as np

    sizes: Array = np.bincount(one.unit.astype(np.int64), one.weight, minlength=one.units) / one.weight.sum()
    return sizes


def items_of(one: Sheet, values: Array, half: Array | None = None) -> tuple[Array, Array]:
    """Each item's mean of the rows' values, and the item's unit; with `half` only the items in it."""
    import numpy as np

    within = np.ones(len(values)) if half is None else half
    means = np.bincount(one.item, one.weight * within * values, minlength=one.items)
    weights = np.bincount(one.item, one.weight * within, minlength=one.items)
    units = np.zeros(one.items)
    units[one.item] = one.unit
    used = weights > 0
    numbered: Array = np.unique(units[used], return_inverse=True)[1].astype(np.float64)
    return means[used] / weights[used], numbered


def _flat(one: Sheet, value: float, stderr: float | None, *, bounded: bool) -> Estimate:
    """No score differs from another, or there is a single one."""
    if bounded:
        sizes = _unit_sizes(one)
        low, high = wilson(value, 1 / float(sizes @ sizes))
        method = EFFECTIVE_CLUSTERS if one.clustered else EFFECTIVE
        return Estimate(value, stderr, low, high, one.items, one.asked, method)
    method = STUDENT_CLUSTERS if one.clustered else STUDENT
    reason = "no score differs from another, so their spread cannot be seen"
    return Estimate(value, None, None, None, one.items, one.asked, method, reason)


def np_scores(one: Sheet, spec: TaskShape, metric: str) -> Array:
    import numpy as np

    return np.array([row_score(row, metric, spec.kind) for row in one.rows], dtype=np.float64)


def unit_stderr(one: Sheet, score: Array, value: float) -> float | None:
    """The standard error of a weighted mean between units (`clusters.seen`); None for a single unit."""
    import numpy as np

    if one.units < 2:
        return None
    rest = np.bincount(one.unit.astype(np.int64), one.weight * (score - value), minlength=one.units)
    return math.sqrt(clusters.seen(rest / float(one.weight.sum()), _unit_sizes(one)))


def effective(one: Sheet, spec: TaskShape, metric: str) -> tuple[float, float | None]:
    """How many independent items a mean is worth, and its standard error (None for a single unit).

    The design effect compares the variance of the mean with that of as many independent items. In clusters it is
    the larger of what they show (`clusters.seen`) and what they would show if all hung together alike
    (`clusters.alike`). Where nothing varies it cannot be seen, and the exam is worth as many items as its clusters
    are worth clusters of one size. Few or uneven clusters show their variance badly: n shrinks by the square of how
    much wider Student's t is than the normal (Korn and Graubard 1998, Survey Methodology 24:193), to one item at
    the least. Clusters never make an exam worth more than its items, repeats never more than its rows.
    """
    import numpy as np

    score = np.array([row_score(row, metric, spec.kind) for row in one.rows])
    return effective_of(one, score, halves(one, metric), trials=metric == SUCCESS_RATE)


def effective_of(
    one: Sheet, score: Array, parts: Sequence[Array], *, trials: bool = False
) -> tuple[float, float | None]:
    """`effective` of the scores of a sheet's rows, averaged by `parts`; `trials` are of tasks."""
    found = [_of_half(one, score, half) for half in parts]
    value = sum(each[0] for each in found) / len(parts)
    told, variance, squares = (sum(each[i] for each in found) / len(parts) ** 2 for i in (1, 2, 3))
    stderr = math.sqrt(told) if one.units > len(parts) else None
    most = one.items if one.clustered or len(parts) > 1 else len(score)
    n = worth(
        value, variance if stderr is not None else None, squares, most=float(most), clustered=one.clustered
    )
    if trials and not one.clustered:
        n = few(n, one.items)
    # What is n but for rounding is n: 17 of 20 must give the interval of 20 items.
    return (float(one.items) if math.isclose(n, one.items) else min(n, float(most))), stderr


def worth(value: float, variance: float | None, squares: float, *, most: float, clustered: bool) -> float:
    """The n of `effective`: `squares` are the sum of squared weights of the units, `most` the items there are."""
    if value in (0.0, 1.0) or variance is None:
        return 1 / squares
    n = 1 + value * (1 - value) / variance if variance else most
    if not clustered:
        return n
    freedom = max(1.0, 1 / squares - 1)
    return max(1.0, min(n, most) * (Z95 / t95(freedom)) ** 2)


def few(n: float, tasks: int) -> float:
    """What rollouts of few tasks are worth: no less than the tasks, which is exact where rollouts of one are all alike.

    Their n is found from the spread between tasks, which few tasks show badly, so it shrinks as that of few clusters
    does (`worth`): with 5 tasks of 5 rollouts the interval holds the truth in 93 % or more, else in as few as 88 %.
    """
    return max(float(tasks), n * (Z95 / t95(max(1, tasks - 1))) ** 2)


def _of_half(one: Sheet, score: Array, half: Array) -> tuple[float, float, float, float]:
    """The mean, its variance as the units show it, the one to reckon with, and the sum of squared unit weights."""
    import numpy as np

    unit = one.unit.astype(np.int64)
    weight = np.bincount(unit, one.weight * half, minlength=one.units)
    right = np.bincount(unit, one.weight * half * score, minlength=one.units)
    total = float(weight.sum())
    value = float(right.sum()) / total
    sizes = weight / total
    told = clusters.seen((right - value * weight) / total, sizes)
    variance = told
    if one.clustered:
        items, places = items_of(one, score - value, half)
        variance = max(told, clusters.alike(items, places, (-value, 1 - value), UNSEEN))
    return value, told, variance, float(sizes @ sizes)


def value_of(figure: Figure, one: Sheet) -> float:
    """What a figure is for the exam as it was."""
    import numpy as np

    none = np.zeros(())
    return float(figure(one.weight, none, none))
