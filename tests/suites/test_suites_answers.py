"""Behaviour of the extraction ladder: what counts as an answer, and what never does."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from proctor.suites.answers import judge, read_answer
from proctor.suites.readers import vocabulary
from proctor.suites.tasks import BOOLQ, PUBMEDQA, Label
from proctor.suites.texts import key
from proctor.types import Item, Message, Outcome, Reply

CHOICES = ("Vitamin C", "Iron deficiency anaemia", "Hepatitis B", "Hepatitis B and C")
YES_NO = vocabulary(BOOLQ.labels)
YES_NO_MAYBE = vocabulary(PUBMEDQA.labels)
ACCEPTABLE = vocabulary((Label("acceptable"), Label("unacceptable", ("not acceptable",))))
EQUIVALENT = vocabulary((Label("equivalent"), Label("not_equivalent")))


def choice(text, choices=CHOICES, **more):
    return read_answer(Reply(text, **more), kind="choices", choices=choices)


def label(text, words=YES_NO, **more):
    return read_answer(Reply(text, **more), kind="labels", vocabulary=words)


def free(text, **more):
    return read_answer(Reply(text, **more), kind="text")


NOTHING = (None, None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # rung 1
        ('{"answer": "B"}', ("B", 1)),
        ('{"step_by_step_thinking": "Answer: A", "answer_choice": "C. Hepatitis B"}', ("C", 1)),
        ('{"answer_idx": "(d)"}', ("D", 1)),
        ('{"final answer": "Iron deficiency anaemia"}', ("B", 1)),
        ('{"answer": ["B"]}', ("B", 1)),
        ('{"thinking": "bites "of red cells", "answer_choice": "C"}', ("C", 1)),
        ("{'answer': 'B'}", ("B", 1)),
        ('First:\n```json\n{"answer": "A"}\n```\nNo:\n```json\n{"answer": "B"}\n```', ("B", 1)),
        ('```\n{"answer": "A"}', ("A", 1)),
        ('{"answer": "D. Hepatitis B and C"}', ("D", 1)),
        # rung 2
        ("It is a vitamin.\nAnswer: A", ("A", 2)),
        ("answer: b", ("B", 2)),
        ("ANSWER: (C)", ("C", 2)),
        ("**Answer:** **B**", ("B", 2)),
        ("**Answer: B**", ("B", 2)),
        ("**Final Answer**: B.", ("B", 2)),
        ("Answer: \\boxed{C}", ("C", 2)),
        ("Answer: $\\boxed{\\text{C}}$", ("C", 2)),
        ("Answer: B. Iron deficiency anaemia", ("B", 2)),
        ("Answer: B) whatever it said", ("B", 2)),
        ("Answer: Hepatitis B", ("C", 2)),
        ("Answer: option D", ("D", 2)),
        ("Answer: B because of the iron", ("B", 2)),
        ("Answer:\n\nB", ("B", 2)),
        ("Answer：Ｂ", ("B", 2)),  # noqa: RUF001 - full width on purpose
        ("Answer: <B>", ("B", 2)),
        ("My first thought was Answer: A but no.\n\nAnswer: B", ("B", 2)),
        ("Answer: B\n\nI hope that helps!", ("B", 2)),
        ("Answer: B\n(The form was Answer: <letter>)", ("B", 2)),
        ("<think>Answer: A</think>Answer: B", ("B", 2)),
        ("<think>a</think> b <think>Answer: C</think>\nAnswer: D", ("D", 2)),
        # rung 3
        ("B", ("B", 3)),
        ("(B)", ("B", 3)),
        ("**B**", ("B", 3)),
        ("b.", ("B", 3)),
        ("\\boxed{C}", ("C", 3)),
        ("B. Iron deficiency anaemia", ("B", 3)),
        ("B) Iron deficiency anaemia.", ("B", 3)),
        ("iron deficiency ANAEMIA", ("B", 3)),
        # rung 4
        ("So the correct answer is (C).", ("C", 4)),
        ("The answer is B because iron is low. Eat meat.", ("B", 4)),
        ("At first the answer is A. No, the final answer is: **D**", ("D", 4)),
        ("Hence the best option is C.", ("C", 4)),
        # rung 5
        ("Iron is low.\nThat leaves option B.", ("B", 5)),
        ("Ferritin is low.\n\n(B)", ("B", 5)),
        ("Ferritin is low.\n\nB. Iron deficiency anaemia", ("B", 5)),
        ("Low ferritin speaks for **B**", ("B", 5)),
        # rung 6
        ("Low ferritin.\n\nThis points to iron deficiency anaemia in my view.", ("B", 6)),
        ("It has to be hepatitis B and C together.", ("D", 6)),
    ],
)
def test_a_stated_choice_is_read(text, expected):
    assert choice(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   \n ",
        "Answer: E",
        "Answer: A or B",
        "Answer: A/B",
        "Answer: A, C",
        "Answer: (A) and (B)",
        "Answer: a or b",
        "Answer: <letter>",
        "Answer: <A|B|C|D>",
        "Finish with one last line in exactly this form:\nAnswer: <letter>",
        "Answer:",
        "Answer: none of these",
        "Answer: A vitamin is missing",
        "Answer: C-reactive protein",
        "Answer: A. Hepatitis B",
        "Answer: A\nOn reflection:\nAnswer: E",
        "E",
        "A patient with low ferritin needs iron.",
        "A man walks in. I would treat him.",
        "A. is wrong and so is everything else",
        "The options are\nA. x\nB. y\nC. z\nD. w",
        "The answer is a matter of taste.",
        "The answer is not B.",
        "It is neither (A) nor (B).",
        "Option A is incorrect.",
        "It could be (A) or (C)",
        "It is not iron deficiency anaemia.",
        "Either vitamin C or iron deficiency anaemia.",
        '{"answer": "A or B"}',
        '{"answer": "None of the above"}\nAnswer: B',
        '{"answer": ""}',
        '{"answer": null}',
        '{"answer": 1}',
        '{"answer": ["A", "B"]}',
        '{"answer": "A", "choice": "B"}',
        '{"answer_choice": "A/B"}',
        "<think>Answer: B",
        "<think>x</think>",
        "Answer: B\n<think>wait",
    ],
)
def test_no_choice_is_taken_where_none_or_several_are_stated(text):
    assert choice(text) == NOTHING


def test_option_texts_that_look_like_letters():
    """In 'A only' the letter belongs to the option's text."""
    options = ("I only", "II only", "I and II", "A only")
    assert choice("Answer: I only", options) == ("A", 2)
    assert choice("Answer: I and II", options) == ("C", 2)
    assert choice("Answer: A only", options) == ("D", 2)
    assert choice("Answer: A", options) == ("A", 2)


