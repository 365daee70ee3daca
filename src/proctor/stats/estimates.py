"""From scored rows to a run's scores: the suite's headline, then every metric of every task.

A suite's score is the unweighted mean of its
tasks' scores ("macro", GLUE and SuperGLUE) or the accuracy over all items ("micro", MMLU and medical).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from proctor.findings import OVER_TASKS, Estimate, Score
from proctor.stats import resample
from proctor.stats.estimates_share import effective
from proctor.stats.estimates_sheet import WILSON, TaskShape, nothing
from proctor.stats.estimates_task import (
    PARTIAL,
    SHARES,
    TaskSheet,
    draws,
    ends,
    estimate,
    exam,
    own_draws,
    own_value,
    value,
)
from proctor.stats.hanging.copies import together
from proctor.stats.intervals import share_stderr, wilson
from proctor.stats.metrics import Scored
from proctor.stats.repeats import repeat_scores

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

__all__ = ["Count", "Scored", "Shape", "TaskShape", "accuracy", "micro", "scores"]

ACCURACY = "accuracy"
MACRO = "macro accuracy"  # of a suite whose headline is the accuracy over items: its mean over tasks
WEIGHTED = "Wilson on the effective n or the tasks' own combined, tasks weighted by their full sizes"
ALIKE = "Wilson on the effective n or the tasks' own combined, tasks weighted alike"
APART = "the tasks' own intervals, their ends averaged"
COMBINED = f"draws of each task combined, {resample.SAID}"


@dataclass(frozen=True, slots=True)
class Shape:
    """What the statistics need to know of a source.

    `suite` is the title over all tasks; `tasks` are in the order of display. `whole` is how many tasks
    make up the suite's score, where `tasks` names only those that were run. `categories` are titles
    with the tasks below them. `worded` says that "@1" at the end of an item's id is its wording.
    `named` is what the mean over tasks is called; `averaged` has its name say of how many tasks it is.
    """

    suite: str
    tasks: Mapping[str, TaskShape]
    aggregate: Literal["micro", "macro"] = "micro"
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()
    whole: int | None = None
    worded: bool = True
    named: str = "score"
    averaged: bool = False


@dataclass(frozen=True, slots=True)
class Count:
    """Items asked and scored in a task, the sum of their scores, and what they are worth if they hang together."""

    asked: int = 0
    scored: int = 0
    total: float = 0.0
    effective: float | None = None


@dataclass(frozen=True, slots=True)
class Marked:
    """An exam with the draws of its metrics, made once."""

    exam: TaskSheet
    drawn: Mapping[str, Array]
    own: Array | None


def scores(rows: Iterable[Scored], shape: Shape) -> tuple[Score, ...]:
    """The headline first, then task by task its official metrics and those beside them.

    Where two tasks or more were run, the headline is the suite's. It bears the suite's name only when
    all of its tasks were scored; else it says how many: "score (7 of 9 tasks)". After it stands the mean over
    tasks of every metric that two of them report: "f1, mean of 2 tasks". The headline of one task alone with
    several official metrics is their mean, "f1 + accuracy", which is also what a comparison tests.
    """
    marked = [_marked(one) for one in exams_of(rows, shape)]
    of_tasks = (score for one in marked for score in _task_scores(one))
    return (
        *_own_score(marked, shape),
        *_suite_scores(marked, shape),
        *_means(marked, shape),
        *of_tasks,
        *repeat_scores([one.exam for one in marked], shape.suite),
    )


def exams_of(rows: Iterable[Scored], shape: Shape) -> list[TaskSheet]:
    """The tasks of the shape that have rows, in its order."""
    by_task: dict[str, list[Scored]] = {}
    for row in together(rows, worded=shape.worded):
        by_task.setdefault(row.task, []).append(row)
    return [
        exam(key, by_task[key], spec, worded=shape.worded)
        for key, spec in shape.tasks.items()
        if key in by_task
    ]


def _marked(one: TaskSheet) -> Marked:
    drawn = draws(one)
    return Marked(one, drawn, own_draws(one, drawn))


def _task_scores(one: Marked) -> list[Score]:
    of = one.exam
    every = dict.fromkeys((*of.spec.official, *of.spec.also))
    return [Score(of.key, of.spec.title, metric, estimate(of, metric, one.drawn)) for metric in every]


def _own_score(marked: Sequence[Marked], shape: Shape) -> list[Score]:
    """The mean of the official metrics where one task is all that counts and has several."""
    counted = [one for one in marked if not one.exam.spec.extra] or marked
    if len(counted) != 1 or len(counted[0].exam.spec.official) < 2 or by_accuracy(counted[0].exam, shape):
        return []
    of = counted[0].exam
    own = combined(counted, {of.key: own_value(of)})
    return [Score(of.key, of.spec.title, " + ".join(of.spec.official), own)]


def by_accuracy(of: TaskSheet, shape: Shape) -> bool:
    """Whether a task's own headline is its accuracy alone, as that of a suite whose headline is over items."""
    return shape.aggregate == "micro" and of.spec.official[0] == ACCURACY


