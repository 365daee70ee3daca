"""Rates and remaining time, on a clock that the test moves."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proctor.engine.abreast import Asking
from proctor.engine.pace import Pace
from proctor.engine.prefix import gapless
from proctor.types import Chat, Item

ITEM = Item("q/1", "q", Chat())


def steady(pace, n, *, every_s, latency_s=1.0, start=0.0):
    for i in range(1, n + 1):
        pace.ended(start + i * every_s, latency_s, 10)
    return start + n * every_s


def test_nothing_is_said_before_enough_has_ended():
    pace = Pace(0.0, 1000)
    now = steady(pace, 19, every_s=1)
    assert pace.eta(now, [now]).low_s is None
    pace.ended(now + 1, 1.0, 10)
    assert pace.eta(now + 1, [now]).low_s is not None


def test_a_steady_run_is_forecast_within_its_range():
    pace = Pace(0.0, 1000, parallel=1)
    now = steady(pace, 400, every_s=0.5)
    eta = pace.eta(now, [now - 0.2])
    assert eta.low_s <= 600 * 0.5 + 1 <= eta.high_s


def test_a_server_that_slowed_down_is_not_judged_by_its_past():
    pace = Pace(0.0, 10_000)
    now = steady(pace, 2000, every_s=0.05)
    now = steady(pace, 300, every_s=0.5, start=now)
    eta = pace.eta(now, [now])
    assert eta.low_s > 0.9 * 7699 * 0.5


def test_when_nothing_is_queued_there_is_no_number_but_the_oldest_request():
    pace = Pace(0.0, 100)
    now = steady(pace, 97, every_s=0.1, latency_s=2.0)
    eta = pace.eta(now, [now - 84, now - 3, now - 1])
    assert (eta.low_s, eta.high_s) == (None, None)
    assert (eta.running, eta.oldest_s, eta.p95_s) == (3, 84, 2.0)


def test_the_last_ten_seconds_give_the_rates():
    pace = Pace(0.0, 1000)
    now = steady(pace, 300, every_s=0.1)
    items, tokens = pace.per_second(now)
    assert round(items, 1) in (10.0, 10.1)
    assert round(tokens / items) == 10


@given(st.sets(st.integers(0, 60)), st.integers(1, 3))
def test_the_gapless_prefix_is_what_a_plain_count_finds(positions, repeats):
    first_gap = next(i for i in range(62) if i not in positions)
    rows = [Asking(ITEM, place, repeat) for place in sorted(positions) for repeat in range(repeats)]
    assert list(gapless(rows)) == [row for row in rows if row.position < first_gap]
    third = [Asking(ITEM, 3 * place) for place in sorted(positions)]
    assert list(gapless(third, range(0, 300, 3))) == [row for row in third if row.position < 3 * first_gap]
