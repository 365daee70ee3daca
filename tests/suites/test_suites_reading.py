"""`proctor/2` on made replies, style by style and language by language, and on text made to hurt."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_replies import made

from proctor.grading.extractors import EXTRACTORS
from proctor.grading.reading.languages import LANGUAGES
from proctor.grading.vocabulary import vocabulary
from proctor.sources.exams.tables.superglue import BOOLQ
from proctor.types import Chat, Gold, Item, Message, Outcome, Reply

pytestmark = pytest.mark.slow

grade = EXTRACTORS["proctor/2"].grade_reply
grade1 = EXTRACTORS["proctor/1"].grade_reply

LOWEST = 0.995
REPLIES = tuple(made(seed=7, each=4))
STYLES = sorted({(each.style, each.language) for each in REPLIES})
CHOICES = ("Vitamin C", "Iron deficiency anaemia", "Hepatitis B", "Hepatitis B and C")


def read(text, choices=CHOICES, *, question="?", finish="stop"):
    item = Item("t/0", "t", Chat((Message("user", question),)), choices=tuple(choices))
    reading = grade(item, Reply(text, finish=finish), kind="choices")
    return reading.answer


def misread(reading, style, language):
    of_style = [each for each in REPLIES if (each.style, each.language) == (style, language)]
    wrong = [
        (each.text[-120:], each.answer)
        for each in of_style
        if reading(each.item(), each.reply(), kind=each.kind, vocabulary=each.vocabulary).answer
        != each.answer
    ]
    return len(wrong) / len(of_style), wrong[:5]


@pytest.mark.parametrize(("style", "language"), STYLES, ids=" ".join)
def test_made_replies_are_read_as_a_person_reads_them(style, language):
    share, examples = misread(grade, style, language)
    assert share <= 1 - LOWEST, examples


def test_proctor_2_misreads_less_than_proctor_1_in_every_style():
    for style, language in STYLES:
        assert misread(grade, style, language)[0] <= misread(grade1, style, language)[0], (style, language)


def test_every_language_of_the_table_is_tried():
    assert {language for _, language in STYLES} == {each.code for each in LANGUAGES}


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (
            "Both vitamin C and iron are low. Therefore, the most likely diagnosis is iron deficiency anaemia.",
            "B",
        ),
        ("Therefore, the disease that is not seen here is C. Hepatitis B.", "C"),
        ("The correct answer is not provided in the options.", None),
        ("Statement A is correct. Statement B is correct. Statement C is false.", None),
        ("A. Vitamin C: needed for collagen.\nB. Iron deficiency anaemia: fits.\nC. Hepatitis B: no.", None),
        ('{"thinking": "the correct answer is A', "A"),
        ('{"thinking": "Vitamin C is one of them', None),
        ('{"answer": "A. Vitamin C or B. Iron deficiency anaemia"}', None),
        (
            "A. Vitamin C: wrong.\nB. Iron deficiency anaemia: correct.\nC. Hepatitis B: wrong.\n"
            "D. Hepatitis B and C: wrong.",
            "B",
        ),
        ("Answer: A\n\nWait, that is not right. The correct answer is D.", "D"),
        ("A and B are both plausible, but the best answer is B.", "B"),
        ("Answer - B", "B"),
        ("I'm going with C here.", "C"),
        ("option b is correct", "B"),
        ("C'est la réponse B.", "B"),
        ("Answer: D. Hepatitis B and C", "D"),
        ("Answer: C. Hepatitis B and C", None),
    ],
)
def test_conclusions_and_lists(text, answer):
    assert read(text) == answer


def test_a_long_option_is_one_answer_whatever_its_text_holds():
    options = (
        "Give amoxicillin, B. vitamins, or C. diff treatment, and wait",
        "Give nothing",
        "Treat for C. difficile",
        "All of A. and B.",
    )
    assert read(f"Answer: A. {options[0]}", options) == "A"
    assert read(f"The correct answer is D. {options[3]}", options) == "D"
    assert read(f"Answer: A. {options[0]} or B. {options[1]}", options) is None


def test_minus_one_is_not_one():
    words = vocabulary(BOOLQ.labels)
    assert read("Answer: -1", ("1", "-1", "0", "2")) == "B"
    assert grade(Item("t/0", "t", Chat()), Reply("-1"), kind="labels", vocabulary=words).answer is None


def test_the_question_that_was_asked_may_be_repeated_before_the_answer():
    question = "Which deficiency does a patient with bleeding gums most likely have?\nA. Vitamin C"
    repeated = f"Question: {question.splitlines()[0]}\nAnswer: A"
    assert read(repeated, question=question) == "A"
    assert read(f"B\n\nQuestion: Another one?\n{repeated}", question=question) == "B"


def test_what_stands_before_an_invented_question_is_whole_although_the_reply_was_cut():
    assert read("B\n\nQuestion: A man of 60 years has", finish="length") == "B"
    assert read("B is what I would", finish="length") is None


@pytest.mark.parametrize("finish", ["length", "cut?"])
def test_a_cut_reply_is_read_by_what_it_announced(finish):
    assert read("The correct answer is B. The reason is that the", finish=finish) == "B"
    assert read("Answer: B\nThis is so because the", finish=finish) == "B"
    assert read("Low iron. This points to iron deficiency anaemia", finish=finish) is None
    item = Item("t/0", "t", Chat(), Gold("B"), choices=CHOICES)
    assert grade(item, Reply("It is", finish=finish), kind="choices").outcome is Outcome.TRUNCATED


HOSTILE = [
    "answer:",
    "answer: <x>\n",
    '"answer": "',
    '{"answer":"A"} ',
    "{",
    "```{",
    "<think>",
    "</think>",
    "<answer>",
    "(",
    "*",
    "a",
    "the answer is ",
    "the answer is A. ",
    "答案是",
    "정답은 ",
    "B is correct. ",
    "A. Vitamin C\n",
    "Question: x\n",
    "or A ",
    "A, ",
    "-1 ",
    "vitamin c ",
    "\n",
    "therefore, it is vitamin c. ",
    "correct ",
    "]][[",
    "\\boxed{",
    "'",
    "“",
    "A. x\nB. y\nC. z\n",
    "İ",
]


@pytest.mark.parametrize("piece", HOSTILE, ids=repr)
def test_a_reply_of_many_times_the_length_takes_no_more_than_its_share_of_time(piece):
    """Four times the length takes less than twelve times as long: a quadratic reader would take sixteen."""

    def took(size):
        text = (piece * (size // len(piece) + 1))[:size]
        return min(timed(text) for _ in range(3))

    def timed(text):
        start = time.process_time()
        read(text)
        return time.process_time() - start

    assert took(400_000) < 12 * max(took(100_000), 0.005)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=300), st.sampled_from(["stop", "length", "cut?"]))
def test_any_text_is_read_without_failing(text, finish):
    assert read(text, finish=finish) in {None, *"ABCD"}
