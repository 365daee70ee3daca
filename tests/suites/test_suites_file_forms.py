"""What a user's file may look like: columns, options, letters and numbers as people write them."""

from __future__ import annotations

import json

import pytest
from question_files import by_id, numbered, source

from proctor.errors import DataError
from proctor.types import Outcome, Reply


def targets(found):
    return "".join(item.target for _, item in sorted(by_id(found).items()))


def told(found):
    return "\n".join(found.understood)


def test_a_row_with_one_option_is_asked_and_told(file):
    found = source(file("q.jsonl", [*numbered("A", options=("only",)), *numbered("B")]))
    assert by_id(found)["q/0"].options == ("A",)
    assert found.grader.grade(by_id(found)["q/0"], Reply("Answer: A")).outcome is Outcome.CORRECT
    assert "1 row has one option only (line 1): nothing else can be answered" in told(found)


def test_a_letter_is_a_letter_where_every_answer_is_one(file):
    """Blood groups: A, B and O are texts of options and letters of others."""
    blood = ("O", "A", "B", "AB")
    found = source(file("q.jsonl", numbered("A", "B", "C", "d", options=blood)))
    assert targets(found) == "ABCD"
    assert "in 2 rows the letter is another option's text too (line 1)" in told(found)


def test_texts_are_texts_where_an_answer_can_be_nothing_else(file):
    blood = ("O", "A", "B", "AB")
    assert targets(source(file("q.jsonl", numbered("O", "AB", "A", options=blood)))) == "ADB"
    # Some are texts and some are letters: what "A" is stays open.
    with pytest.raises(
        DataError, match=r"line 1, column 'answer': the answer 'A' names more than one choice"
    ):
        source(file("q.jsonl", numbered("A", "AB", "C", options=("O", "A", "D", "AB"))))


def test_a_letter_beyond_the_options_does_not_make_letters_texts(file):
    with pytest.raises(DataError, match="the answer 'E' names no choice") as raised:
        source(file("q.jsonl", numbered("A", "E", options=("B", "A"))))
    assert "names more than one" not in str(raised.value)


@pytest.mark.parametrize("answer", ["(B)", "B.", "b)", "[B]"])
def test_a_letter_may_stand_in_brackets(file, answer):
    assert targets(source(file("q.jsonl", numbered(answer)))) == "B"


@pytest.mark.parametrize(
    "name", ["answer_index", "answer_idx", "Answer Index", "label index", "correct_index", "answerKey", "cop"]
)
def test_an_index_has_a_column_of_many_names(file, name):
    rows = [{"question": f"{n}?", "choices": ["w", "x", "y"], name: n} for n in (0, 2, 1)]
    found = source(file("q.jsonl", rows))
    assert targets(found) == "ACB"
    assert f"numbers in {name!r} count options from 0" in told(found)


def test_numbers_of_rows_that_fit_one_counting_are_read_by_it(file):
    found = source(file("q.jsonl", numbered("1", "4", 2.0, "3.0")))
    assert targets(found) == "ADBC"
    assert "numbers in 'answer' count options from 1" in told(found)


@pytest.mark.parametrize(("numbers", "letters"), [("from-0", "BC"), ("from-1", "AB"), ("texts", "CD")])
def test_the_user_settles_what_the_rows_leave_open(file, numbers, letters):
    path = file("q.jsonl", numbered(1, 2, options=("7", "0", "1", "2")))
    with pytest.raises(
        DataError, match=r"the 1 of line 1 is B counted from 0 and A counted from 1 and C as a text"
    ):
        source(path)
    found = source(path, numbers=numbers)
    assert targets(found) == letters
    assert "as --numbers says" in told(found)


def test_numbers_that_no_counting_has_are_named_with_their_rows(file):
    with pytest.raises(
        DataError, match=r"line 3, column 'answer': the answer 9 is none of 4 choices"
    ) as raised:
        source(file("q.jsonl", numbered(0, 1, 9)))
    assert "may count" not in str(raised.value)
    with pytest.raises(
        DataError, match=r"line 2, column 'answer': the answer 4 is none of 4.*count options from 0"
    ):
        source(file("q.jsonl", numbered(0, 4)), numbers="from-0")


