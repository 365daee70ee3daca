"""Two speeds are set side by side only where they mean the same: one clock, and about as many requests at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proctor.findings import RunResult, Speed, Tally
from proctor.references import ExamRef
from proctor.service.results.speeds import common, unlike
from proctor.types import Cell, Limits, Model, Run, Status

SERVED = Speed(8.2, 48, 16.4, service_s=2.0, served=48)  # 16.4 there, 4 at work


def result(speed: Speed | None, name: str = "a", parallel: int | None = None) -> RunResult:
    cell = Cell(Model("openai", name), ExamRef("suite", "glue"), limits=Limits(parallel=parallel))
    run = Run(f"{name}0000000", "p", Status.COMPLETED, cell, "GLUE", 48, 48, {}, 0.0)
    return RunResult(run, (), Tally({"correct": 48}, 1.0, speed, None, None, None))


def test_of_requests_that_waited_only_those_at_work_share_the_server():
    assert SERVED.at_once("server") == pytest.approx(4.0)
    assert SERVED.at_once("measured") == 16.4


@pytest.mark.parametrize(
    ("one", "other", "clock"),
    [
        (SERVED, Speed(2.2, 48, 4.0, service_s=2.0, served=48), "server"),  # --parallel 4: 3.6 at work
        (SERVED, Speed(0.92, 48, 1.0, service_s=0.9, served=48), None),  # alone on the server
        (Speed(3.4, 48, 14.0), Speed(3.0, 48, 12.0), "measured"),
        (Speed(3.4, 48, 14.0), Speed(0.9, 48, 1.0), None),
        (
            Speed(0.92, 48, 1.0, service_s=0.9, served=48),
            Speed(1.5, 48, 1.0),
            "measured",
        ),  # one tells no time
        (SERVED, Speed(3.4, 48, 14.0), "measured"),
        (SERVED, Speed(3.4, 48, 4.0), None),
        (Speed(3.4, 48), Speed(3.0, 48, 12.0), None),  # of an older version
        (SERVED, None, "server"),  # a baseline
    ],
)
def test_speeds_compare_by_one_clock_and_among_about_as_many_requests(one, other, clock):
    two = (result(one), result(other, "b"))
    assert common(two) == common(two[::-1]) == clock
    assert bool(unlike(two)) is (clock is None)


def test_runs_of_older_versions_compare_where_the_user_fixed_the_same_number():
    old = Speed(3.4, 48)
    assert common((result(old, parallel=1), result(old, "b", parallel=1))) == "measured"
    assert common((result(old, parallel=1), result(old, "b", parallel=4))) is None
    assert common((result(old), result(old, "b"))) is None


def test_what_does_not_compare_is_said_with_what_to_do():
    said = unlike((result(Speed(3.4, 48, 14.0)), result(Speed(0.9, 48, 1.0), "b")))
    assert said == (
        "The times do not compare: openai/a is timed on the wire, waiting included, with 14 requests in flight, and "
        "openai/b is timed on the wire, waiting included, with 1 request in flight. To compare their speed run both "
        "with the same --parallel, such as 1."
    )
    twice = (result(SERVED), result(replace(SERVED, in_flight=3.0)))
    assert "run a0000000 is timed by its server, which worked on 4 requests at once" in unlike(twice)


def test_few_replies_with_the_servers_time_do_not_speak_for_the_run():
    assert replace(SERVED, served=23).basis == "measured"
    assert replace(SERVED, served=24).basis == "server"
