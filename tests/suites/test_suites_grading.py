"""What a reply is worth, text made to hurt, answers that are echoed, and real replies."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import CHOICES, NOTHING, YES_NO, choice, free, label

from proctor.grading.extractors import EXTRACTORS
from proctor.grading.formats import Label
from proctor.grading.texts import key
from proctor.grading.vocabulary import vocabulary
from proctor.types import Chat, Gold, Item, Message, Outcome, Reply

grade = EXTRACTORS["proctor/1"].grade_reply


def an_item(target, choices=(), aliases=()):
    return Item("t/0", "t", Chat((Message("user", "?"),)), Gold.of(target, aliases), choices=choices)


def verdict(item, reply, kind, words=None):
    reading = grade(item, reply, kind=kind, vocabulary=words)
    return reading.outcome, reading.answer, reading.rung, reading.score


def test_right_and_wrong():
    item = an_item("B", CHOICES)
    assert verdict(item, Reply("Answer: B"), "choices") == (Outcome.CORRECT, "B", 2, 1.0)
    assert verdict(item, Reply("Answer: A"), "choices") == (Outcome.WRONG, "A", 2, 0.0)
    assert verdict(item, Reply("Who knows"), "choices") == (Outcome.NO_ANSWER, None, None, 0.0)
    assert verdict(an_item("A", CHOICES, ("B",)), Reply("B"), "choices") == (Outcome.CORRECT, "B", 3, 1.0)
    assert verdict(an_item("no"), Reply("false"), "labels", YES_NO) == (Outcome.CORRECT, "no", 3, 1.0)


def test_a_refused_reply_is_refused_whatever_it_says():
    assert verdict(an_item("B", CHOICES), Reply("Answer: B", finish="refused"), "choices") == (
        Outcome.REFUSED,
        None,
        None,
        0.0,
    )


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Answer: B\nBut let me explain why it is", Outcome.CORRECT),
        ("Answer: B", Outcome.CORRECT),
        ('{"answer": "B", "why": "becau', Outcome.CORRECT),
        ('{"answer": "B', Outcome.CORRECT),  # read as an answer line
        ("B", Outcome.TRUNCATED),
        ("The answer is B", Outcome.TRUNCATED),
        ("Answer:", Outcome.TRUNCATED),
        ("Answer: Hepatitis B", Outcome.TRUNCATED),  # it may have gone on "and C"
        ("Long thoughts about iron", Outcome.TRUNCATED),
        ("", Outcome.TRUNCATED),
    ],
)
def test_a_reply_cut_by_length_counts_only_by_a_complete_answer(text, outcome):
    assert grade(an_item("B", CHOICES), Reply(text, finish="length"), kind="choices").outcome is outcome


def test_a_cut_label_that_could_have_gone_on_is_no_answer():
    words = vocabulary((Label("no"), Label("no change")))
    assert label("Answer: no", words, finish="length") == NOTHING
    assert label("Answer: no\n", words, finish="length") == NOTHING  # a reply's end is stripped
    assert label("Answer: no\nIt", words, finish="length") == ("no", 2)
    assert label("Answer: no change", words, finish="length") == ("no change", 2)
    assert free("Answer: Pari", finish="length") == NOTHING
    assert free("Answer: Paris\nIt", finish="length") == ("Paris", 2)


def test_reasoning_that_was_never_closed_is_truncated_even_when_the_server_says_stop():
    item = an_item("B", CHOICES)
    assert grade(item, Reply("<think>Answer: B"), kind="choices").outcome is Outcome.TRUNCATED
    assert (
        grade(item, Reply("<think>Answer: A</think>\nAnswer: B"), kind="choices").outcome is Outcome.CORRECT
    )
    assert grade(item, Reply("Answer: A</think>\nAnswer: B"), kind="choices").outcome is Outcome.CORRECT
    assert grade(item, Reply("<think>hm</think>"), kind="choices").outcome is Outcome.NO_ANSWER


HOSTILE = [
    "answer:" * 30_000,
    "answer: <x>\n" * 17_000,
    "answer:<>" * 22_000,
    '"answer": "' * 18_000,
    '{"answer":"' + "\\" * 200_000,
    '{"answer":' + " " * 200_000,
    "{" * 200_000,
    "```" * 66_000,
    "```{" * 50_000,
    "<think>" * 28_000,
    "</think>" * 25_000,
    "(" * 200_000,
    "*" * 200_000,
    "a" * 200_000,
    " " * 200_000 + "x",
    "\n" * 100_000 + "A" + "\n" * 100_000 + "x",
    "the answer is " * 14_000,
    "yes, no. " * 22_000,
    "not " * 50_000,
    "A. B) " * 33_000,
    ". " * 100_000,
    "\\boxed{" * 28_000,
    "Answer: " + "Hepatitis B " * 16_000,
    "İ" * 100_000 + "Answer: B or so",
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:12].strip() or "blank")
def test_hostile_text_comes_back(text):
    """200 kB made to hurt: a pattern that backtracks would not end within the test run."""
    for finish in ("stop", "length"):
        choice(text, finish=finish)
        label(text, finish=finish)
        free(text, finish=finish)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["stop", "length"]))
def test_any_text_is_read_without_failing(text, finish):
    answer, rung = choice(text, finish=finish)
    assert (answer is None) == (rung is None)
    assert answer is None or answer in "ABCD"
    assert label(text, finish=finish)[0] in {"yes", "no", None}
    free(text, finish=finish)


words = st.text(st.characters(categories=("Ll", "Lu", "Nd")), min_size=1, max_size=12)
names = st.lists(words, min_size=1, max_size=3).map(" ".join)
label_sets = st.lists(names, min_size=2, max_size=6, unique_by=lambda name: name.casefold())


@settings(max_examples=200, deadline=None)
@given(label_sets, st.data())
def test_a_label_that_is_echoed_is_read_back(labels, data):
    if len({key(name) for name in labels}) < len(labels):
        return  # two spellings of one label: questions.py never lets them through
    known = vocabulary([Label(name) for name in labels])
    name = data.draw(st.sampled_from(labels))
    for text in (
        f"Because of this.\nAnswer: {name}",
        f"answer: **{name}**",
        name,
        json.dumps({"answer": name}),
    ):
        assert label(text, known)[0] == name, text


@settings(max_examples=200, deadline=None)
@given(st.lists(names, min_size=2, max_size=8), st.data())
def test_a_letter_that_is_echoed_is_read_back(options, data):
    place = data.draw(st.integers(0, len(options) - 1))
    letter = "ABCDEFGH"[place]
    for text in (
        f"Answer: {letter}",
        f"Answer: ({letter})",
        f"**Answer: {letter}. {options[place]}**",
        letter,
    ):
        answer, _ = choice(text, options)
        assert answer == letter or (len(letter) < len(text) - 8 and answer is None), text


def test_real_replies_are_read_as_what_they_name(shared):
    """GPT-3.5 on MedQA: we differ from the published reading only where a reply names no one option."""
    replies = (shared / "data/predictions/mirage/medqa__cot__gpt-35-turbo-16k.jsonl").read_text().splitlines()
    questions = (shared / "data/medical/medqa/phrases_no_exclude_test.jsonl").read_text().splitlines()
    assert len(replies) == len(questions) == 1273
    unread, empty = [], 0
    for line, question in zip(map(json.loads, replies), map(json.loads, questions), strict=True):
        options = [question["options"][letter] for letter in "ABCD"]
        text = line["outputs"][0] if line["outputs"] else ""
        answer, rung = choice(text, options)
        if not text:
            empty += 1
            assert answer is None
        elif answer is None:
            unread.append(json.loads(text)["answer_choice"])
        else:
            assert answer == line["mirage_parsed"]
            assert rung == 1
    assert empty == 6
    assert len(unread) == 24
    # What they wrote instead of an option: nothing, several letters, or that none fits.
    for value in unread:
        several = "/" in value and len(value.split("/")) > 1
        none = value == "" or value.split()[0] in {"None", "Not"}
        assert several or none, value