def test_options_that_read_alike_are_not_told_apart_by_their_text():
    options = ("Increases", "increases", "Falls", "Stays")
    assert choice("Answer: Increases", options) == NOTHING
    assert choice("Answer: increases.\nAnswer: B", options) == ("B", 2)
    assert choice("The value increases.", options) == NOTHING


def test_options_inside_numbers_and_words_do_not_count():
    options = ("100", "200", "300", "400")
    assert choice("It is 1,200 or so, or 2001, in sum.", options) == NOTHING
    assert choice("That makes 200 in sum.", options) == ("B", 6)


def test_more_than_four_options():
    options = tuple("pqrstuvwxy")
    assert choice("Answer: J", options) == ("J", 2)
    assert choice("Answer: I", options) == ("I", 2)
    assert choice("Answer: I think so", options) == NOTHING
    assert choice("Answer: K", options) == NOTHING


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("Reasons.\nAnswer: yes", YES_NO, ("yes", 2)),
        ("Answer: No.", YES_NO, ("no", 2)),
        ("Answer: TRUE", YES_NO, ("yes", 2)),
        ("Answer: not true", YES_NO, ("no", 2)),
        ("Answer: No, there is no evidence; yes would be wrong", YES_NO, ("no", 2)),
        ("Answer: **yes** (the passage says so)", YES_NO, ("yes", 2)),
        ("Answer: maybe", YES_NO_MAYBE, ("maybe", 2)),
        ("yes", YES_NO, ("yes", 3)),
        ("**No**", YES_NO, ("no", 3)),
        ("The answer is no.", YES_NO, ("no", 4)),
        ("The final answer is yes, since the passage says so. No doubt.", YES_NO, ("yes", 4)),
        ("The passage is clear. So: yes", YES_NO, ("yes", 5)),
        ('{"answer": true}', YES_NO, ("yes", 1)),
        ('{"label": "no"}', YES_NO, ("no", 1)),
        ("Answer: unacceptable", ACCEPTABLE, ("unacceptable", 2)),
        ("Answer: acceptable", ACCEPTABLE, ("acceptable", 2)),
        ("Answer: not acceptable", ACCEPTABLE, ("unacceptable", 2)),
        ("I find the sentence unacceptable.", ACCEPTABLE, ("unacceptable", 5)),
        ("The sentence is not acceptable.", ACCEPTABLE, ("unacceptable", 5)),
        ("Answer: not equivalent", EQUIVALENT, ("not_equivalent", 2)),
        ("Answer: Not_Equivalent", EQUIVALENT, ("not_equivalent", 2)),
        ("They are not equivalent.", EQUIVALENT, ("not_equivalent", 5)),
        ("They are equivalent.", EQUIVALENT, ("equivalent", 5)),
    ],
)
def test_a_stated_label_is_read(text, words, expected):
    assert label(text, words) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Answer: yes or no", YES_NO),
        ("Answer: yes/no", YES_NO),
        ("Answer: yes, no", YES_NO),
        ("Answer: <yes|no>", YES_NO),
        ("Answer: unclear", YES_NO),
        ("Answer: maybe", YES_NO),
        ("In the end there is no evidence for it.", YES_NO),
        ("Nobody knows.", YES_NO),
        ("Yesterday was fine.", YES_NO),
        ("They are certainly not the equivalent.", vocabulary((Label("equivalent"), Label("other")))),
        ("This is non-acceptable.", ACCEPTABLE),
        ("Yes. The passage is about boats.", YES_NO),
    ],
)
def test_no_label_is_taken_where_none_or_several_are_stated(text, words):
    assert label(text, words) == NOTHING


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Thinking.\nAnswer: The Eiffel Tower", ("The Eiffel Tower", 2)),
        ("Answer: first\nAnswer: **second**", ("second", 2)),
        ("Answer: \\boxed{42}", ("42}", 2)),
        ("Paris", ("Paris", 3)),
        ("The answer is Paris.", ("Paris.", 3)),
        ("x" * 300 + ". So the answer is Paris. Good.", ("Paris.", 4)),
        ('{"answer": 42}', ("42", 1)),
        ('{"answer": "x\\ny"}', ("x\ny", 1)),
        ("Answer: <your answer>", ("Answer: <your answer>", 3)),
        ("x" * 300, NOTHING),
        ('{"answer": null}', NOTHING),
    ],
)
def test_free_text(text, expected):
    assert free(text) == expected


