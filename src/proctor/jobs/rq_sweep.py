"""The sweeper: keeps in Redis a notice of every run that somebody should look at, and no other.

It is the only one that puts notices there, reads everything anew each time, and may run anywhere and as often as
one likes: one at a time sweeps, five times a second. What Redis loses it puts back.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from proctor.errors import StoreError
from proctor.jobs.rq_notices import HELP, Notices, RunNotice
from proctor.settings.redis_link import connect, place, why
from proctor.store import Store
from proctor.store.queue.due import Due, due, failed_among

if TYPE_CHECKING:
    from redis import Redis

LOCK = "proctor:sweeper"
TIDIED = "proctor:tidied"
LONGEST_SWEEP_MS = 10_000
EVERY_MS = 200
TIDY_EVERY_S = 2
REST_S = 1.0  # so long after a look that came to nothing the next one waits
REST_FAILED_S = 5.0  # the same after one that broke
UNSEEN_S = 2.0  # between leaving its queue and being said to be at work a notice is nowhere
REST_HELPER_S = 60.0  # after a helper that failed, which may well fail again
HELPERS = "low"  # the queue of those who help: runs that wait come first


@dataclass(slots=True)
class Sweeper:
    """`silent_s`: so long after RQ last heard of it, a notice at work counts as lost."""

    store: Store
    redis: Redis
    silent_s: float
    _unseen: dict[str, float] = field(default_factory=dict)

    def sweep(self, now: float) -> bool:
        """False if another sweeps, or has just done so. Raises RedisError, StoreError."""
        if not self.redis.set(LOCK, b"", nx=True, px=LONGEST_SWEEP_MS):
            return False
        try:
            self._sweep(Notices(self.redis), now)
        finally:
            self.redis.pexpire(LOCK, EVERY_MS)
        return True

    def _sweep(self, notices: Notices, now: float) -> None:
        found = due(self.store, now=now)
        helpers = notices.workers() - 1 if any(each.free for each in found) else 0
        wanted = {notice.id: notice for each in found for notice in _notices(each, helpers)}
        queued = notices.queued()
        for notice_id in queued - wanted.keys():
            notices.drop(notice_id)
        missing = [notice for notice in wanted.values() if notice.id not in queued]
        if missing:
            self._put(notices, missing, now)
        if self.redis.set(TIDIED, b"", nx=True, ex=TIDY_EVERY_S):
            self._tidy(notices)

    def _put(self, notices: Notices, missing: list[RunNotice], now: float) -> None:
        traces = notices.traces(notice.id for notice in missing)
        unseen, self._unseen = self._unseen, {}
        for notice in missing:
            trace = traces.get(notice.id)
            if trace is not None and trace.status == "started" and now - trace.heard < self.silent_s:
                continue
            failed = trace is not None and trace.status == "failed"
            rest_s = REST_S if not failed else REST_FAILED_S if notice.run_id == notice.id else REST_HELPER_S
            if trace is not None and now - trace.ended < rest_s:
                continue
            if trace is not None and trace.status == "queued":
                first = self._unseen[notice.id] = unseen.get(notice.id, now)
                if now - first < UNSEEN_S:
                    continue
            notices.put(notice)

    def _tidy(self, notices: Notices) -> None:
        """RQ calls failed what a killed worker had, too; only runs that failed for good are to be seen as such."""
        failed = notices.failed()
        if failed:
            for notice_id in failed - failed_among(self.store, failed):
                notices.drop(notice_id)


def _notices(each: Due, helpers: int) -> list[RunNotice]:
    if not each.free:
        return [RunNotice(each.run_id, each.priority)]
    return [RunNotice(f"{each.run_id}{HELP}{k + 1}", HELPERS) for k in range(min(each.free, helpers))]


@dataclass(slots=True)
class Link:
    """A thread that sweeps while Redis answers, and knows whether it does. `also` is done with each look at it.

    The database is the truth: while Redis is away, nothing is lost and nothing waits for it.
    """

    store: Store
    url: str
    silent_s: float
    log: Callable[[str], None]
    also: Callable[[bool], None] = lambda _there: None
    there: bool | None = None  # None: not known yet
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None
    _complained: bool = False

    def start(self) -> None:
        """Raises ConfigError without the libraries, or for an address that cannot be meant."""
        sweeper = Sweeper(self.store, connect(self.url), self.silent_s)
        self._thread = threading.Thread(target=self._watch, args=(sweeper,), name="sweeper", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self, sweeper: Sweeper) -> None:
        with sweeper.redis:
            while not self._over.wait(EVERY_MS / 2000):
                self._look(sweeper)
                self.also(bool(self.there))

    def _look(self, sweeper: Sweeper) -> None:
        from redis.exceptions import RedisError

        was = self.there
        try:
            sweeper.sweep(time.time())
            self.there = True
            self._complained = False
        except (RedisError, OSError) as error:
            self.there = False
            if was is not False:
                self.log(
                    f"Redis at {place(self.url)} is away ({why(error)}): runs are taken from the database alone"
                )
        except StoreError as error:
            if not self._complained:
                self.log(f"database: {error}")
            self._complained = True
        if was is False and self.there:
            self.log(f"Redis at {place(self.url)} is back")
