"""What three wordings of the same items show beside the score."""

from __future__ import annotations

from proctor.service.results.wordings import sign_note, spread_note


def test_the_spread_between_wordings_is_told():
    shares = {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0, "b": 0.0}, "3": {"a": 1.0, "b": 1.0}}
    note = spread_note(shares)
    assert "1: 1.000, 2: 0.500, 3: 1.000" in note and "lowest are 0.500 apart" in note


def test_one_wording_has_no_spread():
    assert spread_note({"1": {"a": 1.0}}) == "" and spread_note({}) == ""


def test_a_sign_that_changes_with_the_wording_is_told():
    first = {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 0.0, "b": 0.0}}
    second = {"1": {"a": 0.0, "b": 1.0}, "2": {"a": 1.0, "b": 0.0}}
    said = sign_note(first, second)
    assert said.endswith("(right answers, first less second, by wording: 1: 0.500, 2: -0.500).")


def test_a_sign_that_stays_needs_no_words():
    first = {"1": {"a": 1.0}, "2": {"a": 1.0}}
    assert sign_note(first, {"1": {"a": 0.0}, "2": {"a": 1.0}}) == ""
    assert sign_note(first, {}) == ""


def test_only_shared_items_count():
    first = {"1": {"a": 1.0, "only": 0.0}, "2": {"a": 1.0}}
    assert sign_note(first, {"1": {"a": 0.0}, "2": {"a": 0.0, "other": 1.0}}) == ""