# The suite ---------------------------------------------------------------------------------------


def _suite_scores(marked: Sequence[Marked], shape: Shape) -> list[Score]:
    counted = [one for one in marked if not one.exam.spec.extra]
    if len(counted) < 2:
        return []
    if shape.aggregate == "macro":
        own = {one.exam.key: own_value(one.exam) for one in counted}
        return [_suite_score(shape, shape.named, own, _mean_of(counted, own))]
    counts = _counts([one.exam for one in counted if _has_accuracy(one.exam)])
    found = [
        _suite_score(shape, ACCURACY, _measured(counts), micro(counts, shape)),
        _suite_score(shape, MACRO, _measured(counts), macro(counts)),
    ]
    for title, keys in shape.categories:
        below = {key: counts[key] for key in keys if key in counts}
        if below:
            known = sum(1 for count in below.values() if count.scored)
            name = _named(f"{title} {ACCURACY}", known, len(keys))
            found.append(Score("", shape.suite, name, micro(below, shape)))
    return found


def _means(marked: Sequence[Marked], shape: Shape) -> list[Score]:
    """Of every metric that two tasks or more have, its unweighted mean over them."""
    if shape.averaged or sum(1 for one in marked if not one.exam.spec.extra) < 2:
        return []
    found = []
    for metric, tasks in reporting(shape.tasks).items():
        if len(tasks) < 2 or (shape.aggregate == "micro" and metric == ACCURACY):
            continue  # the latter is the macro accuracy
        having = [one for one in marked if one.exam.key in tasks]
        values = {one.exam.key: value(one.exam, metric) for one in having}
        known = sum(1 for v in values.values() if v is not None)
        name = mean_name(metric, known, len(tasks))
        found.append(Score("", shape.suite, name, _mean_of(having, values, metric)))
    return found


def _mean_of(
    marked: Sequence[Marked], values: Mapping[str, float | None], metric: str | None = None
) -> Estimate:
    """The unweighted mean of the tasks' values, which are of `metric`, or of each task's own official metrics."""
    of = {one.exam.key: (metric,) if metric is not None else one.exam.spec.official for one in marked}
    if all(metrics in {(plain,) for plain in SHARES - PARTIAL} for metrics in of.values()):
        return macro({one.exam.key: _count(one.exam, of[one.exam.key][0]) for one in marked})
    return combined(marked, values, metric)


def reporting(tasks: Mapping[str, TaskShape]) -> dict[str, list[str]]:
    """Metric -> the tasks that report it, without extras."""
    found: dict[str, list[str]] = {}
    for key, spec in tasks.items():
        for metric in dict.fromkeys((*spec.official, *spec.also)):
            if not spec.extra:
                found.setdefault(metric, []).append(key)
    return found


def _has_accuracy(of: TaskSheet) -> bool:
    """A task without right and wrong answers, such as STS-B, is no part of an accuracy."""
    return ACCURACY in (*of.spec.official, *of.spec.also)


def _suite_score(shape: Shape, metric: str, values: Mapping[str, float | None], estimated: Estimate) -> Score:
    known = sum(1 for v in values.values() if v is not None)
    return Score("", shape.suite, suite_name(shape, metric, known), estimated)


def suite_name(shape: Shape, metric: str, known: int) -> str:
    """What a score over `known` tasks of the shape is called: it never says more tasks than it is of."""
    whole = shape.whole or sum(1 for spec in shape.tasks.values() if not spec.extra)
    return mean_name(metric, known, whole) if shape.averaged else _named(metric, known, whole)


