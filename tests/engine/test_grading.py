"""Graders that take their time, and graders that fail: what they cost a run, and what they may never cost it."""

from __future__ import annotations

import asyncio

import pytest

from proctor.engine.abreast import Asking
from proctor.engine.attempts import Terms, Traffic, attempts
from proctor.errors import DataError, RateLimited
from proctor.providers.contract import Pacing
from proctor.providers.pacing.limiter import Limiter
from proctor.types import Grade, Outcome, Reply
from simulators import questions, read

RIGHT = Grade(Outcome.CORRECT, 1.0, "A", grader="test/1")


def asked(n):
    return (Asking(item, position) for position, item in enumerate(questions(n)))


def terms(parallel, *, limited=True):
    limiter = Limiter(Pacing(parallel, parallel, fixed=True)) if limited else None
    return Terms(limiter=limiter, parallel=parallel)


async def answer(item, repeat):
    return Reply(f"Answer: {item.target}")


def collect(n, grade, given, traffic=None):
    async def work():
        async with asyncio.timeout(10):
            return [a async for a in attempts(asked(n), answer, grade, given, traffic)]

    return asyncio.run(work())


@pytest.mark.parametrize("limited", [True, False])
def test_the_next_item_is_asked_while_a_slow_grader_looks_at_the_last_reply(limited):
    graded = []
    second = asyncio.Event()

    async def slow():
        graded.append("begun")
        if len(graded) == 5:  # 4 workers at most where there is no server, and one stands in
            second.set()
        await second.wait()
        return RIGHT

    got = collect(5, lambda item, reply: slow(), terms(1 if limited else 4, limited=limited))
    assert [a.grade for a in got] == [RIGHT] * 5


def test_a_reply_that_is_being_graded_is_no_request_under_way():
    traffic, seen = Traffic(), []

    async def looking():
        seen.append(dict(traffic.in_flight))
        await asyncio.sleep(0)
        return RIGHT

    collect(1, lambda item, reply: looking(), terms(1), traffic)
    assert seen == [{}]
    assert traffic.in_flight == {}


@pytest.mark.parametrize("error", [DataError("no such column"), RateLimited("the judge is busy")])
def test_a_reply_whose_grading_fails_is_kept_and_measures_nothing(error):
    async def waiting():
        await asyncio.sleep(0)
        raise error

    def at_once(item, reply):
        raise error

    for grade in (lambda item, reply: waiting(), at_once):
        [attempt] = collect(1, grade, terms(1))
        assert attempt.reply.text == "Answer: A"
        assert attempt.failure is None
        assert attempt.grade == Grade(Outcome.ANSWERED, None, note=f"not graded: {error}")


def test_a_grade_that_is_there_at_once_is_not_waited_for():
    assert [a.grade.outcome for a in collect(50, read, terms(4))] == [Outcome.CORRECT] * 50
