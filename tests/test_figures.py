"""How numbers are written: roundings that must not claim too much, and the closing sentence."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compared import compared, pair, run, scored, table
from proctor import figures
from proctor.findings import Estimate
from proctor.service.evidence.verdicts import sentence

SHARES = st.floats(-1, 1)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0.0, "0.000"),
        (-0.0, "0.000"),
        (1.0, "1.000"),
        (-1.0, "-1.000"),
        (0.5, "0.500"),
        (0.5524, "0.552"),
        (0.9994, "0.999"),
        (0.9996, "0.999"),
        (1 - 1e-16, "0.999"),
        (-0.9999, "-0.999"),
        (0.0004, "0.001"),
        (1e-12, "0.001"),
        (-0.0004, "-0.001"),
        (-0.1234, "-0.123"),
    ],
)
def test_fractions(value: float | None, text: str) -> None:
    assert figures.fraction(value) == text


@settings(deadline=None)
@given(SHARES)
def test_only_an_exact_0_or_1_is_written_as_one(value: float) -> None:
    text = figures.fraction(value)
    assert (float(text) == 0) == (value == 0)
    assert (abs(float(text)) == 1) == (abs(value) == 1)
    assert float(text) == pytest.approx(value, abs=0.001)


@settings(deadline=None)
@given(SHARES)
def test_a_difference_the_other_way_round_is_the_same_with_a_minus(value: float) -> None:
    assert figures.fraction(-value).removeprefix("-") == figures.fraction(value).removeprefix("-")


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (None, "p not computed"),
        (0.0, "p < 0.0001"),
        (1e-300, "p < 0.0001"),
        (0.000099, "p < 0.0001"),
        (0.0001, "p = 0.0001"),
        (0.00042, "p = 0.0004"),
        (0.031, "p = 0.031"),
        (0.0413895, "p = 0.041"),
        (0.0496, "p = 0.0496"),
        (0.04999, "p = 0.0499"),
        (0.05, "p = 0.050"),
        (0.0504, "p = 0.050"),
        (0.9994, "p = 0.999"),
        (0.9995, "p = 1"),
        (1.0, "p = 1"),
    ],
)
def test_p_values(p: float | None, text: str) -> None:
    assert figures.p_value(p) == text


@settings(deadline=None)
@given(st.floats(0.0001, 1))
def test_a_written_p_lies_on_the_same_side_of_the_threshold(p: float) -> None:
    written = float(figures.p_value(p).removeprefix("p = "))
    assert (written < 0.05) == (p < 0.05)
    assert written > 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "-"),
        (0.0, "0 s"),
        (0.00001, "under 1 ms"),
        (0.42, "0.42 s"),
        (9.96, "10 s"),
        (42.4, "42 s"),
        (59.4, "59 s"),
        (59.7, "1 min"),
        (75.0, "1 min 15 s"),
        (119.6, "2 min"),
        (3599.4, "59 min 59 s"),
        (3599.7, "1 h"),
        (7265.0, "2 h 1 min"),
        (360_000.0, "100 h"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert figures.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (3, "3"),
        (0.44, "0.44"),
        (1.44, "1.4"),
        (9.6, "10"),
        (37.25, "37"),
        (1234567, "1,234,567"),
    ],
)
def test_amounts(value: float | None, text: str) -> None:
    assert figures.amount(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0.0, "$0.00"),
        (0.00042, "$0.00042"),
        (0.0000001, "$0.00000010"),
        (0.094, "$0.094"),
        (0.12, "$0.12"),
        (12.5, "$12.50"),
        (1234.5, "$1,234.50"),
    ],
)
def test_costs(value: float | None, text: str) -> None:
    assert figures.dollars(value) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.9996, 0.01, 0.9913, 1.0, 2500, 2500, "Wilson"), "0.999 [0.991, 1.000]"),
        (Estimate(0.0, 0.0, 0.0, 0.0642, 56, 56, "Wilson"), "0.000 [0.000, 0.064]"),
        (
            Estimate(None, None, None, None, 0, 9, "Wilson", "every item failed"),
            "not measured: every item failed",
        ),
        (Estimate(None, None, None, None, 0, 9, "Wilson"), "not measured"),
    ],
)
def test_estimates(estimate: Estimate, text: str) -> None:
    assert figures.estimate(estimate) == text


def test_two_models_and_a_difference() -> None:
    clear = (pair(both=50, only_first=15, only_second=5, neither=30),)
    said = (
        "sim/a is better than sim/b on rows like these 100, by 0.100 [0.013, 0.192] "
        "(exact McNemar p = 0.041; 15 rows only sim/a got right, 5 only sim/b)."
    )
    assert sentence(clear, ["a", "b"]) == said
    # Ranked the other way round, the better one is still named first, with the same gap.
    assert sentence(clear, ["b", "a"]) == said


def test_the_second_of_a_pair_may_be_better() -> None:
    turned = (pair(both=50, only_first=5, only_second=15, neither=30),)
    assert sentence(turned, ["b", "a"]).startswith(
        "sim/b is better than sim/a on rows like these 100, by 0.100 ["
    )
    assert "15 rows only sim/b got right, 5 only sim/a" in sentence(turned, ["b", "a"])


def test_two_models_and_no_difference_shown() -> None:
    open_ = (pair(both=50, only_first=12, only_second=10, neither=28),)
    said = sentence(open_, ["a", "b"])
    assert said.startswith(
        "These 100 rows do not show which of sim/a and sim/b is better on rows like them: the difference is 0.020 [-0."
    )
    # 12 against 10 says next to nothing about the true difference: no number of rows follows from it.
    least = r"as many rows like these would show a difference of about 0\.1\d\d or more \(80 % power\)"
    assert re.search(rf"It is smaller than its standard error; {least}\.$", said)
    assert "is better than" not in said


def test_a_tie_has_no_winner() -> None:
    tie = (pair(both=50, only_first=7, only_second=7, neither=36),)
    for ranked in (["a", "b"], ["b", "a"]):
        said = sentence(tie, ranked)
        assert "is better than" not in said and "the difference is 0.000 [-0.0" in said
        assert "exact McNemar p = 1;" in said
        assert re.search(
            r"Both scored the same; as many rows like these would show .* \(80 % power\)\.$", said
        )


def test_one_row_is_one_row() -> None:
    said = sentence((pair(both=0, only_first=1, only_second=0, neither=0),), ["a", "b"])
    assert said.startswith("This one row does not show which of sim/a and sim/b is better on rows like it")
    assert "1 row only sim/a got right, 0 only sim/b). If it is truly as large, about 6 rows" in said


@pytest.mark.parametrize(
    ("shared", "needed", "advice"),
    [
        (1000, 1584, "If it is truly as large, about 1,600 rows like these would show it (80 % power)."),
        (
            1000,
            999_001,
            "If it is truly as large, about 1,000,000 rows like these would show it (80 % power).",
        ),
        (1000, 1_000_001, "A difference as small as this would take more than 1,000,000 rows to show."),
        (1000, 1000, "About twice as many rows would be safer."),
        (50, 77, "If it is truly as large, about 77 rows like these would show it (80 % power)."),
    ],
)
def test_advice(shared: int, needed: int, advice: str) -> None:
    c = pair(both=30, only_first=5, only_second=0, neither=15)
    measured = replace(c.whole.estimate, scored=shared)
    c = replace(c, whole=replace(c.whole, estimate=measured, items_needed=needed))
    assert sentence((c,), ["a", "b"]).endswith(f"0 only sim/b). {advice}")


def test_two_models_without_a_common_row() -> None:
    strangers = compared([(run("a"), scored([1.0])), (run("b"), scored([1.0], prefix="other"))])
    said = sentence(strangers, ["a", "b"])
    assert said == "sim/a and sim/b cannot be compared: the two runs share no scored item."


def test_three_models_one_clearly_best() -> None:
    good, bad = scored([1.0] * 90 + [0.0] * 10), scored([1.0] * 60 + [0.0] * 40)
    pairs = compared([(run("b"), bad), (run("a"), good), (run("c"), bad)])
    said = sentence(pairs, ["a", "b", "c"])
    assert said.startswith("sim/a is better than sim/b on rows like these 100, by 0.300 [0.2")
    assert "(exact McNemar p < 0.0001; 30 rows only sim/a got right, 0 only sim/b)." in said
    assert said.endswith("sim/a is also better than sim/c. (p-values adjusted for 3 comparisons.)")


def test_three_models_two_at_the_top() -> None:
    good, bad = scored([1.0] * 90 + [0.0] * 10), scored([1.0] * 60 + [0.0] * 40)
    pairs = compared([(run("a"), good), (run("b"), good), (run("c"), bad)])
    said = sentence(pairs, ["a", "b", "c"])
    assert said.startswith("These 100 rows do not show which of sim/a and sim/b is better")
    assert "sim/a is better than sim/c." in said and "also" not in said


def test_four_models_and_every_standing() -> None:
    """The best by score is beaten by one, beats none, shares nothing with another: each is said as it is."""
    best, better = table(50, 5, 25, 20)
    pairs = compared(
        [(run("a"), best), (run("b"), best), (run("c"), better), (run("x"), scored([1.0], prefix="other"))]
    )
    said = sentence(pairs, ["a", "b", "c", "x"])
    assert "sim/a is worse than sim/c on rows like those they share." in said
    assert "sim/a cannot be compared with sim/x: they share no scored item." in said
    assert said.endswith("(p-values adjusted for 3 comparisons.)")


def test_several_undecided_are_listed() -> None:
    same = scored([1.0] * 9)
    pairs = compared([(run(name), same) for name in "abcd"])
    assert "Between sim/a and sim/c and sim/d no difference is shown." in sentence(pairs, list("abcd"))


def test_one_model_is_compared_with_nobody() -> None:
    assert sentence((), ["a"]) == ""
