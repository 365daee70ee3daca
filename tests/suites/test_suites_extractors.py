"""Extractors by name: what each reads, what it cannot, and how an unknown name is answered."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import YES_NO

from proctor.errors import ConfigError
from proctor.grading.extractors import EXTRACTORS, extractor
from proctor.grading.formats import AnswerFormat
from proctor.grading.nearest import nearest
from proctor.types import Chat, Gold, Item, Message, Outcome, Reply

FOUR = Item("t/0", "t", Chat((Message("user", "?"),)), Gold("B"), choices=("w", "x", "y", "z"))
FIVE = Item("t/1", "t", Chat((Message("user", "?"),)), Gold("E"), choices=("v", "w", "x", "y", "z"))
YES = Item("t/2", "t", Chat((Message("user", "?"),)), Gold("yes"))


def read(name, text, item=FOUR, *, kind="choices", vocabulary=None, finish="stop"):
    reading = EXTRACTORS[name].grade_reply(item, Reply(text, finish=finish), kind=kind, vocabulary=vocabulary)
    return reading.outcome, reading.answer, reading.score


def test_the_names_and_which_of_them_is_the_ladder():
    assert list(EXTRACTORS) == ["proctor/2", "proctor/1", "mirage/1", "simple-evals/1", "first-line/1"]
    assert all(name == each.name for name, each in EXTRACTORS.items())
    assert read("proctor/1", "Answer: B") == (Outcome.CORRECT, "B", 1.0)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(
        ConfigError, match=r"'proctor/9'.*proctor/2, proctor/1, mirage/1, simple-evals/1, first-line/1"
    ):
        extractor("proctor/9")


def test_an_extractor_refuses_kinds_that_it_cannot_read():
    assert extractor("first-line/1", ["choices", "labels"]).name == "first-line/1"
    with pytest.raises(
        ConfigError, match=r"simple-evals/1 reads .*choices.*kind labels.*proctor/2, proctor/1, mirage/1"
    ):
        extractor("simple-evals/1", ["choices", "labels"])
    with pytest.raises(
        ConfigError, match=r"mirage/1 reads .*yes, no and maybe; this one's labels are yes, no\..*proctor/2"
    ):
        read("mirage/1", "Answer: yes", YES, kind="labels", vocabulary=YES_NO)
    with pytest.raises(ConfigError, match="kind labels"):
        read("simple-evals/1", "Answer: yes", YES, kind="labels", vocabulary=YES_NO)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Answer: B", "B"),
        ("First Answer: A\nthen\nAnswer: B", "A"),  # the first one, as published
        ("answer:b", "B"),
        ("ANSWER \t: $C$", "C"),
        ("Answer: Because", "B"),  # nothing is asked of what follows
        ("Answer: E", None),
        ("**Answer:** B", None),
        ("B", None),
        ("", None),
    ],
)
def test_simple_evals(text, answer):
    assert read("simple-evals/1", text)[1] == answer


def test_simple_evals_takes_the_letters_of_the_item():
    assert read("simple-evals/1", "Answer: E", FIVE) == (Outcome.CORRECT, "E", 1.0)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("B", "B"),
        ("b.", "B"),
        (" (B)\nbecause", "B"),
        ("The answer is B", None),
        ("B. x", None),
        ("Let me see\nB", None),
        ("E", None),
        ("", None),
    ],
)
def test_first_line(text, answer):
    assert read("first-line/1", text)[1] == answer


def test_first_line_reads_labels():
    assert read("first-line/1", "YES!", YES, kind="labels", vocabulary=YES_NO) == (
        Outcome.CORRECT,
        "yes",
        1.0,
    )
    # A synonym is not the label.
    assert read("first-line/1", "true", YES, kind="labels", vocabulary=YES_NO)[1] is None


@pytest.mark.parametrize("name", ["simple-evals/1", "first-line/1"])
def test_what_they_cannot_read_has_its_outcome(name):
    assert read(name, "Hm") == (Outcome.NO_ANSWER, None, 0.0)
    assert read(name, "Hm", finish="length") == (Outcome.TRUNCATED, None, 0.0)
    assert read(name, "Answer: B", finish="refused") == (Outcome.REFUSED, None, 0.0)


TARGETS = {"labels": "yes", "number": "3.8", "letters": "A,C", "entity": "w", "text": "w", "choices": "B"}
ANNOUNCED = [
    "Answer: ",
    "answer",
    "the answer is ",
    '{"answer":',
    "{",
    "}",
    '"',
    "```",
    "\\boxed{",
    "**",
    "(",
    "[",
    "]",
]
NAMED = ["A", "B", ",", " and ", "or", "none", "4", ".5", "/5", "yes", "not ", "w", "x", "İ"]
PIECES = st.sampled_from([*ANNOUNCED, *NAMED, "<think>", "</think>", "\n"])
REPLIES = st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=30).map("".join))


@settings(max_examples=300, deadline=None)
@given(REPLIES, st.sampled_from(["stop", "length", "refused"]), st.sampled_from(get_args(AnswerFormat)))
def test_any_text_is_read_by_every_extractor_and_given_its_worth(text, finish, kind):
    item = Item(
        "t/0", "t", Chat((Message("user", "?"),)), Gold.of(TARGETS[kind]), choices=("w", "x", "y", "z")
    )
    words = YES_NO if kind == "labels" else None
    reply = Reply(text, finish=finish)
    for each in EXTRACTORS.values():
        if kind not in each.kinds:
            continue
        if each.name == "mirage/1" and words is not None:
            continue  # it has letters for PubMedQA's labels only
        reading = each.grade_reply(item, reply, kind=kind, vocabulary=words)
        assert (reading.answer is None) == (reading.outcome not in (Outcome.CORRECT, Outcome.WRONG))
        assert reading.score is None or 0.0 <= reading.score <= 1.0
        assert reading.outcome is not Outcome.CORRECT or reading.score >= 0.9
    assert nearest(item, reply, kind=kind, vocabulary=words).what
