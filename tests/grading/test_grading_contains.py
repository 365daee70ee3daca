"""`contains`: what stands in a reply, and what is only named there."""

from __future__ import annotations

import pytest
from grading_examples import graded
from hypothesis import given
from hypothesis import strategies as st

from proctor.grading.contract import HEAD, TAIL
from proctor.types import Outcome

RIGHT = [
    ("The capital of Australia is Canberra.", ["Canberra"]),
    ("Answer: Canberra", ["Canberra"]),
    ("<think>Sydney? No.</think>It is **Canberra**!", ["Canberra"]),
    ("It is not Sydney but Canberra.", ["Canberra"]),
    ("Not Sydney: Canberra.", ["Canberra"]),
    ("It's Canberra, not Sydney.", ["Canberra"]),
    ("It is not only Canberra that was planned.", ["Canberra"]),
    ("It did not open until 1913.", ["1913"]),
    ("It was not until 9 May 1927 that it moved.", ["May 9, 1927"]),
    ("You celebrate on either February 28 or March 1.", ["February 28", "March 1"]),
    ("It is Canberra, or the bush capital.", ["Canberra"]),
    ("Beyonce sang it.", ["Beyoncé"]),
    ("The Beatles' album", ["Beatles"]),
    ("There were six thousand and 1,000 men", ["1000"]),
    ("There are nine of them.", ["9"]),
    ("It opened on 9 November 1989.", ["November 9, 1989"]),
    ("Stalo se to 9. listopadu 1989.", ["9 November 1989"]),
    ("It was AC/DC.", ["AC/DC"]),
    ("Potassium has the symbol K.", ["K"]),
    ("The answer is vitamin A.", ["A"]),
    ("The symbol is W. Tungsten has it.", ["W"]),
    ("There are 9 of them since 9 May 2011.", ["9"]),
    ("Use `*` for that.", ["*"]),
    ("*", ["*"]),
    ("It is written in C++.", ["C++"]),
    ("首都は堪培拉です", ["堪培拉"]),
    ("캔버라입니다", ["캔버라"]),
    ("Столица — Канберра.", ["Канберра"]),
    ("Yes, it does.", ["yes"]),
    ("It does, yes.", ["Yes."]),
    ("Ano, je to tak.", ["ano"]),
]
WRONG = [
    ("It is not Canberra.", ["Canberra"]),
    ("It isn't Canberra; it is Sydney.", ["Canberra"]),
    ("It is Sydney, not Canberra.", ["Canberra"]),
    ("It is neither Sydney nor Canberra.", ["Canberra"]),
    ("Canberra is wrong.", ["Canberra"]),
    ("No es Canberra, es Sídney.", ["Canberra"]),
    ("Ce n'est pas Canberra.", ["Canberra"]),
    ("Das ist nicht Canberra.", ["Canberra"]),
    ("Není to Canberra, nýbrž není Canberra.", ["Canberra"]),
    ("It is not January 11, 2014.", ["January 11, 2014", "2014"]),
    ("It could be Sydney, Canberra or Perth.", ["Canberra"]),
    ("I'm not sure: Canberra or Sydney.", ["Canberra"]),
    ("Scanberras", ["Canberra"]),
    ("A dog is an animal.", ["A"]),
    ("I think so.", ["I"]),
    ("It is 3.5 or so.", ["3"]),
    ("It opened on 9 May 2011.", ["9"]),
    ("George W. Bush was there.", ["W"]),
    ("It is 1,345.", ["345"]),
    ("It is 5.", ["-5"]),
    ("It is written in C.", ["C++"]),
    ("anything at all", ["*"]),
    ("No, it does not. Yes was expected.", ["yes"]),
    ("Answer yes or no.", ["yes"]),
    ("It is 3 April.", ["3 April 1990"]),
    ("\n".join(f"- city {number}" for number in range(30)) + "\n- Canberra\n- more", ["Canberra"]),
]


@pytest.mark.parametrize(("reply", "answers"), RIGHT)
def test_an_answer_that_is_given_counts(reply, answers):
    assert graded("contains", reply, *answers).outcome is Outcome.CORRECT


@pytest.mark.parametrize(("reply", "answers"), WRONG)
def test_an_answer_that_is_only_named_does_not_count(reply, answers):
    grade = graded("contains", reply, *answers)
    assert (grade.outcome, grade.score) == (Outcome.WRONG, 0.0)


def test_a_denied_answer_says_so_and_counts_where_that_is_wanted():
    denied = graded("contains", "It is not Canberra.", "Canberra")
    assert denied.note == "the reply holds 'Canberra', but denies it"
    assert graded("contains:strict=false", "It is not Canberra.", "Canberra").score == 1.0


def test_all_asks_for_every_answer():
    assert graded("contains:all=true", "Lead and tin.", "lead", "tin").score == 1.0
    assert graded("contains:all=true", "Lead.", "lead", "tin").score == 0.0


def test_a_line_that_the_prompt_asked_for_has_to_equal_an_answer_and_other_replies_are_searched():
    by_line = "contains:line=equal"
    assert graded(by_line, "Answer: Canberra, or Sydney", "Canberra").score == 0.0
    assert graded(by_line, "Answer: the Canberra.", "Canberra").score == 1.0
    assert graded(by_line, "The capital is Canberra.", "Canberra").score == 1.0


def test_the_answer_is_kept_as_the_reply_writes_it():
    assert graded("contains", "It is CANBERRA, of course.", "canberra").answer == "CANBERRA"


WORD = st.text(alphabet="abcdefghij", min_size=3, max_size=8)


@given(answer=WORD, before=st.lists(WORD, max_size=6), after=st.lists(WORD, max_size=6))
def test_a_whole_word_is_found_wherever_it_stands(answer, before, after):
    reply = " ".join([*before, answer, *after])
    assert graded("contains", reply, answer).score == 1.0


@given(answer=st.text(max_size=20).filter(str.strip), reply=st.text(max_size=200))
def test_any_text_is_graded(answer, reply):
    assert graded("contains", reply, answer).score in (0.0, 1.0)


@given(answer=st.text(alphabet=st.characters(categories=["P", "S"]), min_size=1, max_size=4))
def test_an_answer_without_letters_and_digits_is_not_contained_in_everything(answer):
    assert graded("contains", "plain words alone", answer).score == 0.0


def test_of_a_very_long_reply_both_ends_are_searched():
    filler = "word " * 300_000
    assert graded("contains", f"Canberra. {filler}", "Canberra").score == 1.0
    assert graded("contains", f"{filler} Canberra.", "Canberra").score == 1.0
    assert len(filler) > 2 * (HEAD + TAIL)
