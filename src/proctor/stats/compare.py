"""Runs against each other on the items they share: every pair, the headline and each task."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from types import MappingProxyType

from proctor.errors import MetricMissing
from proctor.findings import OF_TRIALS, Comparison, Difference, Estimate
from proctor.findings.looks import Path
from proctor.stats import resample
from proctor.stats.estimates import ACCURACY, MACRO, Shape, by_accuracy, exams_of, reporting, suite_name
from proctor.stats.estimates_share import SUCCESS_RATE
from proctor.stats.estimates_sheet import nothing
from proctor.stats.estimates_task import CORRELATIONS, TaskSheet, ends, own_value
from proctor.stats.family.beside import adjusting, quick_p_values
from proctor.stats.intervals import Z95
from proctor.stats.metrics import Scored
from proctor.stats.paired import ALPHA, benjamini_hochberg, holm
from proctor.stats.pairs import Drawn, Pair, PairCounts, drawn, paired
from proctor.stats.pairs_share import Shares, pooled_shares
from proctor.stats.permute import weighed
from proctor.stats.power_pairs import errors_to_show, items_of_mean, least_difference, least_items
from proctor.stats.rollouts.same_tasks import same_tasks
from proctor.stats.sequential.followed import Follower
from proctor.stats.sequential.tested import Walks, kept_back
from proctor.stats.unmeasured.withheld import held
from proctor.types import Run

MOST_OTHERS = 100  # pairs beside the compared ones whose scores are no means of items: each takes some 30 ms
PRACTICALLY = 0.01  # of a metric's range: two scores closer than this are practically equal
RESAMPLED = f"paired bootstrap of items, {resample.SAID}"
RESAMPLED_NUMBERS = f"paired bootstrap of items, widened as Fisher's z is, {resample.SAID}"
RESAMPLED_CLUSTERS = f"paired bootstrap of clusters, {resample.SAID}"
STRATIFIED = f"paired draws of each task combined, {resample.SAID}"
STRATIFIED_TEST = "approximate randomisation within tasks"

Side = tuple[Run, Sequence[Scored]]


def compare(
    sides: Sequence[Side],
    shape: Shape,
    *,
    margin: float | None = None,
    tasks: bool = True,
    beside: Sequence[Side] = (),
    watched: Collection[str] = frozenset(),
    paths: Mapping[tuple[str, str], Path] = MappingProxyType({}),
) -> tuple[Comparison, ...]:
    """Every pair of `sides`, first minus second.

    The p-values of the headlines are adjusted over all pairs of `sides` and `beside`, the other runs that could have
    been compared (Holm), those of a pair's tasks over its tasks (Benjamini and Hochberg). "Better" needs both: the
    adjusted p below 0.05 and an interval without 0. `margin` is in the metric's units; None is a hundredth of each
    metric's range.

    A pair with a run that stopped early, or that is in `watched` (ids of runs that were looked at while at work), is
    tested by its path. `paths` are those that were decided side by side, by their runs' ids; they are read no further.
    """
    exams = [(run, exams_of(rows, shape)) for run, rows in sides]
    plain = partial(_differences, shape=shape, tasks=tasks, family=math.comb(len(sides) + len(beside), 2))
    by_walks = Walks(Follower(sides, shape), exams, watched, paths, plain)
    places = list(combinations(range(len(sides)), 2))
    found = [by_walks.differences(*pair) or plain(*(exams[side][1] for side in pair)) for pair in places]
    others = _others(sides, beside, shape)
    p_values = [*(whole.p_value for whole, _ in found), *(p for p, _ in others)]
    adjusted = adjusting(p_values, holm)
    there = adjusting([*(whole.same_tasks_p for whole, _ in found), *(p for _, p in others)], holm)
    tests = max(1, sum(p is not None for p in adjusted))

    def said(place: int, p: float | None, whole: Difference, rows: Sequence[Difference]) -> Comparison:
        headline = judged(replace(whole, same_tasks_p=there[place], comparisons=tests), p, margin)
        by_task = zip(rows, adjusting([d.p_value for d in rows], benjamini_hochberg), strict=True)
        one, other = (exams[side][0] for side in places[place])
        return Comparison(one, other, headline, tuple(judged(d, q, margin) for d, q in by_task))

    def again(place: int, first: Sequence[TaskSheet], second: Sequence[TaskSheet]) -> Comparison:
        whole, rows = plain(first, second)
        among = [*p_values[:place], whole.p_value, *p_values[place + 1 :]]
        return said(place, adjusting(among, holm)[place], whole, rows)

    return tuple(
        held(said(i, adjusted[i], *found[i]), (exams[one][1], exams[other][1]), partial(again, i))
        for i, (one, other) in enumerate(places)
    )


def _others(
    sides: Sequence[Side], beside: Sequence[Side], shape: Shape
) -> list[tuple[float | None, float | None]]:
    """The p-value of every pair with a run of `beside`, and that on these very tasks.

    One that cannot be told is 1: it then comes after all others, which is never to their favour.
    """
    every = [rows for _, rows in (*sides, *beside)]
    if not beside:
        return []
    if (quick := quick_p_values(every, shape, len(sides))) is not None:
        return [(p, None) for p in quick.values()]
    places = [each for each in combinations(range(len(every)), 2) if each[1] >= len(sides)]
    if len(places) > MOST_OTHERS:
        return [(1.0, 1.0)] * len(places)
    exams = [exams_of(rows, shape) for rows in every]
    family = math.comb(len(every), 2)
    found = [_differences(exams[a], exams[b], shape, tasks=False, family=family)[0] for a, b in places]
    return [(1.0 if of.p_value is None else of.p_value, of.same_tasks_p) for of in found]


def judged(difference: Difference, adjusted_p: float | None, margin: float | None = None) -> Difference:
    """The difference with its adjusted p-value and what may be said of it; a `margin` of None is its own."""
    margin = difference.margin if margin is None else margin
    found = replace(difference, adjusted_p=adjusted_p, margin=margin)
    # A walk stops at its level or below it.
    shown = adjusted_p is not None and (adjusted_p < ALPHA or (found.path and adjusted_p <= ALPHA + 1e-12))
    low, high = difference.estimate.low, difference.estimate.high
    if adjusted_p is None or low is None or high is None:
        return found
    if shown and (low > 0 or high < 0):
        return kept_back(replace(found, verdict="first better" if low > 0 else "second better"))
    if -margin <= low and high <= margin:
        return kept_back(replace(found, verdict="practically equal"))
    return kept_back(found)


def focused(shape: Shape, metric: str) -> Shape:
    """The shape whose headline is `metric`: "score" is the shape's own, another its mean over the tasks that report it.

    Where the headline is the accuracy over items, "accuracy" means that, and its mean over tasks is "macro accuracy".
    Raises MetricMissing, naming the metrics there are.
    """
    pooled = shape.aggregate == "micro" and len(reporting(shape.tasks).get(ACCURACY, ())) > 1
    if metric == "score" or (pooled and metric == ACCURACY):
        return shape
    if pooled and metric == MACRO:
        return replace(_only(shape, ACCURACY), named=MACRO, whole=shape.whole)
    found = _only(shape, metric)
    # "f1" alone would be taken for the F1 over all items, which is another number.
    return replace(found, averaged=sum(1 for spec in found.tasks.values() if not spec.extra) > 1)


def _only(shape: Shape, metric: str) -> Shape:
    known: dict[str, None] = {}
    tasks = {}
    for key, spec in shape.tasks.items():
        every = (*spec.official, *spec.also)
        known.update(dict.fromkeys(every))
        if metric in every:
            tasks[key] = replace(spec, official=(metric,), also=())
    if not tasks:
        raise MetricMissing(f"{shape.suite} reports no {metric!r}; metrics: score, {', '.join(known)}")
    return replace(shape, tasks=tasks, aggregate="macro", categories=(), whole=None, named=metric)


@dataclass(frozen=True, slots=True)
class _Task:
    """A task that both runs have scored, with its draws and its weight in the headline."""

    pair: Pair
    drawn: Drawn
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class _Found:
    """What a difference is made of, whichever way it was found."""

    difference: float
    stderr: float | None
    low: float | None
    high: float | None
    p: float
    test: str
    method: str
    discordant: tuple[int, int] | None = None  # where the test counts them
    freedom: float = math.inf  # degrees of freedom of the standard error

    def detectable(self, n: int, family: int) -> float | None:
        """The smallest difference that n items like these show with 80 % power, as one of `family` comparisons."""
        if self.discordant is not None:
            return least_difference(n, sum(self.discordant) / n, family)
        errors = errors_to_show(self.freedom, family)
        return None if self.stderr is None or not math.isfinite(errors) else errors * self.stderr

    def items_needed(self, n: int, family: int) -> int | None:
        """About how many items would show a difference of this size.

        None where it is smaller than its standard error: then it can hardly be told from none at all or from one
        the other way, and the number would be noise.
        """
        gap = abs(self.difference)
        if self.stderr is None or gap < self.stderr:
            return None
        if self.discordant is not None:
            return least_items(sum(self.discordant) / n, gap, family)
        return items_of_mean(self.stderr * math.sqrt(n), gap, family)


def differences(
    first: Sequence[Scored], second: Sequence[Scored], shape: Shape, *, tasks: bool = True
) -> tuple[Difference, tuple[Difference, ...]]:
    """One pair of runs: the headline and each task's own score. Nothing is adjusted or judged yet."""
    return _differences(exams_of(first, shape), exams_of(second, shape), shape, tasks=tasks)


