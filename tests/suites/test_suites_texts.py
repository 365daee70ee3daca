"""Behaviour of the comparison of free answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.grading.texts import fold, key, normal, number, same


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("1,000", "1000.0"),
        ("$1,000.00", "$1000"),
        ("50 %", "50%"),
        ("-3", "\u22123.0"),
        (".5", "0.5"),
        ("007", "7"),
        ("The Eiffel  Tower.", "eiffel tower"),
        ("“Paris”", "paris"),
        ("**Paris**!", "Paris"),
        ("President of the United States", "president of United States"),
        ("a dog", "Dog"),
        ("ＡＢＣ", "abc"),  # noqa: RUF001 - full width on purpose
        ("straße", "STRASSE"),
        ("\\boxed{42}", "42"),
        ("$5$", "5"),
        ("it’s", "it's"),  # noqa: RUF001 - a typographic apostrophe
    ],
)
def test_the_same_answer_in_another_dress(answer, target):
    assert same(answer, [target])


@pytest.mark.parametrize(
    ("answer", "target"),
    [
        ("5", "$5"),
        ("5", "5%"),
        ("1.000,5", "1000.5"),
        ("-3", "3"),
        ("1,00", "100"),
        ("vitamin A", "vitamin"),
        ("12 km", "12"),
        ("", "x"),
        ("not Paris", "Paris"),
    ],
)
def test_different_answers(answer, target):
    assert not same(answer, [target])


def test_aliases_count():
    assert same("NYC", ["New York", "NYC"])
    assert not same("NYC", [])


@pytest.mark.parametrize(
    ("text", "spelling"), [("0", "0"), ("-0.0", "0"), ("+7", "7"), ("€ 3", "€3"), ("3 €", "€3")]
)
def test_numbers_have_one_spelling(text, spelling):
    assert number(text) == spelling


@pytest.mark.parametrize("text", ["", ".", "-", "1.2.3", "1e3", "--1", "1,2345", "ten"])
def test_what_is_no_number(text):
    assert number(text) is None


@given(st.text())
def test_normal_forms_never_fail_and_normalising_twice_changes_nothing_for_keys(text):
    normal(text)
    fold(text)
    assert key(key(text)) == key(text)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9))
def test_a_number_equals_itself_with_separators(value):
    assert same(f"{value:,}", [f"{value:f}"])