def mean_name(metric: str, known: int, whole: int) -> str:
    """The name of an unweighted mean over tasks, which findings.OVER_TASKS finds again.

    >>> mean_name("f1", 2, 2), mean_name("accuracy", 46, 57)
    ('f1, mean of 2 tasks', 'accuracy, mean of 46 of 57 tasks')
    """
    return f"{metric}{OVER_TASKS}{whole if known == whole else f'{known} of {whole}'} tasks"


def _named(metric: str, known: int, whole: int) -> str:
    return metric if known == whole else f"{metric} ({known} of {whole} tasks)"


def combined(
    marked: Sequence[Marked], values: Mapping[str, float | None], metric: str | None = None
) -> Estimate:
    """The unweighted mean of the tasks' values; tasks are independent, so their draws add up one by one.

    `metric` names the draws to take; None takes those of the tasks' own scores. A task without a value
    is left out, which the caller has to say.
    """
    import numpy as np

    asked = sum(one.exam.sheet.asked for one in marked)
    known = {one.exam.key: v for one in marked if (v := values[one.exam.key]) is not None}
    if not known:
        return nothing(asked, "no task has a score")
    used = [one for one in marked if one.exam.key in known]
    drawn = [d for one in used if (d := one.own if metric is None else one.drawn.get(metric)) is not None]
    total = sum(one.exam.sheet.items for one in used)
    measured = _mean(list(known.values()))
    if measured is None or len(drawn) < len(used):
        return nothing(asked, "a task has no interval")
    mixed = np.mean(drawn, axis=0)
    # Each task's draws lean to the middle by about half an item, and are narrower than it by about two. In one
    # task its interval covers both; over many they add up, and would push the interval off the score and make
    # it too narrow. So the draws are also laid around the score, as wide as the tasks' standard errors say.
    varied = math.fsum(float(d.var(ddof=1)) for d in drawn)
    least, most = _ends(used, metric)
    if not varied:  # all items of a task score the same, or it has only one
        return Estimate(measured, 0.0, *_own_ends(used, metric), total, asked, APART)
    wider = max(1.0, _variance(used, drawn, measured, metric) / varied) ** 0.5
    _, low, high = resample.spread(mixed, measured)
    stderr, around_low, around_high = resample.spread(wider * (mixed - mixed.mean()) + measured, measured)
    low, high = max(least, min(low, around_low)), min(most, max(high, around_high))
    return Estimate(measured, stderr, low, high, total, asked, COMBINED)


def _ends(used: Sequence[Marked], metric: str | None) -> tuple[float, float]:
    """The least and the greatest that the mean of the tasks' values can be."""
    least, most = [], []
    for one in used:
        sides = [ends(one.exam, name) for name in ((metric,) if metric else one.exam.spec.official)]
        least.append(math.fsum(low for low, _ in sides) / len(sides))
        most.append(math.fsum(high for _, high in sides) / len(sides))
    return math.fsum(least) / len(used), math.fsum(most) / len(used)


def _own_ends(used: Sequence[Marked], metric: str | None) -> tuple[float, float]:
    """The means of the ends of the tasks' own intervals: wider than theirs together, where no draw differs."""
    told = [
        estimate(one.exam, name, one.drawn)
        for one in used
        for name in ((metric,) if metric else one.exam.spec.official[:1])
    ]
    lows, highs = (
        [each.low or 0.0 for each in told],
        [1.0 if each.high is None else each.high for each in told],
    )
    return math.fsum(lows) / len(told), math.fsum(highs) / len(told)


def _variance(used: Sequence[Marked], drawn: Sequence[Array], mean: float, metric: str | None) -> float:
    """Of the sum of the tasks' values: of a share p of n items p(1 - p)/(n - 1), of other metrics that of the draws.

    A single item shows no variance; there the tasks' mean stands for its chance to be right.
    """
    found = 0.0
    for one, of_task in zip(used, drawn, strict=True):
        metrics = one.exam.spec.official if metric is None else (metric,)
        variance = float(of_task.var(ddof=1))
        if len(metrics) == 1 and metrics[0] in SHARES:
            told = estimate(one.exam, metrics[0], one.drawn).stderr
            chance = min(1.0, max(0.0, mean))
            variance = max(variance, chance * (1 - chance)) if told is None else told**2
        found += variance
    return found


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


