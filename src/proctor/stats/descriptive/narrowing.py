"""A score as it narrows: its value and its interval after ever more items of a run, in the order of asking.

Items are asked in a seeded order of which every beginning is a fair sample, so the score of the first n is an estimate
of that of all, and its interval is the one that a run which ended there would have. Each item is counted once, when it
is added; what was drawn before is never computed again.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proctor.findings import Estimate
from proctor.stats.estimates import ACCURACY, Count, Shape, macro, mean_name, micro, reporting, suite_name
from proctor.stats.estimates_share import effective_of, row_score
from proctor.stats.estimates_sheet import Sheet, base_id, measured
from proctor.stats.metrics import Scored

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

MOST_POINTS = 80  # of a line: beyond it every second goes, and points are taken half as often
PLAIN = frozenset({ACCURACY, "em"})  # metrics that are the share of right answers among all items
OVER_ITEMS, OVER_TASKS = "items", "tasks"
Key = tuple[str, str]  # a task, and the half of it that is averaged with the other


@dataclass(frozen=True, slots=True)
class Point:
    """The score after so many askings. `low` and `high` are the ends of its 95 % interval."""

    items: int
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Which share of right answers of a run is followed, by task the metric; `over` is how tasks become one.

    `why_not` says why the run's own score is not followed: then this is its accuracy, or nothing (no `metrics`).
    """

    metrics: Mapping[str, str]
    over: str = OVER_ITEMS
    name: str = ""
    why_not: str = ""


def followed(shape: Shape) -> Narrowed:
    """What of a run of this shape can be followed item by item: a share of right answers.

    >>> from proctor.stats.estimates import TaskShape
    >>> followed(Shape("S", {"a": TaskShape("A"), "b": TaskShape("B")})).why_not
    ''
    >>> f1 = TaskShape("F", official=("f1",), also=("accuracy",))
    >>> followed(Shape("S", {"a": TaskShape("A"), "f": f1}, "macro")).why_not
    'the score is the mean over 2 tasks of accuracy and f1, and not all of these are shares of right answers'
    """
    if not any(spec.official for spec in shape.tasks.values()):
        return Narrowed({}, why_not="nothing here is graded while it works")
    counted = {key: spec for key, spec in shape.tasks.items() if not spec.extra} or dict(shape.tasks)
    by_items = len(counted) > 1 and shape.aggregate == "micro"
    if by_items:
        metrics = {key: ACCURACY for key, spec in counted.items() if ACCURACY in (*spec.official, *spec.also)}
        if metrics:
            return Narrowed(metrics, OVER_ITEMS, suite_name(shape, ACCURACY, len(metrics)))
    official = {key: spec.official for key, spec in counted.items()}
    if all(len(names) == 1 and names[0] in PLAIN for names in official.values()):
        own = {key: names[0] for key, names in official.items()}
        name = next(iter(own.values())) if len(own) == 1 else suite_name(shape, shape.named, len(own))
        return Narrowed(own, OVER_TASKS, name)
    return _accuracy(shape, list(dict.fromkeys(name for names in official.values() for name in names)))


def _accuracy(shape: Shape, official: list[str]) -> Narrowed:
    """The accuracy beside a score that is no share of right answers."""
    words = " and ".join(filter(None, (", ".join(official[:-1]), official[-1] if official else "")))
    counted = sum(1 for spec in shape.tasks.values() if not spec.extra) or len(shape.tasks)
    over = f"mean over {counted} tasks of {words}" if counted > 1 else words
    left = "not all of these are shares" if len(official) > 1 else "that is no share"
    why = f"the score is the {over}, and {left} of right answers"
    having = reporting(shape.tasks).get(ACCURACY, [])
    metrics = dict.fromkeys(having, ACCURACY)
    name = mean_name(ACCURACY, len(having), len(having)) if len(having) > 1 else ACCURACY
    return Narrowed(metrics, OVER_TASKS, name, why)


