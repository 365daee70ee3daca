"""The loop with solvers of known behaviour."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from proctor.engine.abreast import Asking
from proctor.engine.attempts import ErrorBudgets, Terms, attempts
from proctor.engine.retry import Retry
from proctor.errors import AuthError, BadRequest, ErrorBudget, NetworkError, RateLimited
from proctor.providers.contract import Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.types import Outcome, Reply
from simulators import questions, read

pytestmark = pytest.mark.slow

QUICK = Retry(most=3, most_refusals=6, first_s=0.0)


def terms(*, parallel=4, limited=True, **given):
    limiter = Limiter(Pacing(parallel, parallel, fixed=True)) if limited else None
    return Terms(limiter=limiter, parallel=parallel, retry=QUICK, **given)


def asked(n):
    return (Asking(item, position) for position, item in enumerate(questions(n)))


def collect(solve, n, given=None):
    async def work():
        return [a async for a in attempts(asked(n), solve, read, given or terms())]

    return asyncio.run(work())


async def right(item, repeat):
    await asyncio.sleep(0)
    return Reply(f"Answer: {item.target}")


@pytest.mark.parametrize("limited", [True, False])
def test_every_item_is_asked_once(limited):
    got = collect(right, 500, terms(limited=limited))
    assert sorted(a.position for a in got) == list(range(500))
    assert {a.grade.outcome for a in got} == {Outcome.CORRECT}


def test_nothing_to_ask_ends_at_once():
    assert collect(right, 0) == []


def test_never_more_than_the_limit_and_drawn_lazily():
    drawn = under_way = most = 0

    def counted():
        nonlocal drawn
        for asking in asked(1000):
            drawn += 1
            yield asking

    async def solve(item, repeat):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1
        return Reply("Answer: A")

    async def work():
        running = attempts(counted(), solve, read, terms(parallel=3))
        first = [await anext(running), await anext(running)]
        await running.aclose()
        return first

    assert len(asyncio.run(work())) == 2
    assert most == 3
    assert drawn <= 8


def test_a_retryable_failure_is_tried_again_and_counted():
    tries = Counter()

    async def solve(item, repeat):
        tries[item.id] += 1
        if tries[item.id] < 3:
            raise NetworkError("the connection broke")
        return await right(item, repeat)

    got = collect(solve, 10)
    assert {(a.grade.outcome, a.retries) for a in got} == {(Outcome.CORRECT, 2)}


def test_what_failed_is_sent_again_before_new_items():
    """A run that is stopped is scored up to its first gap: an item that failed once must not wait for hundreds."""
    sent = []

    async def solve(item, repeat):
        sent.append(item.id)
        if item.id == "sums/1" and sent.count("sums/1") == 1:
            raise NetworkError("the connection broke")
        return await right(item, repeat)

    few = Limiter(Pacing(2, 2, fixed=True))
    collect(solve, 300, Terms(limiter=few, parallel=200, retry=QUICK))
    assert max(place for place, sent_id in enumerate(sent) if sent_id == "sums/1") < 10


def test_when_retries_run_out_the_attempt_is_an_error_without_a_score():
    async def solve(item, repeat):
        if item.id == "sums/3":
            raise NetworkError("the connection broke")
        return await right(item, repeat)

    failed = [a for a in collect(solve, 10) if a.failure]
    assert [(a.item.id, a.grade.score, a.failure.slug, a.retries) for a in failed] == [
        ("sums/3", None, "network", QUICK.most)
    ]


def test_a_bad_request_is_not_sent_again():
    sent = Counter()

    async def solve(item, repeat):
        sent[item.id] += 1
        if item.id == "sums/0":
            raise BadRequest("no")
        return await right(item, repeat)

    collect(solve, 5)
    assert sent["sums/0"] == 1


def test_an_error_that_no_item_can_escape_stops_the_run_at_once():
    sent = 0

    async def solve(item, repeat):
        nonlocal sent
        sent += 1
        await asyncio.sleep(0)
        raise AuthError("key refused")

    with pytest.raises(AuthError):
        collect(solve, 1000)
    assert sent <= 4


def test_attempts_that_ended_before_a_stop_are_yielded():
    async def solve(item, repeat):
        if item.id == "sums/20":
            raise AuthError("key withdrawn")
        return await right(item, repeat)

    got = []

    async def work():
        async for attempt in attempts(asked(100), solve, read, terms(parallel=1)):
            got.append(attempt.position)

    with pytest.raises(AuthError):
        asyncio.run(work())
    assert got == list(range(20))


def test_a_run_whose_first_items_all_fail_stops_and_quotes_the_last_failure():
    async def solve(item, repeat):
        await asyncio.sleep(0)
        raise BadRequest("unknown parameter 'foo'")

    with pytest.raises(ErrorBudget, match=r"first 20 items all failed.*unknown parameter 'foo'"):
        collect(solve, 1000)


def test_a_server_that_dies_in_the_middle_stops_the_run():
    async def solve(item, repeat):
        await asyncio.sleep(0)
        if int(item.id[5:]) > 100:
            raise BadRequest("gone")
        return Reply("Answer: A")

    with pytest.raises(ErrorBudget, match="last 10 items"):
        collect(solve, 1000, terms(errors=ErrorBudgets(at_start=5, in_a_row=10)))


def test_the_servers_delay_is_waited_for_and_one_refusal_cuts_nothing():
    tries = Counter()
    given = terms(parallel=10)

    async def solve(item, repeat):
        tries[item.id] += 1
        if item.id == "sums/7" and tries[item.id] == 1:
            raise RateLimited("slow down", retry_after_s=0.01)
        return await right(item, repeat)

    got = collect(solve, 50, given)
    assert len(got) == 50
    assert given.limiter.limit == 10
    assert given.limiter.in_flight == 0


def test_a_refusal_may_be_repeated_more_often_than_a_broken_connection():
    error = RateLimited("slow", retry_after_s=2)
    retry = Retry(most=1, most_refusals=3, draw=lambda: 1.0)
    assert [retry.wait_s(n, error) for n in (1, 3, 4)] == [2.2, 2.2, None]
    assert [retry.wait_s(n, NetworkError("x")) for n in (1, 2)] == [1.0, None]


def test_drawing_stops_when_told_and_what_is_under_way_is_finished():
    ended = []

    async def solve(item, repeat):
        await asyncio.sleep(0.002)
        return Reply("Answer: A")

    async def work():
        given = terms(parallel=5, drawing=lambda: len(ended) < 12)
        async for attempt in attempts(asked(1000), solve, read, given):
            ended.append(attempt.position)

    asyncio.run(work())
    assert 12 <= len(ended) <= 22, "at most what was under way when the twelfth was seen to end"
    assert sorted(ended) == list(range(len(ended))), "no gap: all that was drawn was finished"


def test_a_defect_in_a_solver_ends_the_run_as_itself():
    async def solve(item, repeat):
        raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"):
        collect(solve, 10)


def test_a_slow_keeper_holds_the_askers_back():
    """Attempts wait for whoever keeps them; they do not pile up without end."""

    async def work():
        running = attempts(asked(100_000), right, read, terms(parallel=4, limited=False))
        first = await anext(running)
        for _ in range(5000):
            await asyncio.sleep(0)
        waiting = running.ag_frame.f_locals["pool"].done
        await running.aclose()
        return first, len(waiting)

    _, waiting = asyncio.run(work())
    assert waiting <= 4 * 4 + 256 + 4