# Accuracy over items -----------------------------------------------------------------------------


def _counts(exams: Sequence[TaskSheet]) -> dict[str, Count]:
    return {one.key: _count(one, ACCURACY) for one in exams}


def _count(of: TaskSheet, metric: str) -> Count:
    one, share = of.sheet, value(of, metric)
    if share is None:
        return Count(one.asked)
    worth = effective(one, of.spec, metric)[0] if one.clustered else None
    return Count(one.asked, one.items, share * one.items, worth)


def _measured(counts: Mapping[str, Count]) -> dict[str, float | None]:
    return {key: count.total / count.scored if count.scored else None for key, count in counts.items()}


def accuracy(counted: Count) -> Estimate:
    """The share of right answers with its Wilson interval, over the items that were measured."""
    n = counted.scored
    if n == 0:
        return nothing(counted.asked, _empty(counted.asked))
    share = counted.total / n
    low, high = wilson(share, counted.effective or n)
    stderr = share_stderr(share, counted.effective or n)
    return Estimate(share, stderr, low, high, n, counted.asked, WILSON)


def micro(counts: Mapping[str, Count], shape: Shape) -> Estimate:
    """The accuracy over all tasks, each task weighing as much as its full split."""
    sizes = {task: _full_size(shape, task) or count.scored for task, count in counts.items()}
    return _weighed(counts, sizes, WEIGHTED)


def macro(counts: Mapping[str, Count]) -> Estimate:
    """The unweighted mean of the tasks' shares."""
    return _weighed(counts, dict.fromkeys(counts, 1), ALIKE)


def _weighed(counts: Mapping[str, Count], sizes: Mapping[str, int], method: str) -> Estimate:
    """A weighted mean of shares. A task of which nothing was scored has no weight.

    The interval is Wilson's on Kish's effective n, which takes all tasks to be alike. Where a few items weigh more
    than others that is too narrow if those are the harder ones, and it is widened by `_apart`.
    """
    asked = sum(c.asked for c in counts.values())
    used = {task: c for task, c in counts.items() if c.scored}
    if not used:
        return nothing(asked, _empty(asked))
    whole = sum(sizes[task] for task in used)
    # Divided last, so that a perfect score is 1 and not the float below it.
    share = math.fsum(sizes[task] * (c.total / c.scored) for task, c in used.items()) / whole
    worth = {task: c.effective or c.scored for task, c in used.items()}
    n = whole**2 / math.fsum(sizes[task] ** 2 / worth[task] for task in used)
    low, high = wilson(share, n)
    least, most = _apart(share, [(sizes[t] / whole, worth[t], c.total / c.scored) for t, c in used.items()])
    scored = sum(c.scored for c in used.values())
    return Estimate(share, share_stderr(share, n), min(low, least), max(high, most), scored, asked, method)


def _apart(share: float, tasks: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """The interval of a mean over tasks that differ; `tasks` are weight (they sum to 1), worth in items, and share.

    The sides of the tasks' own Wilson intervals, squared and added with the squares of their weights (Zou and
    Donner 2008, Stat. Med. 27:1693). So much of it as items of equal weight would have is Wilson's interval of
    the mean on so many items instead: with whole splits nothing but that is left, the interval of one plain exam.
    """
    least = min(weight / worth for weight, worth, _ in tasks)
    low, high = wilson(share, 1 / least)
    below, above = (share - low) ** 2, (high - share) ** 2
    for weight, worth, right in tasks:
        more = max(0.0, weight**2 - weight * worth * least)
        task_low, task_high = wilson(right, worth)
        below += more * (right - task_low) ** 2
        above += more * (task_high - right) ** 2
    return max(0.0, share - math.sqrt(below)), min(1.0, share + math.sqrt(above))


def _full_size(shape: Shape, task: str) -> int | None:
    return shape.tasks[task].full_size if task in shape.tasks else None


def _empty(asked: int) -> str:
    return "no item was asked" if asked == 0 else "every item asked ended in an error"