@dataclass(slots=True)
class TaskCount:
    """The items of a task so far. Those of one unit hang together: a cluster, or the repeats of an item."""

    asked: set[str] = field(default_factory=set)
    items: dict[str, int] = field(default_factory=dict)
    units: dict[str, int] = field(default_factory=dict)
    owner: dict[int, int] = field(default_factory=dict)  # the unit of an item that was met first
    item: array[int] = field(default_factory=lambda: array("i"))
    score: array[float] = field(default_factory=lambda: array("d"))
    total: float = 0.0

    def add(self, base: str, cluster: str | None, score: float | None) -> None:
        self.asked.add(base)
        if score is None:
            return
        number = self.items.setdefault(base, len(self.items))
        unit = f"cluster {cluster}" if cluster is not None else f"item {base}"
        if number not in self.owner:
            self.owner[number] = self.units.setdefault(unit, len(self.units))
        self.item.append(number)
        self.score.append(score)
        self.total += score

    def count(self) -> Count:
        if not self.items:
            return Count(len(self.asked))
        plain = len(self.units) == len(self.score)
        if plain:
            return Count(len(self.asked), len(self.items), self.total)
        sheet = self._sheet()
        import numpy as np

        scores = np.frombuffer(self.score, np.float64)
        value = float(sheet.weight @ scores) / len(self.items)
        worth = effective_of(sheet, scores, [np.ones(len(scores))])[0]
        return Count(len(self.asked), len(self.items), value * len(self.items), worth)

    def _sheet(self) -> Sheet:
        import numpy as np

        item: Array = np.frombuffer(self.item, np.int32).astype(np.int64)
        owner = np.array([self.owner[number] for number in range(len(self.items))], dtype=np.float64)
        return Sheet(
            rows=(),
            weight=1 / np.bincount(item)[item],
            item=item,
            unit=owner[item],
            scale=1,
            items=len(self.items),
            units=len(self.units),
            asked=len(self.asked),
            reason="",
        )


@dataclass(slots=True)
class Narrowing:
    """The followed share of a run, item by item. Not for several threads at once."""

    shape: Shape
    of: Narrowed
    added: int = 0  # askings, those without an outcome too
    _counts: dict[Key, TaskCount] = field(default_factory=dict)
    _points: list[Point] = field(default_factory=list)
    _step: int = 1

    def add(self, rows: Iterable[Scored]) -> None:
        """Rows in the order of asking, each once."""
        for row in rows:
            self.added += 1
            metric = self.of.metrics.get(row.task)
            if metric is None:
                continue
            spec = self.shape.tasks[row.task]
            score = row_score(row, metric, spec.kind) if measured(row, spec.kind) else None
            task = self._counts.setdefault((row.task, row.half or ""), TaskCount())
            task.add(base_id(row.item, self.shape.worded), row.cluster, score)
            if self.added % self._step == 0:
                self._take()

    def points(self) -> list[Point]:
        """The line so far; its last point is of all that was added."""
        last = self._point()
        if last is None or (self._points and self._points[-1].items == last.items):
            return list(self._points)
        return [*self._points, last]

    def now(self) -> Estimate | None:
        """The estimate of all that was added; None before anything was measured."""
        if not self.of.metrics or not self._counts:
            return None
        found = self._estimate()
        return None if found.value is None else found

    def by_task(self) -> dict[str, Estimate]:
        """The share of right answers in each task so far."""
        found: dict[str, dict[str, Count]] = {}
        for (task, half), counted in self._counts.items():
            found.setdefault(task, {})[half] = counted.count()
        return {task: macro(halves) for task, halves in found.items()}

    def _take(self) -> None:
        if (point := self._point()) is not None:
            self._points.append(point)
        if len(self._points) > MOST_POINTS:
            self._step *= 2
            self._points = [each for each in self._points if each.items % self._step == 0]

    def _point(self) -> Point | None:
        found = self.now()
        if found is None or found.value is None or found.low is None or found.high is None:
            return None
        return Point(self.added, found.value, found.low, found.high)

    def _estimate(self) -> Estimate:
        if self.of.over == OVER_ITEMS:
            return micro(self._by_task(), self.shape)
        return macro(self._by_task())

    def _by_task(self) -> dict[str, Count]:
        found: dict[str, Count] = {}
        for (task, _), counted in self._counts.items():
            count, before = counted.count(), found.get(task)
            found[task] = count if before is None else _joined(before, count)
        return found


def _joined(one: Count, other: Count) -> Count:
    """Both halves of a task as one; their shares weigh alike."""
    asked, scored = one.asked + other.asked, one.scored + other.scored
    if not one.scored or not other.scored:
        return Count(
            asked, scored, one.total + other.total, (one.effective or 0) + (other.effective or 0) or None
        )
    share = (one.total / one.scored + other.total / other.scored) / 2
    worth = 4 / (1 / (one.effective or one.scored) + 1 / (other.effective or other.scored))
    return Count(asked, scored, share * scored, worth)
