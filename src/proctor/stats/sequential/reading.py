"""A run's answers item by item, in the order of asking, as far as there is no gap."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proctor.stats.estimates_share import row_score
from proctor.stats.estimates_sheet import base_id, measured
from proctor.stats.metrics import Scored
from proctor.stats.sequential.measure import Measure, Weighed

Asking = tuple[str, str]  # an item's id with its wording, and the hash of what was shown


@dataclass(slots=True)
class Marks:
    """Of one asking and its repeats: the sum of the scores, how many were measured, and how many there were."""

    total: float = 0.0
    measured: int = 0
    asked: int = 0


@dataclass(slots=True)
class ItemRead:
    """An item with all of its wordings and repeats; `unit` is what does not depend on other units.

    One that was asked once has its `content` and `score` (None: not measured), every other one `askings`: runs have
    thousands of the first kind.
    """

    task: str
    item: str
    unit: Hashable
    content: str = ""
    score: float | None = None
    askings: Mapping[Asking, Marks] | None = None

    def every(self) -> Mapping[Asking, Marks]:
        """The askings, whichever kind of item it is."""
        if self.askings is not None:
            return self.askings
        return {(self.item, self.content): Marks(self.score or 0.0, int(self.score is not None), 1)}


def item_of(rows: Sequence[Scored], measure: Measure) -> ItemRead:
    """The item that all these rows are of. What measured nothing (an error) has no score, and is counted."""
    first = rows[0]
    base = base_id(first.item, measure.worded)
    unit: Hashable = first.together
    if unit is None:
        unit = (first.task, "item", base) if first.cluster is None else (first.task, "cluster", first.cluster)
    of = measure.tasks[first.task]
    if len(rows) == 1 and base == first.item:
        return ItemRead(first.task, base, unit, first.content, _score(first, of))
    askings: dict[Asking, Marks] = {}
    for row in rows:
        marks = askings.setdefault((row.item, row.content), Marks())
        marks.asked += 1
        if (score := _score(row, of)) is not None:
            marks.measured += 1
            marks.total += score
    return ItemRead(first.task, base, unit, askings=askings)


def _score(row: Scored, of: Weighed) -> float | None:
    if not measured(row, of.kind):
        return None
    if len(of.metrics) == 1:
        return row_score(row, of.metrics[0], of.kind)
    return sum(row_score(row, metric, of.kind) for metric in of.metrics) / len(of.metrics)


def items_in_order(rows: Iterable[Scored], measure: Measure) -> Iterator[ItemRead]:
    """The items of rows that stand in the order of asking; rows of tasks that do not count are passed over."""
    found: dict[tuple[str, str], list[Scored]] = {}
    for row in rows:
        if row.task in measure.tasks:
            found.setdefault((row.task, base_id(row.item, measure.worded)), []).append(row)
    return (item_of(each, measure) for each in found.values())


@dataclass(slots=True)
class RunReading:
    """Takes a run's askings in whatever order they end, and gives its items in the order of asking, without a gap.

    `places` is how many positions the order has, and `repeats` how often each is asked.
    """

    measure: Measure
    places: int
    repeats: int = 1
    balance: Balance | None = None
    front: int = 0  # the first position that is not answered
    items: list[ItemRead] = field(default_factory=list)
    _waiting: dict[int, dict[int, Scored]] = field(default_factory=dict)  # by position and repeat
    _failed: set[tuple[int, int]] = field(default_factory=set)  # ended in an error, and are asked again
    _open: list[Scored] = field(default_factory=list)  # rows of an item whose other wordings may follow

    def add(self, position: int, repeat: int, row: Scored | None) -> bool:
        """An asking has ended, `row` None: in an error, and it is asked again. Whether the front moved."""
        if position < self.front:
            return False
        if row is None:
            if repeat not in self._waiting.get(position, ()):
                self._failed.add((position, repeat))
            return False
        if self._failed:
            self._failed.discard((position, repeat))
        self._waiting.setdefault(position, {})[repeat] = row
        if position > self.front:
            return False
        before = self.front
        while (ready := self._waiting.get(self.front)) is not None and len(ready) >= self.repeats:
            del self._waiting[self.front]
            self.front += 1
            self._read([ready[each] for each in sorted(ready)] if len(ready) > 1 else list(ready.values()))
        return self.front > before

    def _read(self, rows: list[Scored]) -> None:
        if not self.measure.worded:
            self._open = rows
            self._close()
            return
        if self._open and self._name(self._open[0]) != self._name(rows[0]):
            self._close()
        self._open.extend(rows)
        if self.front == self.places:
            self._close()

    def _name(self, row: Scored) -> tuple[str, str]:
        return row.task, base_id(row.item, self.measure.worded)

    def _close(self) -> None:
        if self._open and self._open[0].task in self.measure.tasks:
            item = item_of(self._open, self.measure)
            self.items.extend([item] if self.balance is None else self.balance.push(item))
        self._open = []

    @property
    def failed(self) -> bool:
        """Whether what holds the front up has ended in an error."""
        return any(position == self.front for position, _ in self._failed)


@dataclass(slots=True)
class Balance:
    """Gives items in an order in which all tasks come to their ends together, as far as there is no gap in it.

    For orders of asking in which they do not, such as that of the first few items of each of several tasks: a walk
    over these would be over the larger tasks first, and what only they show be taken for the whole.
    """

    asked: Mapping[str, int]
    _waiting: dict[str, deque[ItemRead]] = field(default_factory=dict)
    _done: dict[str, int] = field(default_factory=dict)

    def push(self, item: ItemRead) -> Iterator[ItemRead]:
        self._waiting.setdefault(item.task, deque()).append(item)
        while (following := self._following()) is not None and self._waiting.get(following):
            self._done[following] = self._done.get(following, 0) + 1
            yield self._waiting[following].popleft()

    def _following(self) -> str | None:
        left = [task for task, asked in self.asked.items() if self._done.get(task, 0) < asked]
        return min(
            left, key=lambda task: ((self._done.get(task, 0) + 0.5) / self.asked[task], task), default=None
        )
