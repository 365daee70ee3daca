"""`number`: numbers in the spellings of several languages, tolerance, percent and units."""

# ruff: noqa: RUF001 - signs and digits of other scripts are data here
from __future__ import annotations

from fractions import Fraction

import pytest
from grading_examples import graded
from hypothesis import given
from hypothesis import strategies as st

from proctor.grading.graders.quantities import quantities
from proctor.types import Outcome

SAME = [
    ("1,234.5", "1234.5"),
    ("1 234,5", "1234.5"),
    ("1\u202f234,5", "1234.5"),
    ("1.234,5", "1234.5"),
    ("1'234.5", "1234.5"),
    ("1’234", "1234"),
    ("12,34,567", "1234567"),
    ("1.234.567", "1234567"),
    ("$1,000.00", "1000"),
    ("1.5 million", "1500000"),
    ("3,5 Mio.", "3500000"),
    ("2 miliardy", "2000000000"),
    ("1.2 × 10^5", "120000"),
    ("1.2e5", "120000"),
    ("10⁵", "100000"),
    ("\\frac{3}{4}", "0.75"),
    ("\\boxed{1{,}234}", "1234"),
    ("1 3/4", "1.75"),
    ("½", "0.5"),
    ("２０", "20"),
    ("٣٤", "34"),
    ("−5", "-5"),
    ("forty-two", "42"),
    ("50 %", "50%"),
    ("50 percent", "0.5"),
    ("0.5", "50%"),
    ("50", "50%"),
    ("5 km", "5000 m"),
    ("90 minutes", "1.5 h"),
    ("5", "5 km"),
    ("330 m (1,083 ft)", "330 m"),
    ("First 3, then 4, so 7.", "7"),
    ("#### 72", "72"),
    ("The 21st", "21"),
]
DIFFERENT = [
    ("5", "-5"),
    ("12345", "1234"),
    ("5 miles", "5 km"),
    ("5 kg", "5 m"),
    ("0.5%", "50%"),
    ("1,234", "1235"),
    ("1000001", "1000000"),
    ("7, or rather 8", "7"),
]


@pytest.mark.parametrize(("reply", "target"), SAME)
def test_the_same_number_in_another_spelling(reply, target):
    assert graded("number", reply, target).score == 1.0


@pytest.mark.parametrize(("reply", "target"), DIFFERENT)
def test_another_number(reply, target):
    assert graded("number", reply, target).outcome is Outcome.WRONG


def test_tolerance_is_absolute_or_a_part_of_the_right_number():
    assert graded("number:abs=0.01", "3.14", "3.15").score == 1.0
    assert graded("number:abs=0.01", "3.14", "3.151").score == 0.0
    assert graded("number:rel=0.1", "110", "100").score == 1.0
    assert graded("number:rel=0.1", "110.1", "100").score == 0.0


def test_a_point_before_three_digits_is_read_both_ways_unless_its_meaning_is_told():
    either = graded("number", "1.234", "1234")
    assert (either.score, either.note) == (1.0, "1.234 read as 1234")
    assert graded("number:decimal=point", "1.234", "1234").score == 0.0
    assert graded("number:decimal=comma", "1.234", "1234").score == 1.0
    assert graded("number:decimal=comma", "1,234", "1234").score == 0.0


def test_which_of_several_numbers_counts_can_be_told():
    reply = "There are 10 episodes in season 3."
    scores = {
        take: graded(f"number:take={take}", reply, "10").score for take in ("first", "last", "only", "any")
    }
    assert scores == {"first": 1.0, "last": 0.0, "only": 0.0, "any": 1.0}


def test_a_reply_without_a_number_has_no_answer():
    grade = graded("number", "I cannot say.", "5")
    assert (grade.outcome, grade.score, grade.note) == (Outcome.NO_ANSWER, 0.0, "the reply holds no number")


@pytest.mark.slow
@given(number=st.integers(-(10**12), 10**12), group=st.sampled_from([",", ".", " ", "\u00a0", "'"]))
def test_grouped_integers_are_read_back(number, group):
    written = f"{number:,}".replace(",", group)
    assert number in [value for one in quantities(f"So {written} it is") for value in one.readings]


@given(number=st.decimals(-(10**6), 10**6, places=2), comma=st.booleans())
def test_decimals_are_read_back(number, comma):
    written = f"{number:.2f}"
    written = written.replace(".", ",") if comma else written
    (found,) = quantities(f"x {written} y")
    assert found.value == Fraction(number)


@given(st.text(max_size=300))
def test_any_text_has_its_numbers_or_none(text):
    assert all(one.readings for one in quantities(text))
