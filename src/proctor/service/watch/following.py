"""A run at work as its page follows it: what became of its items, its score as it narrows, the latest replies.

It is counted once a run and extended: each look reads what has come since, whoever looks. What is kept is a function
of the run alone; whether somebody may see the run is asked before, where its row is read.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from proctor.errors import NotFound
from proctor.findings import Estimate
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.service.looks.peeks import looked
from proctor.service.rows.marks import mark, shape
from proctor.service.watch.answers import first_words
from proctor.stats.descriptive.narrowing import Narrowing, Point, followed
from proctor.store import Store
from proctor.store.read import tried
from proctor.store.read.tried import SettledRow
from proctor.types import Item, Outcome, Run

LATEST = 8  # replies that are shown
NEAR = 500  # positions between two gaps that are sooner read again than asked for apart
MOST_FOLLOWED = 32  # runs that are kept counted
AGAIN_S = 5.0  # the least time between two countings from the beginning
QUESTION_CHARACTERS = 600
NEW_S = 0.4  # how long a count is new, however many look


@dataclass(frozen=True, slots=True)
class TaskSoFar:
    """A task: askings that have ended, of how many (None: not known), and the share of right ones among its items."""

    task: str
    title: str
    done: int
    asked: int | None
    share: Estimate | None


@dataclass(frozen=True, slots=True)
class LatestReply:
    """An asking that ended lately, with the beginning of its question ("" where it is not kept)."""

    row: SettledRow
    question: str


@dataclass(frozen=True, slots=True)
class SoFar:
    """What a run at work shows. `outcomes` and `to_come` add up to what is planned.

    `points` are the score after so many items in the order of asking, without those that ended beyond a gap; `now` is
    the last of them. `name` is the metric, `why_not` why it is not the run's own score, or why there is none.
    `graded` says whether the run has a score at all.
    """

    outcomes: Mapping[str, int]
    to_come: int
    tasks: Sequence[TaskSoFar]
    latest: Sequence[LatestReply]
    points: Sequence[Point]
    now: Estimate | None
    name: str
    why_not: str
    graded: bool


@dataclass(slots=True)
class RunCount:
    """One run as far as it is counted. Its lock is held by whoever extends it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    made: SoFar | None = None
    made_at: float = 0.0
    counted_at: float = 0.0  # from the beginning
    outcomes: Counter[str] = field(default_factory=Counter)
    tasks: Counter[str] = field(default_factory=Counter)
    latest: list[SettledRow] = field(default_factory=list)
    questions: dict[str, str] = field(default_factory=dict)
    narrowing: Narrowing | None = None
    _seen: bytearray = field(default_factory=bytearray)  # by position; 1 too where this part asks nothing
    _front: int = 0
    _beyond: dict[int, SettledRow] = field(default_factory=dict)  # of a gap

    def look(self, store: Store, run: Run) -> SoFar:
        """The run by now. Raises: NotFound."""
        with self.lock:
            if self.made is None or time.monotonic() - self.made_at > NEW_S:
                self._extend(store, run)
                self.made, self.made_at = self._told(store, run), time.monotonic()
            return self.made

    def _extend(self, store: Store, run: Run) -> None:
        if self.narrowing is None or run.cell.repeats > 1:
            self._afresh(store, run)
            return
        self._take(run, tried.within(store, run.id, self._stretches()))
        # An item that had ended in an error was asked again: the rows that replace others are found by reading all.
        if self._settled() < run.settled:
            self._afresh(store, run)

    def _afresh(self, store: Store, run: Run) -> None:
        """From the beginning, not more often than every few seconds: of large runs it takes one."""
        if self.narrowing is not None and time.monotonic() - self.counted_at < AGAIN_S and run.settled > NEAR:
            return
        of = shape(run)
        self.narrowing = Narrowing(of, followed(of))
        self.outcomes, self.tasks, self.latest = Counter(), Counter(), []
        self._seen, self._front, self._beyond = bytearray(), 0, {}
        rows = tried.within(store, run.id, [(0, None)])
        if run.cell.repeats > 1:
            self._count(rows)
            self._score(run, sorted(rows, key=lambda row: (row.repeat, row.position)))
        else:
            self._take(run, rows)
        self.counted_at = time.monotonic()

    def _settled(self) -> int:
        return self.outcomes.total() - self.outcomes[Outcome.ERROR.value]

    def _stretches(self) -> list[tuple[int, int | None]]:
        """Where rows may have come: the gaps, those near each other as one, and what lies beyond the last row."""
        found: list[tuple[int, int | None]] = []
        at, last = self._front, len(self._seen)
        while at < last and (first := self._seen.find(0, at)) >= 0:
            end = self._seen.find(1, first)
            at = last if end < 0 else end
            if found and first - (found[-1][1] or 0) < NEAR:
                found[-1] = (found[-1][0], at)
            else:
                found.append((first, at))
        if found and last - (found[-1][1] or 0) < NEAR:
            return [*found[:-1], (found[-1][0], None)]
        return [*found, (last, None)]

    def _take(self, run: Run, rows: Sequence[SettledRow]) -> None:
        shard, fresh = run.cell.limits.shard, []
        for row in rows:
            for place in range(len(self._seen), row.position + 1):
                self._seen.append(0 if shard is None or shard.holds(place, 0) else 1)
            if not self._seen[row.position]:
                self._seen[row.position] = 1
                self._beyond[row.position] = row
                fresh.append(row)
        self._count(fresh)
        ready = []
        while self._front < len(self._seen) and self._seen[self._front]:
            if self._front in self._beyond:  # else the place is none of this part's
                ready.append(self._beyond.pop(self._front))
            self._front += 1
        self._score(run, ready)

    def _count(self, rows: Sequence[SettledRow]) -> None:
        self.outcomes.update(row.outcome.value for row in rows)
        self.tasks.update(row.task for row in rows)
        self.latest = nlargest(LATEST, [*self.latest, *rows], key=lambda row: (row.at, row.position))

    def _score(self, run: Run, rows: Sequence[SettledRow]) -> None:
        assert self.narrowing is not None
        by_content = kind_of(run.cell.source).by_content
        self.narrowing.add(mark(row, None, by_content=by_content) for row in rows)

    def _told(self, store: Store, run: Run) -> SoFar:
        narrowing = self.narrowing
        assert narrowing is not None
        counts = {each.value: self.outcomes[each.value] for each in Outcome if self.outcomes[each.value]}
        return SoFar(
            outcomes=counts,
            to_come=max(0, run.planned - self.outcomes.total()),
            tasks=self._tasks(run),
            latest=self._latest(store),
            points=narrowing.points(),
            now=narrowing.now(),
            name=narrowing.of.name,
            why_not=narrowing.of.why_not,
            graded=any(spec.official for spec in narrowing.shape.tasks.values()),
        )

    def _tasks(self, run: Run) -> list[TaskSoFar]:
        assert self.narrowing is not None
        known, shares = run.manifest.facts.tasks, self.narrowing.by_task()
        every = [key for key, spec in known.items() if spec.asked] or list(self.tasks)
        return [
            TaskSoFar(
                key,
                known[key].title if key in known else key,
                self.tasks[key],
                (known[key].asked or 0) * run.cell.repeats or None if key in known else None,
                shares.get(key),
            )
            for key in every
        ]

    def _latest(self, store: Store) -> list[LatestReply]:
        asked = [self._question(store, row) for row in self.latest]
        return [LatestReply(row, said) for row, said in zip(self.latest, first_words(asked), strict=True)]

    def _question(self, store: Store, row: SettledRow) -> str:
        if row.item_hash not in self.questions:
            if len(self.questions) > 8 * LATEST:
                self.questions.clear()
            try:
                self.questions[row.item_hash] = _asked(store.item(row.item_hash))
            except NotFound:
                return ""
        return self.questions[row.item_hash]


_COUNTS: OrderedDict[tuple[str, str], RunCount] = OrderedDict()
_LOCK = threading.Lock()


def following(context: Context, run: Run) -> SoFar:
    """What a run at work shows by now; a look at its figures, which is kept. Raises: NotFound."""
    looked(context, [run])
    key = (str(context.store.url), run.id)
    with _LOCK:
        count = _COUNTS.setdefault(key, RunCount())
        _COUNTS.move_to_end(key)
        while len(_COUNTS) > MOST_FOLLOWED:
            _COUNTS.popitem(last=False)
    return count.look(context.store, run)


def _asked(item: Item) -> str:
    """The beginning of what a user asked last."""
    said = [message.content for message in item.ask.messages if message.role == "user"]
    return said[-1][:QUESTION_CHARACTERS] if said else ""
