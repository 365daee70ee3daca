"""`date`: dates in many spellings, and those that have two meanings."""

from __future__ import annotations

from datetime import date

import pytest
from grading_examples import graded
from hypothesis import given
from hypothesis import strategies as st

from proctor.grading.graders.dates import dates, whole_date
from proctor.grading.spec import parse_grader
from proctor.types import Outcome

SPELLINGS = [
    "1990-11-09",
    "1990/11/09",
    "09.11.1990",
    "9. 11. 1990",
    "November 9, 1990",
    "November 9 , 1990",
    "Nov. 9th, 1990",
    "9 November 1990",
    "the 9th of November, 1990",
    "9-Nov-1990",
    "1990 November 9",
    "9. listopadu 1990",
    "9 listopada 1990",
    "9. November 1990",
    "9 novembre 1990",
    "9 de noviembre de 1990",
    "9 de novembro de 1990",
    "9 ноября 1990",
    "1990年11月9日",
    "1990년 11월 9일",
]


@pytest.mark.parametrize("written", SPELLINGS)
def test_one_day_in_every_spelling(written):
    assert graded("date", f"It fell on {written}.", "1990-11-09").score == 1.0
    assert graded("date", "9 November 1990", written).score == 1.0


def test_a_date_that_says_more_is_right_and_one_that_says_less_is_not():
    assert graded("date", "On 9 November 1990.", "November 1990").score == 1.0
    assert graded("date", "On 9 November 1990.", "1990").score == 1.0
    assert graded("date", "In 1990.", "9 November 1990").outcome is Outcome.WRONG
    assert graded("date", "In November.", "9 November 1990").outcome in (Outcome.WRONG, Outcome.NO_ANSWER)


def test_a_date_with_two_meanings_is_not_scored_where_that_decides():
    doubtful = graded("date", "03/04/2025", "2025-04-03")
    assert (doubtful.outcome, doubtful.score) == (Outcome.ANSWERED, None)
    assert doubtful.note == "03/04/2025 may be 2025-04-03 or 2025-03-04: say order=dmy or order=mdy"
    assert graded("date", "03/04/2025", "2025-12-24").score == 0.0
    assert graded("date", "04/04/2025", "2025-04-04").score == 1.0
    assert graded("date", "25/12/2024", "2024-12-25").score == 1.0
    assert graded("date:order=dmy", "03/04/2025", "2025-04-03").score == 1.0
    assert graded("date:order=mdy", "03/04/2025", "2025-04-03").score == 0.0


def test_a_right_answer_with_two_meanings_is_a_fault_of_its_row():
    assert "2025-04-03 or 2025-03-04" in (parse_grader("date").fault(["03/04/2025"]) or "")
    assert parse_grader("date:order=dmy").fault(["03/04/2025"]) is None
    assert parse_grader("date").fault(["blue"]) == "the answer 'blue' is no date"


def test_some_days_off_are_right_where_that_is_wanted():
    assert graded("date:days=3", "3 March 2020", "29 February 2020").score == 1.0
    assert graded("date:days=2", "3 March 2020", "29 February 2020").score == 0.0
    assert graded("date:days=2", "1 January 1 BC", "31 December 2 BC").score == 1.0


@pytest.mark.parametrize("text", ["30 February 2020", "1,990 men", "the 1990s", "room 123", "$1999", "12:30"])
def test_what_is_no_date(text):
    assert not list(dates(text))


@given(
    day=st.dates(date(1000, 1, 1)), form=st.sampled_from(["%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%d. %m. %Y"])
)
def test_every_day_is_read_back(day, form):
    found = whole_date(day.strftime(form))
    assert found is not None
    assert str(found.readings[0]) == day.isoformat()


@given(st.text(max_size=300))
def test_any_text_has_its_dates_or_none(text):
    assert all(one.readings for one in dates(text))
