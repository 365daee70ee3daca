"""A server that goes away in the middle of a run, in a time of its own: the run waits, looks gently, and goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from storms import OwnTime

from proctor.engine.abreast import Asking
from proctor.engine.attempts import Terms, Traffic, attempts
from proctor.engine.outage import MOST_S, once_ready
from proctor.engine.retry import Retry
from proctor.errors import ErrorBudget, NetworkError, Overloaded, ServerError
from proctor.providers.contract import Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.types import Outcome, Reply
from simulators import questions, read

REFUSED = NetworkError("cannot connect (Connection refused)", away=True)
LOADING = Overloaded("answered 503: Loading model", status=503, away=True)
BAD_GATEWAY = ServerError("answered 502: Bad Gateway", status=502, unreached=True)


@dataclass
class Server:
    """Away from `gone` until `back` (seconds of the loop's own time), where every request fails with `error`."""

    gone: float
    back: float
    error: Exception
    latency_s: float = 0.1
    refused_at: list[float] = field(default_factory=list)
    asked: Counter = field(default_factory=Counter)

    def is_gone(self, now: float) -> bool:
        return self.gone <= now < self.back

    async def __call__(self, item, repeat):
        loop = asyncio.get_running_loop()
        if self.is_gone(loop.time()):
            self.refused_at.append(loop.time())
            raise self.error
        self.asked[item.id] += 1
        await asyncio.sleep(self.latency_s)
        if self.is_gone(loop.time()):
            raise NetworkError("the connection broke (Server disconnected)")
        return Reply(f"Answer: {item.target}")


@dataclass
class Ran:
    attempts: list
    error: Exception | None
    took_s: float
    away: set = field(default_factory=set)

    @property
    def outcomes(self):
        return Counter(a.grade.outcome for a in self.attempts)


def run(server, n, *, parallel=8, wait_s=120.0, for_s=None):
    """All items through the engine; what `Traffic` said of the server at each end is in `away`."""

    async def work():
        loop = asyncio.get_running_loop()
        terms = Terms(
            Limiter(Pacing(parallel, parallel, fixed=True), loop.time),
            parallel,
            Retry(draw=lambda: 0.5),
            drawing=lambda: for_s is None or loop.time() < for_s,
            wait_for_server_s=wait_s,
        )
        asked = (Asking(item, position) for position, item in enumerate(questions(n)))
        traffic, ran = Traffic(), Ran([], None, 0.0)
        try:
            async for attempt in attempts(asked, server, read, terms, traffic):
                ran.attempts.append(attempt)
                ran.away.add(traffic.outage.away and traffic.outage.away.said)
        except ErrorBudget as error:
            ran.error = error
        ran.took_s = loop.time()
        return ran

    with asyncio.Runner(loop_factory=OwnTime) as runner:
        return runner.run(work())


@pytest.mark.parametrize("error", [REFUSED, LOADING, BAD_GATEWAY], ids=["gone", "loading", "gateway"])
def test_a_server_that_is_away_for_100_seconds_costs_no_item(error):
    server = Server(2.0, 102.0, error)
    ran = run(server, 400)
    assert (ran.outcomes, ran.error) == ({Outcome.CORRECT: 400}, None)
    # Those on their way were lost with the server and are asked once more; nobody else is.
    assert sum(server.asked.values()) <= 400 + 8
    # One at a time looks whether it is back, every few seconds.
    late = [at for at in server.refused_at if at > 10.0]
    assert min(b - a for a, b in pairwise(late)) >= MOST_S
    assert ran.took_s < 102.0 + MOST_S + 6.0


def test_items_that_waited_have_not_used_up_their_retries():
    ran = run(Server(2.0, 60.0, REFUSED), 100)
    assert max(a.retries for a in ran.attempts) <= 1  # the connection that broke


def test_a_server_that_does_not_come_back_fails_the_run_with_how_long_it_was_waited_for():
    ran = run(Server(2.0, 1e9, REFUSED), 2000)
    assert "waited for, 120 s (--wait-for-server)" in str(ran.error)
    assert "cannot connect" in str(ran.error)
    assert 120.0 < ran.took_s < 130.0
    failed = [a for a in ran.attempts if a.failure]
    assert {a.failure.slug for a in failed} == {"network"}
    assert len(failed) <= 3 * 8  # those that waited, and whoever asked once more


def test_an_item_that_a_gateway_never_answers_costs_only_itself():
    async def solve(item, repeat):
        await asyncio.sleep(0.1)
        if item.id == "sums/3":
            raise BAD_GATEWAY
        return Reply(f"Answer: {item.target}")

    ran = run(solve, 40, parallel=1)
    assert ran.error is None
    assert ran.outcomes == {Outcome.CORRECT: 39, Outcome.ERROR: 1}


@pytest.mark.slow
def test_without_waiting_items_fail_one_after_the_other():
    ran = run(Server(2.0, 1e9, REFUSED), 400, wait_s=0.0)
    assert "waited" not in str(ran.error)
    assert {a.retries for a in ran.attempts if a.failure} == {5}


def test_the_end_of_the_time_that_the_run_may_draw_ends_the_waiting_too():
    ran = run(Server(2.0, 1e9, REFUSED), 400, for_s=10.0)
    assert 10.0 <= ran.took_s < 11.0
    assert ran.error is None
    assert 0 < ran.outcomes[Outcome.ERROR] <= 16


def test_one_connection_broken_by_chance_stops_nobody():
    broken = []

    async def solve(item, repeat):
        await asyncio.sleep(0.1)
        if item.id in ("sums/10", "sums/20") and item.id not in broken:
            broken.append(item.id)
            raise NetworkError("the connection broke") if item.id == "sums/10" else BAD_GATEWAY
        return Reply(f"Answer: {item.target}")

    ran = run(solve, 400)
    assert ran.outcomes == {Outcome.CORRECT: 400}
    assert ran.away == {None}
    assert ran.took_s == pytest.approx(400 / 8 * 0.1, abs=1.0)
    assert sorted(a.retries for a in ran.attempts)[-3:] == [0, 1, 1]


def test_an_item_that_kills_the_server_each_time_ends_as_an_error_and_the_others_are_answered():
    back_at = [0.0]

    async def solve(item, repeat):
        loop = asyncio.get_running_loop()
        if loop.time() < back_at[0]:
            raise REFUSED
        await asyncio.sleep(0.1)
        if item.id == "sums/10":
            back_at[0] = loop.time() + 3.0
        if loop.time() < back_at[0]:
            raise NetworkError("the connection broke")
        return Reply(f"Answer: {item.target}")

    ran = run(solve, 100)
    failed = [a.item.id for a in ran.attempts if a.failure]
    assert "sums/10" in failed
    assert len(ran.attempts) == 100
    assert len(failed) <= 8  # those that were on their way with it each time


def test_the_run_that_waits_can_be_cancelled():
    async def work():
        loop = asyncio.get_running_loop()
        terms = Terms(Limiter(Pacing(4, 4, fixed=True), loop.time), 4, wait_for_server_s=120.0)
        asked = (Asking(item, position) for position, item in enumerate(questions(50)))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(7.0):
                async for _ in attempts(asked, Server(0.0, 1e9, REFUSED), read, terms):
                    pass
        return loop.time()

    with asyncio.Runner(loop_factory=OwnTime) as runner:
        assert runner.run(work()) == pytest.approx(7.0, abs=0.1)


@pytest.mark.parametrize(
    ("error", "wait_s", "asked", "says"),
    [
        (LOADING, 120.0, 5, None),
        (LOADING, 3.0, 4, "Loading model; the server was waited for, 3 s"),
        (LOADING, 0.0, 1, "Loading model"),
        (REFUSED, 120.0, 1, "cannot connect"),
    ],
    ids=["loads", "loads too long", "not to be waited for", "not there at all"],
)
def test_before_the_first_item_only_a_server_that_loads_is_waited_for(error, wait_s, asked, says):
    tries = []

    async def check():
        tries.append(asyncio.get_running_loop().time())
        if len(tries) < 5:
            raise error
        return "ready"

    with asyncio.Runner(loop_factory=OwnTime) as runner:
        if says is None:
            assert runner.run(once_ready(check, wait_s)) == "ready"
        else:
            with pytest.raises(type(error), match=says.replace("(", r"\(")):
                runner.run(once_ready(check, wait_s))
    assert len(tries) == asked
