"""Graders as people name them: words, tables, faults; and the one table of them."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from grading_examples import graded, item
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import ConfigError
from proctor.grading.graders.table import GRADERS
from proctor.grading.spec import Files, grader_of_table, parse_grader
from proctor.types import Outcome, Reply

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", GRADERS)
def test_every_grader_is_named_by_its_words(name):
    grader = parse_grader(name)
    assert grader.words == f"{name}/{GRADERS[name].version}"
    assert parse_grader(grader.words) == grader


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("number: rel = 0.01, abs=2", "number/1:rel=0.01,abs=2"),
        ("number:rel=0.000000000001", "number/1"),
        ("contains:strict=false,read=whole", "contains/1:read=whole,strict=false"),
        (r"regex:take=first,pattern=(\d+), done", r"regex/1:take=first,pattern=(\d+), done"),
        ("json:fields=a|b.c", "json/1:fields=a|b.c"),
    ],
)
def test_words_are_kept_in_one_form(words, kept):
    assert parse_grader(words).words == kept
    assert parse_grader(kept) == parse_grader(words)


def test_a_table_says_the_same_as_words():
    table = {"name": "number", "rel": 0.01, "read": "whole"}
    assert grader_of_table(table, where="suite.toml") == parse_grader("number:read=whole,rel=0.01")
    assert grader_of_table("date", where="suite.toml") == parse_grader("date")


def test_long_words_are_kept_under_a_short_name():
    grader = parse_grader(f"regex:pattern={'a' * 300}")
    assert grader.name.startswith("regex/1:#")
    assert len(grader.name) < 30


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("nothing", "no grader 'nothing'. Graders: choices, labels"),
        ("number/2", "this proctor has number/1"),
        ("number:foo=1", "no setting 'foo'. Its settings: rel, abs, take, decimal, read"),
        ("number:rel", "write number:NAME=VALUE"),
        ("number:rel=x", "a number from 0 up"),
        ("number:rel=nan", "a number from 0 up"),
        ("number:rel=1,rel=2", "set twice"),
        ("date:days=1.5", "a whole number"),
        ("contains:strict=perhaps", "true or false"),
        ("number:take=most", "one of"),
        ("contains:read=half", "read is one of"),
        ("regex:pattern=(a", "no regular expression"),
        ("json:schema=/no/such/file", "No such file"),
    ],
)
def test_what_cannot_be_named_says_what_where_and_what_to_do(words, says):
    with pytest.raises(ConfigError) as error:
        parse_grader(words, where="suite.toml, [[tasks]] 1", files=Files(Path(), any=True))
    assert says in str(error.value)
    assert str(error.value).startswith("suite.toml, [[tasks]] 1: ")


@pytest.mark.parametrize("table", [3, {}, {"name": 3}, {"name": "date", "days": True}, ["date"]])
def test_what_is_no_grader_in_toml_is_refused(table):
    with pytest.raises(ConfigError, match=r"suite\.toml"):
        grader_of_table(table, where="suite.toml")


# Patterns ---------------------------------------------------------------------------------------------


def test_a_pattern_finds_the_answer_that_is_compared():
    assert graded(r"regex:pattern=x = (\d+)", "x = 4, so x = 5", "5").score == 1.0
    assert graded(r"regex:take=first,pattern=x = (\d+)", "x = 4, so x = 5", "5").score == 0.0
    assert graded(r"regex:pattern=(?<answer>\w+) wins", "Eve wins", "eve").answer == "Eve"
    assert graded(r"regex:pattern=x = (\d+)", "no", "5").outcome is Outcome.NO_ANSWER
    assert graded("regex", "colour", "colou?r").score == 1.0
    assert graded("regex:pattern=^Sure", "Sure, here").score == 1.0


@pytest.mark.parametrize("pattern", ["(a|aa)+$", "(z|zz|q)+(?<!z)!$"])
def test_a_pattern_that_runs_away_is_refused_before_the_run(pattern):
    with pytest.raises(ConfigError, match="exponential time"):
        parse_grader(f"regex:pattern={pattern}")


def test_a_search_that_takes_too_long_is_stopped_and_gives_no_score():
    began = time.process_time()
    grade = graded("regex:pattern=(.*,){4}Z", "a," * 2_000, "z")
    assert time.process_time() - began < 2.0
    assert (grade.outcome, grade.score) == (Outcome.ANSWERED, None)
    assert grade.note == "not graded: the pattern takes longer than 0.2 s on this reply"


# Replies ----------------------------------------------------------------------------------------------


def test_a_reply_that_is_no_answer_is_called_what_it_is():
    for grader in ("exact", "normalized", "contains"):
        assert graded(grader, Reply("", finish="refused"), "x").outcome is Outcome.REFUSED
        assert graded(grader, "<think>endless", "x").outcome is Outcome.TRUNCATED
        assert graded(grader, Reply("x and then", finish="length"), "x").outcome is Outcome.TRUNCATED
        assert graded(grader, "Answer: I don't know", "x").outcome is Outcome.NO_ANSWER
        assert graded(grader, "Answer: x\n\nQ: what is y?\nAnswer: y", "x").outcome is Outcome.CORRECT
        assert graded(grader, "x").score is None


def test_read_says_where_the_answer_is_looked_for():
    reply = "Canberra it is not.\n\nAnswer: Sydney"
    assert graded("contains", reply, "Canberra").score == 0.0
    assert graded("contains:read=whole", reply, "Canberra").score == 1.0
    assert graded("contains:read=announced", "Long words. " * 30, "Long").outcome is Outcome.NO_ANSWER


def test_answers_that_are_whole_sentences_get_no_score_but_a_reason():
    grade = graded("none", "It depends.", "That depends on much.")
    assert (grade.outcome, grade.score) == (Outcome.ANSWERED, None)
    assert "judge model" in (grade.note or "")


def test_choices_and_labels_are_read_by_the_ladder():
    grade = parse_grader("choices").grade(item("B", choices=("red", "blue")), Reply("I think it is (B)."))
    assert (grade.outcome, grade.answer, grade.grader) == (Outcome.CORRECT, "B", "choices/2")


HOSTILE = ["not canberra ", "1/2/", "1 May 2020 ", '{"a":', "- a\n", "\ud800", "堪培拉", "\\frac{1}{"]
OPEN = ["exact", "normalized", "contains", "number", "date", "json", r"regex:pattern=(\w+) is"]


@pytest.mark.parametrize("grader", OPEN)
def test_a_megabyte_of_anything_is_graded_in_bounded_time(grader):
    for unit in HOSTILE:
        began = time.process_time()
        graded(grader, (unit * 1_000_000)[:1_000_000], "1 May 2020", "Canberra", "5", "*")
        assert time.process_time() - began < 5.0, unit


@given(reply=st.text(max_size=120), grader=st.sampled_from(OPEN))
def test_any_reply_gets_a_grade_of_its_grader(reply, grader):
    grade = graded(grader, reply, "1990")
    assert grade.grader == parse_grader(grader).name
    assert grade.score in (0.0, 1.0)
