"""Models asked side by side: who may draw, what is asked again, and that all of them stop."""

from __future__ import annotations

import asyncio
from collections import Counter

from proctor.engine.abreast import TRIES, Asking, Course
from proctor.engine.attempts import Terms, attempts
from proctor.engine.retry import Retry
from proctor.errors import BadRequest, ServerError
from proctor.providers.contract import Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.types import Reply
from simulators import questions, read

N = 300
ITEMS = questions(N)


def terms(lane, parallel=8):
    limiter = Limiter(Pacing(parallel, parallel, fixed=True))
    return Terms(limiter, parallel, Retry(most=0), drawing=lambda: not lane.stopped, lane=lane)


def asked(repeats=1):
    return (Asking(item, place, repeat) for place, item in enumerate(ITEMS) for repeat in range(repeats))


async def ended(lane, solve, *, parallel=8, repeats=1, seen=lambda _attempt: None):
    """All attempts of one lane."""
    found = []
    async for attempt in attempts(asked(repeats), solve, read, terms(lane, parallel)):
        found.append(attempt)
        seen(attempt)
    return found


def answering(yields):
    """A model that takes so many turns of the loop for a reply."""

    async def solve(item, repeat):
        for _ in range(yields):
            await asyncio.sleep(0)
        return Reply(f"Answer: {item.target}")

    return solve


async def both(first, second):
    return await asyncio.gather(first, second)


def test_the_quick_one_stays_within_the_window_and_both_are_asked_all():
    course = Course(N)
    quick, slow = course.lane(), course.lane()
    ahead = []

    async def watched(item, repeat):
        ahead.append(int(item.id.partition("/")[2]) - course.front)
        return await answering(0)(item, repeat)

    found = asyncio.run(both(ended(quick, watched), ended(slow, answering(20), parallel=2)))
    assert [sorted(a.position for a in each) for each in found] == [list(range(N))] * 2
    assert max(ahead) == course.window - 1 == 31, "as far ahead as it may, and no further"


def test_an_item_that_fails_is_asked_again_and_given_up_in_the_end_so_that_nobody_waits_for_it():
    course = Course(N)
    odd, plain = course.lane(), course.lane()
    tries = Counter()

    async def solve(item, repeat):
        tries[item.id] += 1
        if item.id == "sums/3" and tries[item.id] == 1:
            raise ServerError("for once")
        if item.id == "sums/7":
            raise BadRequest("never")
        return await answering(1)(item, repeat)

    one, other = asyncio.run(both(ended(odd, solve), ended(plain, answering(1))))
    assert sorted(a.position for a in other) == list(range(N))
    assert {item: n for item, n in tries.items() if n > 1} == {"sums/3": 2, "sums/7": TRIES}
    of = {name: [a for a in one if a.item.id == name] for name in ("sums/3", "sums/7")}
    assert [(a.attempt, a.failure is None) for a in of["sums/3"]] == [(0, False), (1, True)]
    assert [(a.attempt, a.failure is None) for a in of["sums/7"]] == [(k, False) for k in range(TRIES)]
    assert max(place for place, a in enumerate(one) if a.position == 7) < 60, "at once, not at the end"


def test_nobody_draws_when_all_are_stopped_and_what_is_under_way_ends():
    course = Course(N)
    lanes = course.lane(), course.lane()
    begun = Counter()

    def stop_at_a_hundred(attempt):
        if attempt.position >= 100:
            course.stop()

    async def counted(item, repeat):
        begun[item.id] += 1
        return await answering(5)(item, repeat)

    found = asyncio.run(both(*(ended(lane, counted, seen=stop_at_a_hundred) for lane in lanes)))
    assert sum(begun.values()) == sum(map(len, found)), "whatever was sent has its attempt"
    assert all(100 <= len(each) <= 100 + course.window for each in found)


def test_who_has_stopped_is_waited_for_no_more():
    course = Course(N)
    gone, other = course.lane(), course.lane()

    async def alone():
        async def leave():
            for _ in range(50):
                await asyncio.sleep(0)
            gone.stop()

        return (await asyncio.gather(ended(other, answering(1)), leave()))[0]

    assert len(asyncio.run(alone())) == N
    assert gone.front == 0


def test_all_repeats_of_an_item_are_asked_before_others_go_far():
    course = Course(N)
    lanes = course.lane(), course.lane()
    order = [[], []]

    async def work():
        return await both(
            *(
                ended(lane, answering(k), repeats=3, seen=seen.append)
                for k, (lane, seen) in enumerate(zip(lanes, order, strict=True))
            )
        )

    asyncio.run(work())
    for seen in order:
        assert len(seen) == 3 * N
        first = max(place for place, a in enumerate(seen) if a.position == 0)
        assert first < 3 * course.window
