"""Models asked side by side: each draws items in a lane of its own, and none gets far ahead of what all have ended.

    Course   what the runs share that are asked side by side
    Lane     the askings of one: it gives the next when it is its turn, and a failed one again

For one event loop.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from proctor.types import Item

LEAST_WINDOW = 32  # items: fewer would leave a server idle that answers many requests at once
WINDOW_SHARE = 1 / 50  # of the items
TRIES = 3  # attempts at an item that ends in errors; then it is given up, and nobody waits for it


def window_of(items: int) -> int:
    """How many items beyond those that all have ended may be drawn.

    >>> window_of(1_200), window_of(14_042)
    (32, 281)
    """
    return max(LEAST_WINDOW, math.ceil(items * WINDOW_SHARE))


@dataclass(frozen=True, slots=True)
class Asking:
    """An item about to be asked: its place in the run, which repeat, and which attempt at that repeat."""

    item: Item
    position: int
    repeat: int = 0
    attempt: int = 0


@dataclass(eq=False, slots=True)
class Course:
    """`items` that are asked in one order; `front` is the first that not all of those at work have ended."""

    items: int
    front: int = 0
    window: int = field(init=False)
    _lanes: list[Lane] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.window = window_of(self.items)

    def lane(self) -> Lane:
        """For one more run, which is waited for from now on."""
        lane = Lane(self)
        self._lanes.append(lane)
        return lane

    def stop(self) -> None:
        """Nobody draws any more; what is under way ends."""
        for lane in self._lanes:
            lane.stop()

    def moved(self) -> None:
        """A lane has come further, or has stopped."""
        front = min((lane.front for lane in self._lanes if not lane.stopped), default=self.items)
        if front > self.front:
            self.front = front
            for lane in self._lanes:
                lane.admit()


@dataclass(eq=False, slots=True)
class Lane:
    """One run's askings in the order of positions. `front` is the first position that it has not ended."""

    course: Course
    front: int = 0
    stopped: bool = False
    _asked: Iterator[Asking] = field(default_factory=lambda: iter(()))
    _next: Asking | None = None
    _again: deque[Asking] = field(default_factory=deque)
    _open: dict[int, int] = field(default_factory=dict)  # position -> its askings under way; ascending
    _waiting: deque[asyncio.Future[Asking | None]] = field(default_factory=deque)

    def begin(self, asked: Iterator[Asking]) -> None:
        """These are what is missing of the run, by position; what is not among them has ended before."""
        self._asked = asked
        self._next = next(asked, None)
        self._advance()

    async def draw(self) -> Asking | None:
        """The next asking, once others have come far enough; None where nothing more is to be asked."""
        if not self._waiting and self._may():
            return self._take()
        turn: asyncio.Future[Asking | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        return await turn

    def ended(self, asking: Asking, *, failed: bool) -> None:
        """What became of an asking that was drawn. One that failed is drawn again, before all others, if it may."""
        if failed and asking.attempt + 1 < TRIES and not self.stopped:
            self._again.append(replace(asking, attempt=asking.attempt + 1))
            self.admit()
            return
        left = self._open[asking.position] - 1
        if left:
            self._open[asking.position] = left
        else:
            del self._open[asking.position]
        self._advance()

    @property
    def waits(self) -> bool:
        """Whether it would ask, and has to wait for others."""
        return bool(self._waiting)

    def stop(self) -> None:
        """Draw no more; the others wait no longer for this one."""
        if not self.stopped:
            self.stopped = True
            self.admit()
            self.course.moved()

    def admit(self) -> None:
        """Those whose turn it is by now go on."""
        while self._waiting and self._may():
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(self._take())

    def _may(self) -> bool:
        if self.stopped or self._again or self._next is None:
            return True
        return self._next.position < self.course.front + self.course.window

    def _take(self) -> Asking | None:
        if self.stopped:
            return None
        if self._again:
            return self._again.popleft()
        asking = self._next
        if asking is not None:
            self._next = next(self._asked, None)
            self._open[asking.position] = self._open.get(asking.position, 0) + 1
        return asking

    def _advance(self) -> None:
        following = self.course.items if self._next is None else self._next.position
        front = min(next(iter(self._open), following), following)
        if front > self.front:
            self.front = front
            self.course.moved()