def test_readings_that_agree_in_every_row_need_no_settling(file):
    assert targets(source(file("q.jsonl", numbered(1, 3, 2, options=("1", "2", "3"))))) == "ACB"


@pytest.mark.parametrize(
    "row",
    [
        {"choices": {"1": "w", "2": "x", "3": "y"}},
        {"choices": ["1. w", "2. x", "3. y"]},
        {"choices": ["1) w", "2) x", "3) y"]},
        {"choice1": "w", "choice2": "x", "choice3": "y"},
        {"choices": {"text": ["w", "x", "y"], "label": ["1", "2", "3"]}},
        {"opa": "w", "opb": "x", "opc": "y", "answer": "B"},
        {"choices": "['w', 'x', 'y']", "answer": "B"},
        {"choices": {"text": ["w", "x", "y"], "label": ["A", "B", "C"]}, "answer": "B"},
    ],
)
def test_options_are_numbered_and_written_in_many_ways(file, row):
    found = source(file("q.jsonl", [{"question": "?", "answer": 2, **row}]))
    (item,) = found.items()
    assert (item.target, len(item.choices)) == ("B", 3)


def test_columns_numbered_from_one_do_not_overrule_answers_that_count_from_zero(file):
    """COPA is written so: choice1 and choice2, labels 0 and 1."""
    rows = [{"question": f"{n}?", "choice1": "w", "choice2": "x", "label": n} for n in (0, 1)]
    assert targets(source(file("q.jsonl", rows))) == "AB"


ROW = {"question": "Who?", "answer": "Ann"}


@pytest.mark.parametrize(
    ("content", "form"),
    [
        ({"version": 1, "data": [ROW, ROW | {"question": "Why?"}]}, "JSON, the list 'data'"),
        ({"a": ROW, "b": ROW | {"question": "Why?"}}, "JSON, an object by id"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_rows_further_in_are_found(file, content, form, indent):
    found = source(file("q.json", json.dumps(content, indent=indent)))
    assert (len(found), f"({form})" in told(found)) == (2, True)


def test_a_table_saved_by_excel(file):
    text = "\ufeffQuestion;A;B;C;D;Correct Answer;;\r\nGr\xf6\xdfe; or \x93size\x94?;1;2;3;4;B;;\r\n"
    found = source(file("q.csv", text.replace("Gr\xf6\xdfe;", "Gr\xf6\xdfe,")))
    (item,) = found.items()
    assert (item.target, item.choices) == ("B", ("1", "2", "3", "4"))


def test_a_real_set_whose_answers_are_texts_has_a_text_that_is_a_letter(shared, file):
    """MedQA: one answer of many texts reads "B", which is the text of option A."""
    lines = (shared / "data/medical/medqa/phrases_no_exclude_test.jsonl").read_text().splitlines()
    found = source(file("medqa.jsonl", "\n".join(lines)))
    right = {f"medqa/{n}": json.loads(line)["answer_idx"] for n, line in enumerate(lines)}
    assert {name: item.target for name, item in by_id(found).items()} == right


def test_a_real_set_that_counts_from_one_is_read_as_it_is(shared, file):
    lines = (shared / "data/medical/medmcqa/dev.json").read_text().splitlines()[:200]
    found = source(file("medmcqa.jsonl", "\n".join(lines)))
    right = {f"medmcqa/{row['id']}": "ABCD"[row["cop"] - 1] for row in map(json.loads, lines)}
    assert {name: item.target for name, item in by_id(found).items()} == right


def test_a_table_without_names_of_columns_is_told_to_get_them(shared):
    with pytest.raises(DataError, match="put one with names above it, such as question,A,B,C,D,answer"):
        source(shared / "data/mmlu/test/anatomy_test.csv")
