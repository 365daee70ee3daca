"""The grader that is taken where nobody names one, and the reason that is told."""

from __future__ import annotations

import pytest

from proctor.grading.choosing import choose


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["Canberra", "Paris"], "contains/1"),
        (["42", "1,000", "3.5 km", "20%"], "number/1"),
        (["1990"], "number/1"),
        (["1990", "1991", "1992", "1993", "1994"], "date/1"),
        (["4 July 1776", "1999"], "date/1"),
        (["25/12/2024", "03/04/2025"], "date/1:order=dmy"),
        (["12/25/2024", "03/04/2025"], "date/1:order=mdy"),
        (["03/04/2025", "05/06/2025"], "contains/1"),
        (['{"a": 1}', "[1]"], "json/1"),
        (["5 people", "six"], "contains/1"),
        (["It depends on the country.", "There is no such thing as that."], "none/1"),
        (["The Hitchhiker's Guide to the Galaxy", "Of Mice and Men"], "contains/1"),
        (["*"], "contains/1"),
    ],
)
def test_the_answers_tell_the_grader(answers, words):
    choice = choose([[answer] for answer in answers], asks_for_line=False)
    assert choice.grader.words == words
    assert all(choice.grader.fault([answer]) is None for answer in answers)


def test_where_the_prompt_asks_for_a_line_the_line_has_to_be_the_answer():
    choice = choose([["Canberra"]], asks_for_line=True)
    assert choice.grader.words == "contains/1:line=equal"
    assert "last line" in choice.why


def test_sentences_are_left_to_a_judge_and_the_reason_says_how_many():
    rows = [["It depends on the country."], ["Canberra"]]
    why = choose(rows, asks_for_line=False).why
    assert why.startswith("Grader none: in 1 of 2 rows")
    assert "judge model" in why


def test_aliases_are_looked_at_too():
    rows = [["Sí.", "Sí, la taxa es más alta en México.", "No tengo ningún comentario."]]
    assert choose(rows, asks_for_line=False).grader.words == "none/1"
    assert choose([["six", "6"], ["seven", "7"]], asks_for_line=False).grader.words == "number/1"
