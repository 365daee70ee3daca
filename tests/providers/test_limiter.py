"""The limiter against queues of known capacity, on a clock that the test moves."""

from __future__ import annotations

import asyncio
import heapq

import pytest

from proctor.providers.contract import Pacing
from proctor.providers.limiter import Limiter


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Server:
    """A closed loop against a server with `slots` places and an unbounded queue."""

    def __init__(self, limiter: Limiter, clock: Clock, *, slots: int, service_s: float) -> None:
        self.limiter, self.clock, self.service_s = limiter, clock, service_s
        self.free = [clock.now] * slots  # when each slot is next free
        self.ends: list[float] = []  # when each request under way will be answered

    def complete(self, completions: int) -> float:
        """Run on for so many completions; returns completions a second."""
        began = self.clock.now
        for _ in range(completions):
            while self.limiter.in_flight < self.limiter.limit:
                self.limiter.in_flight += 1
                end = max(self.clock.now, heapq.heappop(self.free)) + self.service_s
                heapq.heappush(self.free, end)
                heapq.heappush(self.ends, end)
            self.clock.now = heapq.heappop(self.ends)
            self.limiter.completed(self.service_s)
            self.limiter.release()
        return completions / (self.clock.now - began)


@pytest.mark.parametrize(("start", "slots"), [(1, 1), (1, 4), (8, 3), (8, 16), (8, 100)])
def test_it_finds_the_capacity_of_a_server_that_never_refuses(start, slots):
    """Ollama and vLLM queue in silence: growth must stop where throughput does."""
    clock = Clock()
    limiter = Limiter(Pacing(start, 256), clock)
    server = Server(limiter, clock, slots=slots, service_s=0.5)
    server.complete(100 * slots + 200)
    assert server.complete(100 * slots) >= 0.97 * slots / 0.5
    assert limiter.limit <= 2.6 * max(start, slots), "a queue at the server only makes replies slower"


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
        limiter.completed()
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
