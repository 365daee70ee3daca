"""Behaviour of the extraction ladder: what counts as an answer, and what never does."""

from __future__ import annotations

import pytest
from reading import ACCEPTABLE, EQUIVALENT, NOTHING, YES_NO, YES_NO_MAYBE, choice, free, label

from proctor.grading.formats import Label
from proctor.grading.vocabulary import vocabulary


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
        ("Answer: Iron deficiency anaemia, not vitamin C", ("B", 2)),
        ("Answer: Vitamin C (scurvy)", ("A", 2)),
        ("Answer: Hepatitis B and C, both", ("D", 2)),
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
        ("```\nB\n```", ("B", 3)),
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
        "Answer: Vitamin C, iron deficiency anaemia",
        "Answer: Vitamin C, or hepatitis B",
        "Answer: (A) and (B)",
        "Answer: a or b",
        "Answer: <letter>",
        "Answer: <A|B|C|D>",
        "Finish with one last line in exactly this form:\nAnswer: <letter>",
        "Answer:",
        "Answer: none of these",
        "Answer: A vitamin is missing",
        "Answer: answer a question first",
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
        ("It depends; yes and no are both defensible.", YES_NO),
        ("I would not call this sentence acceptable.", ACCEPTABLE),
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
        ("Answer: \\boxed{42}", ("42", 2)),
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


NEWLY_READ = {"Yes. The passage is about boats."}  # its first word is the answer


def test_proctor_2_gives_the_same_answers():
    """Every expectation of this file but for the rungs, which are numbered anew."""

    def named(test):
        return next(mark.args[1] for mark in test.pytestmark if mark.name == "parametrize")

    for text, (answer, _) in named(test_a_stated_choice_is_read):
        assert choice(text, ladder="proctor/2")[0] == answer, text
    for text in named(test_no_choice_is_taken_where_none_or_several_are_stated):
        assert choice(text, ladder="proctor/2") == NOTHING, text
    for text, words, (answer, _) in named(test_a_stated_label_is_read):
        assert label(text, words, ladder="proctor/2")[0] == answer, text
    for text, words in named(test_no_label_is_taken_where_none_or_several_are_stated):
        assert (label(text, words, ladder="proctor/2") == NOTHING) == (text not in NEWLY_READ), text
    for text, (answer, _) in named(test_free_text):
        assert free(text, ladder="proctor/2")[0] == answer, text
