"""Shares of right answers: metrics that are the mean of a score between 0 and 1 of each row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from proctor.findings import Estimate
from proctor.stats import metrics
from proctor.stats.estimates_sheet import WILSON, Sheet, TaskShape, nothing
from proctor.stats.intervals import Z95, t95, wilson
from proctor.stats.metrics import Scored
from proctor.stats.resample import Figure
from proctor.types import Outcome

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

EFFECTIVE = "Wilson on the effective n"
STUDENT = "Student's t"
STUDENT_CLUSTERS = "Student's t over clusters"
BOUNDED = "Student's t or Wilson on the effective n, the wider of both"
BOUNDED_CLUSTERS = "Student's t over clusters or Wilson on the effective n, the wider of both"


def row_score(row: Scored, metric: str, kind: str) -> float:
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
    low, high = wilson(value, n)
    plain = n == one.items and not one.clustered
    return Estimate(value, stderr, low, high, one.items, one.asked, WILSON if plain else EFFECTIVE)


def graded(one: Sheet, spec: TaskShape, metric: str) -> Estimate:
    """A mean of graded scores: Student's t, over clusters where there are any (Miller 2024, appendix A).

    Scores between 0 and 1 that crowd near an end are so skewed that t covers 90 % or less; there Wilson's
    interval of as many items as the mean is worth is laid beside it, and the wider end taken. Where no
    score differs from another a variance cannot be seen: then Wilson's alone, and none for other ranges.
    """
    if not one.items:
        return nothing(one.asked, one.reason)
    score = np_scores(one, spec, metric)
    value = value_of(mean(one, spec, metric), one)
    stderr = unit_stderr(one, score, value)
    bounded = bool((score >= 0).all() and (score <= 1).all())
    if not stderr:
        return _flat(one, value, stderr, bounded=bounded)
    half = t95(one.units - 1) * stderr
    if not bounded:
        method = STUDENT_CLUSTERS if one.clustered else STUDENT
        return Estimate(value, stderr, value - half, value + half, one.items, one.asked, method)
    least, most = wilson(value, 1 + value * (1 - value) / stderr**2)
    low, high = max(0.0, min(value - half, least)), min(1.0, max(value + half, most))
    method = BOUNDED_CLUSTERS if one.clustered else BOUNDED
    return Estimate(value, stderr, low, high, one.items, one.asked, method)


def _flat(one: Sheet, value: float, stderr: float | None, *, bounded: bool) -> Estimate:
    """No score differs from another, or there is a single one."""
    if bounded:
        low, high = wilson(value, one.units)
        return Estimate(value, stderr, low, high, one.items, one.asked, EFFECTIVE)
    method = STUDENT_CLUSTERS if one.clustered else STUDENT
    reason = "no score differs from another, so their spread cannot be seen"
    return Estimate(value, None, None, None, one.items, one.asked, method, reason)


def np_scores(one: Sheet, spec: TaskShape, metric: str) -> Array:
    import numpy as np

    return np.array([row_score(row, metric, spec.kind) for row in one.rows], dtype=np.float64)


def unit_stderr(one: Sheet, score: Array, value: float) -> float | None:
    """The standard error of a weighted mean between units, with C / (C - 1); None for a single unit."""
    import numpy as np

    if one.units < 2:
        return None
    rest = np.bincount(one.unit.astype(np.int64), one.weight * (score - value), minlength=one.units)
    count = one.units
    return math.sqrt(count / (count - 1) * float(rest @ rest)) / float(one.weight.sum())


def effective(one: Sheet, spec: TaskShape, metric: str) -> tuple[float, float | None]:
    """How many independent items a mean is worth, and its standard error (None for a single unit).

    The design effect compares the variance of the mean between clusters (Miller 2024, appendix A,
    with C/(C-1)) with that of as many independent items. Where nothing varies it cannot be seen, and
    a cluster counts as one item. Few clusters show their variance badly: n shrinks by the square of
    how much wider Student's t with C - 1 is than the normal (Korn and Graubard 1998, Survey
    Methodology 24:193), but not below one item a cluster. Clusters never make an exam worth more than
    its items, repeats never more than its rows.
    """
    import numpy as np

    score = np.array([row_score(row, metric, spec.kind) for row in one.rows])
    unit = one.unit.astype(np.int64)
    parts = halves(one, metric)
    variance, squares, values = 0.0, 0.0, list[float]()
    for half in parts:
        weight = np.bincount(unit, one.weight * half, minlength=one.units)
        right = np.bincount(unit, one.weight * half * score, minlength=one.units)
        total, count = weight.sum(), int((weight > 0).sum())
        values.append(float(right.sum() / total))
        rest = ((right - values[-1] * weight) ** 2).sum() / total**2
        variance += float(count / max(1, count - 1) * rest / len(parts) ** 2)
        squares += float((weight**2).sum() / total**2 / len(parts) ** 2)
    value = sum(values) / len(values)
    stderr = math.sqrt(variance) if one.units > len(parts) else None
    most = one.items if one.clustered or len(parts) > 1 else len(one.rows)
    if value in (0.0, 1.0) or stderr is None:
        n = 1 / squares
    else:
        n = 1 + value * (1 - value) / variance if variance else float(most)
        if one.clustered:
            n = max(min(n, float(most)) * (Z95 / t95(one.units - 1)) ** 2, min(n, 1 / squares))
    # What is n but for rounding is n: 17 of 20 must give the interval of 20 items.
    return (float(one.items) if math.isclose(n, one.items) else min(n, float(most))), stderr


def value_of(figure: Figure, one: Sheet) -> float:
    """What a figure is for the exam as it was."""
    import numpy as np

    none = np.zeros(())
    return float(figure(one.weight, none, none))
