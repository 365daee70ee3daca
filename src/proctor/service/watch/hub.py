"""One look at what changes, whoever watches it: watchers of the same thing share its looks and hear of it together.

For the event loop of one process. A thing is looked at only while somebody watches it, and the more seldom the more
of the processor a look takes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from proctor.errors import ProctorError, StoreError

LOOK_EVERY_S = 0.5
CALM_EVERY_S = 2.0  # while a look says that nothing is at work
SHARE = 0.04  # of one processor that the looks at one thing may take
LONGEST_S = 10.0  # between two looks, however dear they are
LINGER_S = 2.0  # after its last watcher left: a browser that goes to the next page is often back


@dataclass(frozen=True, slots=True)
class Seen:
    """What one look saw.

    `marks`: the names of events, each with something that is another as soon as that event is to be told. After
    `ended` there is nothing more to see. Of a thing that is dear to show, `changed` is told once in `apart_s` seconds
    at most. `calm`: nothing is at work, and it is looked at less often. `value` is for whoever shows it.
    """

    marks: Mapping[str, object]
    ended: bool = False
    apart_s: float = 0.0
    calm: bool = False
    value: Any = None

    def news(self, told: Seen) -> tuple[str, ...]:
        """The events that this look has beyond an earlier one."""
        return tuple(name for name, mark in self.marks.items() if told.marks.get(name) != mark)


Look = Callable[[], Seen]


@dataclass(eq=False, slots=True)
class Watched:
    """One thing that is watched: its last look, and the task that looks."""

    look: Look
    watchers: int = 0
    looks: int = 0
    seen: Seen | None = None
    alone_since: float = field(default_factory=time.monotonic)
    told_at: float = 0.0
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        """Nobody looks any more: it has ended, is gone, or the server ends."""
        return self.task is None or self.task.done()

    @property
    def failure(self) -> BaseException | None:
        """What the look raised that nobody looks after."""
        if self.task is None or not self.task.done() or self.task.cancelled():
            return None
        return self.task.exception()

    async def work(self) -> None:
        """Look until it has ended, a look fails, or nobody has watched for a while."""
        try:
            while True:
                pause_s = await self._look()
                if (self.seen is not None and self.seen.ended) or await self._left(pause_s):
                    return
        finally:
            self._tell()

    async def _look(self) -> float:
        """One look; the seconds until the next one. Raises what the look raises the first time, and NotFound."""
        self.looks += 1
        try:
            seen, cost_s = await asyncio.to_thread(_timed, self.look)
        except StoreError:
            if self.seen is None:
                raise
            return CALM_EVERY_S  # a database that was busy or away is asked again, and no watcher need know
        self._keep(seen)
        usual_s = CALM_EVERY_S if seen.calm else LOOK_EVERY_S
        return max(usual_s, min(LONGEST_S, cost_s / SHARE))

    def _keep(self, seen: Seen) -> None:
        """Let the watchers know what is new. What came too soon is told after a later look."""
        now = time.monotonic()
        news = () if self.seen is None else seen.news(self.seen)
        too_soon = news == ("changed",) and not seen.ended and now - self.told_at < seen.apart_s
        if self.seen is None or seen.ended or (news and not too_soon):
            self.seen, self.told_at = seen, now
            self._tell()

    def _tell(self) -> None:
        self.moved.set()
        self.moved = asyncio.Event()

    async def _left(self, pause_s: float) -> bool:
        """Wait until the next look is due; True as soon as nobody has watched for a while."""
        due = time.monotonic() + pause_s
        while (now := time.monotonic()) < due or not self.watchers:
            if not self.watchers and now - self.alone_since > LINGER_S:
                return True
            await asyncio.sleep(min(max(due - now, 0.05), LINGER_S / 2))
        return False


def _timed(look: Look) -> tuple[Seen, float]:
    """What it saw, and the seconds of the processor that this thread spent on it."""
    began = time.thread_time()
    return look(), time.thread_time() - began


class WatchHub:
    """Everything that is watched in this process, by name. A name must hold the reach of who watches."""

    def __init__(self) -> None:
        self._watched: dict[Hashable, Watched] = {}

    def __len__(self) -> int:
        """How many things are looked at."""
        return len(self._watched)

    @property
    def watchers(self) -> int:
        return sum(each.watchers for each in self._watched.values())

    @property
    def looks(self) -> int:
        """How often what is watched now was looked at."""
        return sum(each.looks for each in self._watched.values())

    async def first(self, name: Hashable, look: Look) -> Seen:
        """What the thing looks like now. Raises what the look raises."""
        with self._joined(name, look) as watched:
            while watched.seen is None and not watched.done:
                await watched.moved.wait()
        if watched.seen is None:
            raise watched.failure or RuntimeError("the server ends")
        return watched.seen

    async def watch(self, name: Hashable, look: Look, *, beat_s: float) -> AsyncIterator[Seen | None]:
        """What is seen first, then each look with something new; None after `beat_s` seconds without.

        It ends after a look that `ended`, and where what is watched is gone. Raises what the first look raises.
        """
        seen = await self.first(name, look)
        with self._joined(name, look) as watched:
            yield seen
            while not seen.ended:
                if watched.seen is not None and watched.seen is not seen:
                    seen = watched.seen
                    yield seen
                elif watched.done:
                    _raised(watched.failure)
                    return
                elif not await _within(watched.moved, beat_s):
                    yield None

    @contextmanager
    def _joined(self, name: Hashable, look: Look) -> Iterator[Watched]:
        watched = self._watched.get(name)
        if watched is None or watched.done:
            watched = self._watched[name] = Watched(look)
            watched.task = asyncio.create_task(watched.work())
            watched.task.add_done_callback(lambda _: self._forget(name, watched))
        watched.watchers += 1
        try:
            yield watched
        finally:
            watched.watchers -= 1
            watched.alone_since = time.monotonic()

    def _forget(self, name: Hashable, watched: Watched) -> None:
        if self._watched.get(name) is watched:
            del self._watched[name]

    async def close(self) -> None:
        """End all looks, as when the server ends."""
        tasks = [each.task for each in self._watched.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _raised(failure: BaseException | None) -> None:
    """Raise what is a defect; a run that is gone is none."""
    if failure is not None and not isinstance(failure, ProctorError):
        raise failure


async def _within(moved: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await moved.wait()
    except TimeoutError:
        return False
    return True
