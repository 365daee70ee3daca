"""What of a run a process asks: all that is missing, or that of shards which it takes, one after the other.

A shard is a stretch of the run's order, and the lowest free one is taken first: what several processes have
settled at any moment is a beginning of the run, but for the shards under way. The next shard is taken when
the last item of one has been drawn, so that no process waits for the slow end of a shard.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice

from proctor.engine.abreast import Asking
from proctor.errors import Conflict
from proctor.protocols import Source
from proctor.service.context import is_gone
from proctor.service.kinds import kind_of
from proctor.store import Store
from proctor.store.queue import shards
from proctor.store.read.tried import SETTLED, Tried, tried
from proctor.types import Attempt, Cell, Item, Run

MOST_SHARDS = 64
A_WORKER = 8  # shards for each of few workers, so that none waits long for the last of another
# What must be left of a run for it to be divided, and what is in a shard at least, by what its source holds. Another
# process opens the rows in a second or more.
WORTH = {
    **dict.fromkeys(("questions", "requests", "verdicts"), (1000, 100)),
    "tasks": (2, 1),
}


def shards_for(left: int, workers: int, worth: tuple[int, int]) -> int:
    """Into how many shards what is left of a run is divided; 0: it is not worth it.

    >>> [shards_for(left, 2, (1000, 100)) for left in (999, 1_200, 100_000)], shards_for(10**6, 1, (1000, 100))
    ([0, 12, 64], 0)
    """
    enough, least = worth
    if workers < 2 or left < enough:
        return 0
    return min(left // least, max(MOST_SHARDS, A_WORKER * workers))


@dataclass(slots=True)
class _Held:
    """A shard at work here: askings under way, and how many attempts must be safe before it is done."""

    under_way: int = 0
    drawn: bool = False
    due: int | None = None


@dataclass(eq=False, slots=True)
class Portion:
    """The askings of one process. `of` is the run's number of shards, 0 while it is not divided."""

    store: Store
    run: Run
    cell: Cell
    source: Source
    _: KW_ONLY
    owner: str
    lease_s: float
    whole: Callable[[], Iterator[Asking]]  # what is missing of the run, while it is not divided
    helps: bool = False
    of: int = 0
    leave: bool = False  # draw no more: the run is to be divided
    _held: dict[int, _Held] = field(default_factory=dict)
    _before: Tried = field(
        default_factory=Tried
    )  # when this process began; rows may have been in another order
    _walk: Iterator[Item] = field(default_factory=lambda: iter(()))
    _position: int = -1  # of the item that the walk gives next; -1 where it has not begun

    @property
    def divided(self) -> bool:
        return self.of > 0

    def begin(self, workers: int) -> None:
        """Find the run as it stands; its owner divides it, if that is worth it. Raises Conflict."""
        standing = shards.standing(self.store, self.run.id, now=time.time())
        if self.helps:
            if standing is None:
                raise Conflict(f"Run {self.run.id} is not divided: there is nothing to help with")
            self.of = standing.of
            self._before = tried(self.store, self.run.id)
            return
        wanted = self.wanted(workers)
        if wanted or standing:  # a helper of an earlier owner may be at work on one
            owners = standing.owners if standing else ()
            self.divide(max(wanted, 1), [owner for owner in owners if is_gone(owner)])

    def wanted(self, workers: int) -> int:
        """How many shards the rest of the run is worth."""
        if workers < 2:
            return 0
        left = self.run.planned - self.store.run(self.run.id).settled
        return shards_for(left, workers, WORTH[kind_of(self.cell.source).holds])

    def divide(self, of: int, dead: list[str] | None = None) -> None:
        """Nothing may be under way. Raises Conflict if the run is no longer its owner's."""
        self.of = shards.divide(
            self.store, self.run.id, owner=self.owner, of=of, now=time.time(), dead=dead or ()
        )
        self._before = tried(self.store, self.run.id)
        self.leave = False

    def askings(self) -> Iterator[Asking]:
        """What there is to ask here just now, in the run's order."""
        if self.divided:
            yield from self._of_shards()
            return
        for asking in self.whole():
            yield asking
            if self.leave:
                return

    def _of_shards(self) -> Iterator[Asking]:
        while (index := self._take()) is not None:
            held = self._held[index] = _Held()
            for asking in self._missing_of(index):
                held.under_way += 1
                yield asking
            held.drawn = True

    def _take(self) -> int | None:
        return shards.take(self.store, self.run.id, owner=self.owner, now=time.time(), lease_s=self.lease_s)

    def _missing_of(self, index: int) -> Iterator[Asking]:
        stretch = list(self._stretch(index))
        known, before = tried(self.store, self.run.id, stretch), self._before
        repeats, shard = kind_of(self.cell.source).repeats, self.cell.limits.shard
        for repeat, first, end in stretch:
            for position, item in self._items(first, end):
                if shard is not None and not shard.holds(position, repeat):
                    continue
                if repeat >= repeats(self.source, item, self.cell):
                    continue
                attempt = known.look(item.id, repeat) or before.look(item.id, repeat)
                if attempt != SETTLED:
                    yield Asking(item, position, repeat, attempt)

    def _stretch(self, index: int) -> Iterator[tuple[int, int, int]]:
        """The places of a shard as repeats with a first position and the one after the last."""
        items = len(self.source)
        first, end = (items * self.cell.repeats * place // self.of for place in (index, index + 1))
        for repeat in range(self.cell.repeats):
            begin, stop = max(first - repeat * items, 0), min(end - repeat * items, items)
            if begin < stop:
                yield repeat, begin, stop

    def _items(self, first: int, end: int) -> Iterator[tuple[int, Item]]:
        """Shards are mostly taken in order, so that one walk through the items serves for many."""
        if not 0 <= self._position <= first:
            self._walk, self._position = self.source.items(), 0
        skipped = first - self._position
        next(islice(self._walk, skipped, skipped), None)
        self._position = first
        for item in islice(self._walk, end - first):
            self._position += 1
            yield self._position - 1, item

    def shard_of(self, attempt: Attempt) -> int:
        """Of which shard an attempt is."""
        items = len(self.source)
        place = attempt.repeat * items + attempt.position
        # The inverse of the bounds of `_stretch`, which are rounded down.
        return ((place + 1) * self.of - 1) // (items * self.cell.repeats)

    def ended(self, attempt: Attempt) -> None:
        if self.divided:
            self._held[self.shard_of(attempt)].under_way -= 1

    def settle(self, kept: int, committed: int) -> None:
        """Say of the shards whose last attempt is safe that they are done; `kept` attempts were handed over."""
        for index, held in list(self._held.items()):
            if held.drawn and not held.under_way and held.due is None:
                held.due = kept
            if held.due is not None and committed >= held.due:
                shards.finish(self.store, self.run.id, index, owner=self.owner, now=time.time())
                del self._held[index]

    def put_back(self) -> None:
        """What is not done waits for others."""
        if self._held:
            shards.put_back(self.store, owner=self.owner)
            self._held.clear()
