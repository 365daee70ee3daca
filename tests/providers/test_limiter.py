"""The limiter against queues of known capacity, on a clock that the test moves."""

from __future__ import annotations

import asyncio
import heapq
import random
import statistics

import pytest

from proctor.providers.contract import Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.protocols.dialects import ELSEWHERE


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Server:
    """A closed loop against a server with `slots` places and an unbounded queue.

    `slowing`: by which share of its own time a request is slowed down by each that is served beside it.
    """

    def __init__(
        self,
        limiter: Limiter,
        clock: Clock,
        *,
        slots: int,
        service_s: float,
        sigma: float = 0.0,
        slowing: float = 0.0,
        seed: int = 1,
    ) -> None:
        self.limiter, self.clock, self.service_s = limiter, clock, service_s
        self.sigma, self.slowing, self.random = sigma, slowing, random.Random(seed)
        self.free = [clock.now] * slots  # when each slot is next free
        self.under_way: list[tuple[float, float, int]] = []  # when it ends and began, in whose company
        self.took: list[float] = []

    def resize(self, slots: int) -> None:
        self.free = (sorted(self.free, reverse=True) + [self.clock.now] * slots)[:slots]
        heapq.heapify(self.free)

    def _begin(self) -> None:
        self.limiter.in_flight += 1
        beside = min(len(self.free), self.limiter.in_flight) - 1
        work = self.random.lognormvariate(-(self.sigma**2) / 2, self.sigma) * (1.0 + self.slowing * beside)
        end = max(self.clock.now, heapq.heappop(self.free)) + self.service_s * work
        heapq.heappush(self.free, end)
        heapq.heappush(self.under_way, (end, self.clock.now, self.limiter.in_flight))

    def complete(self, completions: int) -> float:
        """Run on for so many completions; returns completions a second."""
        started = self.clock.now
        for _ in range(completions):
            while self.limiter.in_flight < self.limiter.limit:
                self._begin()
            self.clock.now, began, company = heapq.heappop(self.under_way)
            self.took.append(self.clock.now - began)
            self.limiter.completed(self.took[-1], company)
            self.limiter.release()
        return completions / (self.clock.now - started)


@pytest.mark.parametrize(("start", "slots"), [(1, 1), (1, 4), (8, 3), (8, 16), (8, 100)])
def test_it_finds_the_capacity_of_a_server_that_never_refuses(start, slots):
    """Ollama and vLLM queue in silence: growth must stop where throughput does."""
    clock = Clock()
    limiter = Limiter(Pacing(start, 256), clock)
    server = Server(limiter, clock, slots=slots, service_s=0.5)
    server.complete(100 * slots + 200)
    assert server.complete(100 * slots) >= 0.97 * slots / 0.5
    assert limiter.limit <= 2.6 * max(start, slots), "a queue at the server only makes replies slower"


def test_times_of_requests_say_where_more_at_once_gain_nothing():
    """Growth must stop where throughput does, also below the start: a queue at the server only makes replies slower."""
    for start, slots in [(1, 1), (1, 4), (2, 4), (2, 16), (8, 3), (16, 4), (8, 16), (8, 64)]:
        clock = Clock()
        limiter = Limiter(Pacing(start, 256), clock)
        server = Server(limiter, clock, slots=slots, service_s=0.5)
        server.complete(100 * slots + 200)
        server.took.clear()
        assert server.complete(100 * slots) >= 0.97 * slots / 0.5, (start, slots)
        assert statistics.fmean(server.took) <= 1.3 * 0.5, (start, slots)


@pytest.mark.parametrize(("slots", "rate"), [(1, 0.98), (4, 0.97), (6, 0.93), (16, 0.93), (64, 0.8)])
def test_replies_of_very_different_length_do_not_mislead_it(slots, rate):
    """The whole run counts, with its start: median of seven servers, none far away."""
    times, rates = [], []
    for seed in range(7):
        clock = Clock()
        limiter = Limiter(Pacing(2, 256), clock)
        server = Server(limiter, clock, slots=slots, service_s=0.5, sigma=0.5, seed=seed)
        rates.append(server.complete(1000 + 40 * slots) / (slots / 0.5))
        times.append(statistics.fmean(server.took) / 0.5)
    assert statistics.median(times) <= 1.3
    assert statistics.median(rates) >= rate, "the way up costs one time of a request for each doubling"


