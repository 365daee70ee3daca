"""The loop: ask every item, bounded by the limiter, and yield attempts as they end. It knows no store."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from proctor.engine.abreast import Asking, Lane
from proctor.engine.outage import Outage
from proctor.engine.paced import paced
from proctor.engine.retry import Retry
from proctor.errors import AttemptError, ErrorBudget, ProctorError, attempt_errors
from proctor.grading.worth import not_graded
from proctor.protocols import GradeReply, Solver
from proctor.providers.pacing.limiter import Limiter
from proctor.types import NOTHING_USED, Attempt, Failure, Grade, Outcome, Reply, Usage

LOG = logging.getLogger(__name__)
SLOW_S = 30.0  # a request that takes longer is told in the log
STAND_INS = 8  # workers for each request that may be under way, while most of them wait to ask again
UNMEASURED = Grade(Outcome.ERROR, None)
OF_ITEMS = frozenset(kind.slug for kind in attempt_errors() if kind.of_item)


@dataclass(frozen=True, slots=True)
class ErrorBudgets:
    """A run stops when its first `at_start` items all fail, or `in_a_row` do later.

    `of_items` False: refusals of what single items hold are no failures of this kind. Where items are alike they show
    that the asking is wrong; where users wrote each of them, they say nothing of the next one.
    """

    at_start: int = 20
    in_a_row: int = 50
    of_items: bool = True


@dataclass(frozen=True, slots=True)
class Terms:
    """How a run asks. `limiter` None: the solver needs no server. `drawing` False stops drawing items.

    With a `lane` the run is asked side by side with others, which wait for each other.
    """

    limiter: Limiter | None
    parallel: int
    retry: Retry = Retry()
    errors: ErrorBudgets = ErrorBudgets()
    drawing: Callable[[], bool] = lambda: True
    wait_for_server_s: float = 0.0
    clock: Callable[[], float] = time.time
    lane: Lane | None = None


@dataclass(frozen=True, slots=True)
class Waiting:
    """An item that waits to be asked again: why, in the server's words, and until when (monotonic)."""

    slug: str
    said: str
    until: float


@dataclass(slots=True)
class Traffic:
    """What is under way right now, for whoever shows it; items by (position, repeat)."""

    in_flight: dict[tuple[int, int], float] = field(default_factory=dict)  # -> start, monotonic
    retries: int = 0
    waiting: dict[tuple[int, int], Waiting] = field(default_factory=dict)
    outage: Outage | None = None


async def attempts(
    asked: Iterator[Asking],
    solve: Solver,
    grade: GradeReply,
    terms: Terms,
    traffic: Traffic | None = None,
) -> AsyncIterator[Attempt]:
    """Yield one Attempt per asking, in the order in which they end.

    Items are drawn as places come free, so a source need not fit in memory. A reply is graded when its place has
    been given back, so that a grader that takes its time keeps no request waiting. Close the generator to
    cancel: what is under way is stopped, what was yielded is the caller's to keep.

    Raises: AuthError and its like, which no other item can escape; ErrorBudget. Attempts that had
    ended by then are yielded first.
    """
    pool = _Pool(asked, solve, grade, terms, traffic or Traffic())
    workers = pool.workers
    for _ in range(terms.parallel):
        pool.start_worker()
    try:
        while True:
            pool.ended.clear()
            while pool.done:
                yield pool.done.popleft()
            pool.room.set()
            if not pool.done and _finished(workers):
                return
            await pool.ended.wait()
    finally:
        for worker in workers:
            worker.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*workers, return_exceptions=True)


def _finished(workers: list[asyncio.Task[None]]) -> bool:
    """True when all workers are done; raises what one of them raised."""
    for worker in workers:
        if worker.done():
            worker.result()
    return all(worker.done() for worker in workers)


@dataclass(slots=True)
class _Tried:
    """What the requests of one attempt have come to so far."""

    company: int  # requests under way when the last one began, itself counted
    retries: int = 0
    in_flight: float | None = None
    unused: Usage = NOTHING_USED