def _differences(
    first: Sequence[TaskSheet], second: Sequence[TaskSheet], shape: Shape, *, tasks: bool, family: int = 1
) -> tuple[Difference, tuple[Difference, ...]]:
    """`differences` of exams. The headline is one of `family` tests, a task's one of as many as there are tasks."""
    found = [_Task(pair, made) for pair in paired(first, second) if (made := drawn(pair)) is not None]
    counted = [task for task in found if not task.pair.spec.extra] or found
    rows = tuple(_of_task(task, len(found)) for task in found) if tasks and len(found) > 1 else ()
    if not counted:
        asked = len({(row.task, row.item) for side in (first, second) for one in side for row in one.rows})
        none = nothing(asked, "the two runs share no scored item")
        return Difference("", shape.suite, "score", None, None, none, "none", None, 0, 0, 0), rows
    if len(counted) == 1:
        (alone,) = counted
        own = _accuracy(alone) if by_accuracy(alone.pair.first, shape) else None
        return _of_task(own or alone, family), rows
    return _of_suite(counted, shape, family), rows


def _of_task(task: _Task, family: int) -> Difference:
    pair, made = task.pair, task.drawn
    spec = pair.spec
    if made.shares is not None:
        found = _of_shares(made.shares, f"{pair.first.key} {' '.join(spec.official)}", family)
    else:
        loose = RESAMPLED_NUMBERS if CORRELATIONS.intersection(spec.official) else RESAMPLED
        found = _of_draws(made, RESAMPLED_CLUSTERS if pair.clustered else loose, [task], family)
    return _described([task], found, (pair.first.key, spec.title, " + ".join(spec.official)), family)