def test_a_short_run_on_a_server_with_four_places_does_not_wait_in_its_own_queue():
    times, rates = [], []
    for seed in range(15):
        clock = Clock()
        server = Server(Limiter(ELSEWHERE, clock), clock, slots=4, service_s=0.5, sigma=0.1, seed=seed)
        rates.append(server.complete(48) / (4 / 0.5))
        times.append(statistics.fmean(server.took) / 0.5)
    assert statistics.median(times) <= 1.45
    assert statistics.median(rates) >= 0.9


def test_a_server_that_slows_each_request_down_and_serves_more_all_the_same_is_used_whole():
    clock = Clock()
    limiter = Limiter(Pacing(2, 256), clock)
    server = Server(limiter, clock, slots=32, service_s=0.5, slowing=0.02)
    server.complete(2000)
    assert server.complete(1000) >= 0.95 * 32 / (0.5 * (1 + 0.02 * 31))
    assert limiter.limit <= 40


def test_a_server_on_which_more_at_once_gain_nothing_is_asked_one_by_one():
    """Two cores that compute four replies at once take four times as long for each."""
    clock = Clock()
    limiter = Limiter(Pacing(4, 256), clock)
    Server(limiter, clock, slots=4, service_s=0.5, slowing=1.0).complete(300)
    assert limiter.limit <= 2


def test_the_limit_follows_a_server_that_loses_places_and_gets_others():
    clock = Clock()
    limiter = Limiter(Pacing(2, 256), clock)
    server = Server(limiter, clock, slots=16, service_s=0.5)
    server.complete(1000)
    assert 16 <= limiter.limit <= 20
    server.resize(4)
    server.complete(1500)
    assert limiter.limit <= 5
    server.resize(16)
    server.complete(3000)
    assert limiter.limit >= 8


def test_a_fixed_number_is_used_from_the_start_and_never_exceeded():
    clock = Clock()
    limiter = Limiter(Pacing(32, 32, fixed=True), clock)
    assert limiter.limit == 32
    Server(limiter, clock, slots=64, service_s=0.1).complete(500)
    assert limiter.limit == 32


def test_one_refusal_among_many_replies_changes_nothing():
    clock = Clock()
    limiter = Limiter(Pacing(100, 100, fixed=True), clock)
    limiter.refused(None)
    Server(limiter, clock, slots=100, service_s=0.1).complete(300)
    assert limiter.limit == 100


def test_a_server_error_stops_growth_but_cuts_nothing():
    clock = Clock()
    limiter = Limiter(Pacing(8, 256), clock)
    limiter.failed()
    server = Server(limiter, clock, slots=256, service_s=0.1)
    server.complete(8)
    assert limiter.limit == 8
    server.complete(8)
    assert limiter.limit == 16


def test_it_does_not_grow_while_its_places_stand_empty():
    clock = Clock()
    limiter = Limiter(Pacing(8, 256), clock)
    for _ in range(100):
        limiter.in_flight = 1
        clock.now += 0.1
        limiter.completed(0.1, 1)
        limiter.release()
    assert limiter.limit == 8


def test_places_are_given_in_order_and_never_more_than_the_limit():
    async def work() -> tuple[int, list[int]]:
        limiter = Limiter(Pacing(3, 3, fixed=True))
        order: list[int] = []
        most = 0

        async def one(number: int) -> None:
            nonlocal most
            await limiter.acquire()
            most = max(most, limiter.in_flight)
            order.append(number)
            await asyncio.sleep(0)
            limiter.release()

        await asyncio.gather(*(one(number) for number in range(20)))
        assert limiter.in_flight == 0
        return most, order

    most, order = asyncio.run(work())
    assert most == 3
    assert order == list(range(20))


def test_a_cancelled_waiter_leaves_no_place_taken():
    async def work() -> None:
        limiter = Limiter(Pacing(1, 1, fixed=True))
        await limiter.acquire()
        waiting = [asyncio.create_task(limiter.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        limiter.release()
        await waiting[1]
        waiting[2].cancel()
        await asyncio.gather(waiting[2], return_exceptions=True)
        assert limiter.in_flight == 1
        limiter.release()
        assert limiter.in_flight == 0

    asyncio.run(work())


def test_a_place_given_at_the_moment_of_cancellation_comes_back():
    async def work() -> None:
        limiter = Limiter(Pacing(1, 1, fixed=True))
        await limiter.acquire()
        waiting = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        limiter.release()  # gives the place to the waiter, which has not run yet
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert limiter.in_flight == 0

    asyncio.run(work())