class _Pool:
    """What the workers of one run share."""

    def __init__(
        self,
        asked: Iterator[Asking],
        solve: Solver,
        grade: GradeReply,
        terms: Terms,
        traffic: Traffic,
    ) -> None:
        self.done: deque[Attempt] = deque()
        self.ended = asyncio.Event()
        self.room = asyncio.Event()
        self._asked = asked
        self._solve = solve
        self._grade = grade
        self._terms = terms
        self._traffic = traffic
        self._most_waiting = 4 * terms.parallel + 256
        self._settled = 0
        self._failed_in_a_row = 0
        self._asleep = 0
        self._outage = traffic.outage = Outage(terms.wait_for_server_s, terms.drawing)
        self._most_workers = STAND_INS * terms.parallel
        self.workers: list[asyncio.Task[None]] = []
        if terms.lane is not None:
            terms.lane.begin(asked)

    def start_worker(self) -> None:
        worker = asyncio.create_task(self.work())
        worker.add_done_callback(lambda _: self.ended.set())
        self.workers.append(worker)

    async def work(self) -> None:
        limiter, lane = self._terms.limiter, self._terms.lane
        while True:
            if len(self.done) > self._most_waiting:
                # The writer is slower than the model: without this the results would pile up in memory.
                self.room.clear()
                await self.room.wait()
            asking = None if lane is None else await lane.draw()
            if lane is not None and asking is None:
                return
            company = 0 if limiter is None else await limiter.acquire()
            while limiter is not None and self._outage.away is not None:
                limiter.release()
                await self._outage.over()
                company = await limiter.acquire()
            if not self._terms.drawing():
                asking = None
            elif lane is None:
                asking = next(self._asked, None)
            if asking is None:
                if limiter is not None:
                    limiter.release()
                return
            await self._settle(asking, _Tried(company))
            if limiter is None:
                await asyncio.sleep(0)  # a solver without a server never waits, and others must have a turn

    async def _settle(self, asking: Asking, tried: _Tried) -> None:
        under_way = self._traffic.in_flight
        key = (asking.position, asking.repeat)
        under_way[key] = time.monotonic()
        try:
            attempt = await self._attempt(asking, tried)
        finally:
            under_way.pop(key, None)
        self.done.append(attempt)
        self.ended.set()
        if self._terms.lane is not None:
            self._terms.lane.ended(asking, failed=attempt.grade.outcome is Outcome.ERROR)
        self._count(attempt)

    async def _attempt(self, asking: Asking, tried: _Tried) -> Attempt:
        """Border: one attempt. Foreseen trouble becomes a Failure; a bug ends the run. Holds a place when called."""
        while True:
            try:
                reply = await self._ask(asking, tried)
            except AttemptError as error:
                if error.stops_run:
                    raise
                tried.unused += error.usage or NOTHING_USED
                failure = await self._pause(asking, tried, error)
                if failure is not None:
                    return self._ended(asking, tried, UNMEASURED, failure=failure)
                if self._terms.limiter is not None:
                    tried.company = await self._terms.limiter.acquire(again=True)
            else:
                grade = await self._graded(asking, reply)
                return self._ended(asking, tried, grade, reply=reply)

    async def _graded(self, asking: Asking, reply: Reply) -> Grade:
        """Border: one grade. A reply is kept whatever becomes of its grading; without a grade it measures nothing."""
        try:
            grade = self._grade(asking.item, reply)
            # Most graders compare texts: waiting for nothing would cost as much as they do.
            return grade if isinstance(grade, Grade) else await self._waited(asking, grade)
        except ProctorError as error:
            LOG.info("%s: not graded: %s", asking.item.id, error)
            return not_graded(error)

    async def _waited(self, asking: Asking, grade: Awaitable[Grade]) -> Grade:
        """A grade that takes its time: nothing of this item is at the model's server, and another worker asks on."""
        self._traffic.in_flight.pop((asking.position, asking.repeat), None)
        self._asleep += 1
        self._stand_in()
        try:
            return await grade
        finally:
            self._asleep -= 1

    async def _pause(self, asking: Asking, tried: _Tried, error: AttemptError) -> Failure | None:
        """Wait until the item may be asked again; a Failure if it may not. Holds no place."""
        failure = Failure(error.slug, str(error), error.retryable, error.status, error.raw)
        outage = self._outage
        if not outage.takes(error):
            wait_s = self._terms.retry.wait_s(tried.retries + 1, error)
            if wait_s is None:
                LOG.info("%s: given up after %d retries: %s", asking.item.id, tried.retries, error)
                return failure
            tried.retries += 1
            self._traffic.retries += 1
            LOG.info(
                "%s: %s: %s; retry %d in %.1f s", asking.item.id, error.slug, error, tried.retries, wait_s
            )
            self._stand_in()
            await self._sleep(asking, Waiting(error.slug, str(error), time.monotonic() + wait_s), wait_s)
            if outage.away is None:
                return None
        return None if await outage.turn() else replace(failure, message=f"{failure.message}{outage.told}")

    def _stand_in(self) -> None:
        """Let another worker use the time that one waits, or refusals with long delays leave the server idle."""
        awake = len(self.workers) - self._asleep
        if awake <= self._terms.parallel < len(self.workers) + 1 <= self._most_workers:
            self.start_worker()

    async def _sleep(self, asking: Asking, why: Waiting, seconds: float) -> None:
        key = (asking.position, asking.repeat)
        self._traffic.waiting[key] = why
        self._asleep += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._asleep -= 1
            del self._traffic.waiting[key]

    async def _ask(self, asking: Asking, tried: _Tried) -> Reply:
        """One request, in its place where there is a server."""
        limiter = self._terms.limiter
        if limiter is None:
            return await self._solve(asking.item, asking.repeat)
        send = partial(self._solve, asking.item, asking.repeat)
        reply, tried.in_flight = await paced(send, limiter, tried.company, self._outage)
        _say_answered(asking, reply)
        return reply

    def _ended(
        self,
        asking: Asking,
        tried: _Tried,
        grade: Grade,
        *,
        reply: Reply | None = None,
        failure: Failure | None = None,
    ) -> Attempt:
        return Attempt(
            item=asking.item,
            position=asking.position,
            repeat=asking.repeat,
            attempt=asking.attempt,
            at=self._terms.clock(),
            grade=grade,
            reply=reply,
            failure=failure,
            retries=tried.retries,
            in_flight=tried.in_flight,
            unused=tried.unused + (reply.unused if reply else NOTHING_USED),
        )

    def _count(self, attempt: Attempt) -> None:
        budgets = self._terms.errors
        if attempt.failure is not None and attempt.failure.slug in OF_ITEMS and not budgets.of_items:
            return
        self._settled += 1
        if attempt.failure is None:
            self._failed_in_a_row = 0
            return
        self._failed_in_a_row += 1
        all_so_far = self._failed_in_a_row == self._settled
        if self._outage.lost:
            why = "The server does not come back"
        elif self._failed_in_a_row >= (budgets.at_start if all_so_far else budgets.in_a_row):
            why = f"{'The first' if all_so_far else 'The last'} {self._failed_in_a_row} items all failed"
        else:
            return
        raise ErrorBudget(f"{why}, so the run stopped. The last failure: {attempt.failure.message}")


def _say_answered(asking: Asking, reply: Reply) -> None:
    """Every request at level debug, and a slow one at info. What was said is nobody's business here."""
    slow = reply.latency_s is not None and reply.latency_s >= SLOW_S
    level = logging.INFO if slow else logging.DEBUG
    if LOG.isEnabledFor(level):
        told = "slow request" if slow else "request"
        seconds, tokens = reply.latency_s or 0.0, reply.output_tokens
        LOG.log(
            level, "%s: %s, %.1f s, %s tokens out, %s", asking.item.id, told, seconds, tokens, reply.finish
        )