def _of_suite(counted: Sequence[_Task], shape: Shape, family: int) -> Difference:
    """The suite's headline: tasks are independent, so what their draws give is weighed and added one by one."""
    metric, tasks = _weighed(counted, shape)
    plain = [task.drawn.shares for task in tasks if task.drawn.shares is not None]
    if len(plain) == len(tasks):
        pooled = pooled_shares(plain, [task.weight for task in tasks])
        found = _of_shares(pooled, "pooled", family)
    else:
        found = _of_draws(_combined(tasks), STRATIFIED, tasks, family)
    return _described(tasks, found, ("", shape.suite, metric), family)


def _weighed(counted: Sequence[_Task], shape: Shape) -> tuple[str, list[_Task]]:
    """The headline's name, and its tasks with what each counts in it."""
    if shape.aggregate == "macro":
        name = suite_name(shape, shape.named, len(counted))
        return name, [replace(task, weight=1 / len(counted)) for task in counted]
    plain = [task for task in map(_accuracy, counted) if task is not None]
    sizes = [task.pair.spec.full_size or task.pair.first.sheet.items for task in plain]
    return suite_name(shape, ACCURACY, len(plain)), [
        replace(task, weight=size / sum(sizes)) for task, size in zip(plain, sizes, strict=True)
    ]


def _accuracy(task: _Task) -> _Task | None:
    """The task with accuracy as its own score; None if it has none."""
    spec = task.pair.spec
    if spec.official == (ACCURACY,):
        return task
    if ACCURACY not in (*spec.official, *spec.also):
        return None
    plain = replace(spec, official=(ACCURACY,), also=())
    pair = Pair(replace(task.pair.first, spec=plain), replace(task.pair.second, spec=plain))
    made = drawn(pair)
    return None if made is None else _Task(pair, made)


def _combined(tasks: Sequence[_Task]) -> Drawn:
    import numpy as np

    weights = np.array([task.weight for task in tasks])
    draws = weights @ np.array([task.drawn.draws for task in tasks])
    difference = math.fsum(task.weight * task.drawn.difference for task in tasks)
    # Each task's draws lean towards no difference by the disagreement that was added to them, and are narrower
    # than few items are; added over tasks that would push the interval off the difference and make it too
    # narrow. So they are laid around it, as wide as the items of the tasks say.
    around = _wider(tasks) * (draws - draws.mean()) + difference
    null = weighed([task.drawn.null for task in tasks], [task.weight for task in tasks])
    return Drawn(difference, null, around, STRATIFIED_TEST)


