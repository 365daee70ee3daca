"""When a schedule comes: in words, as cron, and back again, always at the same times; and which runs may come again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import ConfigError
from proctor.service.runs.schedules import next_time
from proctor.service.scheduling.recurring import (
    DAYS,
    LAST,
    MOST_DAY,
    Recurring,
    cron_of,
    in_words,
    next_times,
    read,
    recurring_of,
)

MOMENTS = st.integers(1_700_000_000, 1_900_000_000).map(float)
NAMED = st.builds(
    Recurring,
    st.sampled_from(["hourly", "daily", "weekdays", "weekly", "monthly"]),
    st.integers(0, 23),
    st.integers(0, 59),
    st.sets(st.integers(1, 7), min_size=1).map(sorted).map(tuple),
    st.integers(LAST, MOST_DAY),
)
# Expressions that people write, few of which have a word of their own.
FIELD = st.sampled_from(["*", "0", "5", "*/15", "1-5", "3,9", "L", "7"])
CRONS = st.tuples(FIELD, FIELD, FIELD, st.just("*"), FIELD).map(" ".join) | st.sampled_from(
    [
        "@hourly",
        "@daily",
        "@midnight",
        "@weekly",
        "@monthly",
        "@yearly",
        "0 2 * * 0",
        "0 2 * * 7",
        "0 0 1 * *",
    ]
)


@given(NAMED, MOMENTS)
def test_what_is_said_comes_back_and_comes_at_the_same_times(of: Recurring, after: float) -> None:
    cron = cron_of(of)
    again = recurring_of(cron)
    assert cron_of(again) == cron and again.every == of.every
    assert next_times(cron_of(again), after) == next_times(cron, after)
    assert in_words(cron)[:4] != "cron"


@given(CRONS, MOMENTS)
def test_an_expression_that_gets_words_keeps_its_times(cron: str, after: float) -> None:
    try:
        times = next_times(cron, after, 6)
    except ConfigError:
        return
    of = recurring_of(cron)
    assert next_times(cron_of(of), after, 6) == times
    assert in_words(cron) == (f"cron {cron}" if of.every == "cron" else in_words(cron_of(of)))


@given(NAMED, MOMENTS)
def test_the_times_are_what_the_words_say(of: Recurring, after: float) -> None:
    for at in next_times(cron_of(of), after):
        when = datetime.fromtimestamp(at, UTC)
        assert at > after and when.minute == of.minute and (of.every == "hourly" or when.hour == of.hour)
        if of.every == "weekdays":
            assert when.isoweekday() <= 5
        if of.every == "weekly":
            assert when.isoweekday() in of.days
            assert DAYS[when.weekday()] in in_words(cron_of(of))
        if of.every == "monthly" and of.day:
            assert when.day == of.day
        if of.every == "monthly" and of.day == LAST:
            assert datetime.fromtimestamp(at + 86400.0, UTC).day == 1


@given(NAMED)
def test_a_form_says_the_same(of: Recurring) -> None:
    form = {
        "every": of.every,
        "at": of.at,
        "minute": str(of.minute),
        "day": str(of.day or "last"),
        "cron": "ignored",
    }
    assert cron_of(read(form, [str(day) for day in of.days])) == cron_of(of)


@pytest.mark.parametrize(
    ("form", "days", "says"),
    [
        ({"every": "weekly", "at": "02:00"}, [], "tick at least one day"),
        ({"every": "weekly", "at": "02:00"}, ["8"], "Day of the week '8'"),
        ({"every": "daily", "at": "25:00"}, [], "give a time of day"),
        ({"every": "daily", "at": "\u0662:00"}, [], "give a time of day"),
        ({"every": "monthly", "at": "02:00", "day": "29"}, [], "Day of the month '29': give 1 to 28"),
        ({"every": "hourly", "minute": "60"}, [], "Minute '60'"),
        ({"every": "hourly", "minute": "-1"}, [], "Minute '-1'"),
        ({"every": "fortnightly"}, [], "choose from hourly, daily"),
    ],
)
def test_what_cannot_be_meant_is_said_in_words(form: dict[str, Any], days: list[str], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        read(form, days)


def test_a_form_with_an_expression_alone_is_one() -> None:
    of = read({"cron": " */10 * * * * "})
    assert of == Recurring("cron", cron="*/10 * * * *") and next_time(cron_of(of), 0.0) == 600.0
    assert cron_of(replace(of, cron="")) == ""