def an_item(target, choices=(), aliases=()):
    return Item("t/0", "t", (Message("user", "?"),), target, choices, aliases)


def verdict(item, reply, kind, words=None):
    reading = judge(item, reply, kind=kind, vocabulary=words)
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
    assert judge(an_item("B", CHOICES), Reply(text, finish="length"), kind="choices").outcome is outcome


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
    assert judge(item, Reply("<think>Answer: B"), kind="choices").outcome is Outcome.TRUNCATED
    assert judge(item, Reply("<think>Answer: A</think>\nAnswer: B"), kind="choices").outcome is Outcome.CORRECT
    assert judge(item, Reply("Answer: A</think>\nAnswer: B"), kind="choices").outcome is Outcome.CORRECT
    assert judge(item, Reply("<think>hm</think>"), kind="choices").outcome is Outcome.NO_ANSWER


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
    for text in (f"Because of this.\nAnswer: {name}", f"answer: **{name}**", name, json.dumps({"answer": name})):
        assert label(text, known)[0] == name, text


@settings(max_examples=200, deadline=None)
@given(st.lists(names, min_size=2, max_size=8), st.data())
def test_a_letter_that_is_echoed_is_read_back(options, data):
    place = data.draw(st.integers(0, len(options) - 1))
    letter = "ABCDEFGH"[place]
    for text in (f"Answer: {letter}", f"Answer: ({letter})", f"**Answer: {letter}. {options[place]}**", letter):
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