def _wider(tasks: Sequence[_Task]) -> float:
    """How much wider than the sum of the tasks' draws their unbiased variances are; never narrower."""
    seen = told = 0.0
    for task in tasks:
        drawn = task.weight**2 * float(task.drawn.draws.var(ddof=1))
        shares = task.drawn.shares
        items = shares.variance() if shares is not None else None
        seen += drawn
        told += drawn if items is None else task.weight**2 * items
    return math.sqrt(told / seen) if told > seen > 0 else 1.0


def _of_shares(plain: Shares, key: str, family: int) -> _Found:
    seen = plain.span > 0  # without any spread in the scores nothing tells how far they could lie apart
    low, high = plain.interval() if seen else (None, None)
    return _Found(
        plain.difference,
        plain.stderr() if seen else None,
        low,
        high,
        plain.p_value(key, family),
        plain.test,
        plain.method,
        plain.counts() if plain.binary else None,
        plain.freedom() if seen else math.inf,
    )


def _of_draws(made: Drawn, method: str, tasks: Sequence[_Task], family: int) -> _Found:
    n = sum(task.pair.first.sheet.items for task in tasks)
    stderr, low, high = resample.spread(made.draws, made.difference)
    if stderr < 1e-12:  # nothing differs and nothing was added, as between equal lists of numbers
        half = Z95**2 / (n + Z95**2)  # the width of Tango's interval without a discordant item
        stderr, low, high = half / Z95, low - half, high + half
    most = _most(tasks)
    low, high = max(-most, low), min(most, high)
    return _Found(made.difference, stderr, low, high, made.p_value(family), made.test, method)


def _described(tasks: Sequence[_Task], found: _Found, named: tuple[str, str, str], family: int) -> Difference:
    """The difference as it is told; `named` are its task's key, title and metric."""
    task, title, metric = named
    n = sum(each.pair.first.sheet.items for each in tasks)
    counts = PairCounts.of([task.pair for task in tasks])
    return Difference(
        task=task,
        title=title,
        metric=metric,
        first=_value(tasks, "first"),
        second=_value(tasks, "second"),
        estimate=Estimate(
            found.difference,
            found.stderr,
            found.low,
            found.high,
            n,
            n,
            found.method,
            "all scores of both runs are the same number" if found.low is None else None,
        ),
        test=found.test,
        p_value=found.p,
        both_right=counts.both_right,
        only_first=counts.only_first,
        only_second=counts.only_second,
        correlation=counts.correlation,
        detectable=found.detectable(n, family) if _can_show(metric, n, family) else None,
        items_needed=found.items_needed(n, family),
        comparisons=family,
        margin=PRACTICALLY * _span(tasks),
        same_tasks_p=_same_tasks(tasks, metric),
    )


def _can_show(metric: str, n: int, family: int) -> bool:
    """Whether so many tasks can show anything: of 5, all better, signs are as far from 0 by luck in 1 of 16 cases."""
    return metric not in OF_TRIALS or 2.0 ** (1 - n) < ALPHA / family


def _same_tasks(tasks: Sequence[_Task], metric: str) -> float | None:
    if metric != SUCCESS_RATE or len(tasks) != 1:
        return None
    pair = tasks[0].pair
    return same_tasks(pair.first.sheet.rows, pair.second.sheet.rows)


def _most(tasks: Sequence[_Task]) -> float:
    """The largest difference that can be: 1 between shares, 2 where scores are from -1 to 1, else what scores show."""
    whole = 0.0
    weights = math.fsum(task.weight for task in tasks)
    for task in tasks:
        exam, official = task.pair.first, task.pair.spec.official
        sides = [high - low for low, high in (ends(exam, metric) for metric in official)]
        shares = task.drawn.shares
        whole += task.weight * (shares.span if shares else math.fsum(sides) / len(sides))
    return whole / weights


def _span(tasks: Sequence[_Task]) -> float:
    """How far two scores can lie apart: the tasks' ranges, weighed as in the headline."""
    spans = (1.0 if task.drawn.shares is None else task.drawn.shares.span for task in tasks)
    weights = math.fsum(task.weight for task in tasks)
    return math.fsum(task.weight * span for task, span in zip(tasks, spans, strict=True)) / weights


def _value(tasks: Sequence[_Task], side: str) -> float:
    # Divided last, so that a perfect score is 1 and not the float below it.
    weights = math.fsum(task.weight for task in tasks)
    return math.fsum(task.weight * (own_value(getattr(task.pair, side)) or 0.0) for task in tasks) / weights
