"""What a user's file can get wrong, and which file, line and column the error names."""

from __future__ import annotations

import pytest
from question_files import REVIEWS, numbered, source

from proctor.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            numbered(1, 2),
            r"q\.jsonl: the numbers in 'answer' may count from 0 or from 1: the 1 of line 1 is B counted from 0 and A "
            r"counted from 1; say which is meant with --numbers from-0, from-1 or texts",
        ),
        (
            numbered(0, 4),
            "fit neither counting from 0 nor from 1: line 1 has 0 of 4 choices and line 2 has 4 of 4",
        ),
        (numbered(-1, 0), r"line 1, column 'answer': the answer -1 is none of 4 choices"),
        (
            numbered(1, 2, options=("2", "1", "0", "5")),
            "may be places and texts of options: the 1 of line 1 is B counted from 0 and A counted from 1 and B as a",
        ),
        (
            numbered("E"),
            "the answer 'E' names no choice; it has to be a letter from A to D or the exact text",
        ),
        (numbered("same", options=("same", "same")), "names more than one choice"),
        (numbered("B", "w", "C", options=("B", "A", "w")), "names more than one choice"),
        (numbered("A", options=()), "0 choices; from 1 to 26 are possible"),
        (numbered("A", options=("one", " ")), r"column 'choices': a choice is empty"),
        (numbered("A", options=("one", None)), r"column 'choices': a choice is empty"),
        ([{"question": "?", "choices": 5, "answer": "A"}], "choices have to be a list"),
        ([{"question": "?", "choices": "[1", "answer": "A"}], "not a JSON list"),
        (
            [{"question": "?", "choices": {"x": 1, "y": 2}, "answer": "A"}],
            "an object by letter from A or by number",
        ),
        ([*numbered("A"), {"question": "?", "answer": "A"}], "line 2, column 'choices': choices have to be"),
    ],
)
def test_choices_that_cannot_be_understood(file, rows, message):
    with pytest.raises(DataError, match=message):
        source(file("q.jsonl", rows))


@pytest.mark.parametrize(
    ("messages", "message"),
    [
        ("hello", "not a list of messages"),
        ([], "not a list of messages"),
        ([{"role": "user"}], "message 1 has to have role and content"),
        (
            [{"role": "user", "content": "x", "name": "y"}],
            "message 1 has to have role and content and nothing else",
        ),
        ([{"role": "robot", "content": "x"}], "the role 'robot'; known: system, developer, user, assistant"),
        ([{"role": "user", "content": [1]}], "the content of message 1 is not text"),
    ],
)
def test_bad_messages(file, messages, message):
    with pytest.raises(DataError, match=rf"q\.jsonl, line 1, column 'messages': .*{message}"):
        source(file("q.jsonl", [{"messages": messages, "answer": "x"}]))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.csv", "", r"q\.csv: the file is empty. Accepted: JSON lines"),
        ("q.csv", " \n\n", r"q\.csv: the file is empty"),
        ("q.csv", "question,answer\n", r"q\.csv: the file holds no rows"),
        ("q.json", "[]", r"q\.json: the file holds no rows"),
        (
            "q.csv",
            "frage,answer\nx,y\n",
            "no column with questions. Its columns: frage, answer. Recognised names: question",
        ),
        (
            "q.csv",
            "question,antwort\nx,y\n",
            "no column with answers, and scoring needs one. .* answer, target, label",
        ),
        ("q.csv", "question,answer\nx,y\nz,\n", r"q\.csv, line 3, column 'answer': the answer is missing"),
        (
            "q.csv",
            "question,answer\nx,\ny,z\nx,\nx,\n",
            r"line 2, column 'answer': the answer is missing \(and in 2 more rows: line 4, line 5\)",
        ),
        ("q.xlsx", b"PK\x03\x04\x14\x00", "q\\.xlsx: an archive, and no workbook that can be read"),
        (
            "q.csv",
            'question,answer\n"x\ny",z\nq\n',
            r"q\.csv, line 4, column 'answer': the answer is missing",
        ),
        ("q.csv", "question,answer\n,y\n", r"q\.csv, line 2, column 'question': the question is missing"),
        (
            "q.csv",
            "question,answer\nx,y,z\n",
            r"q\.csv, line 2: 3 cells under 2 columns; .*\(commas\) needs \"quotes\"",
        ),
        ("q.csv", "question,answer,answer\nx,y,z\n", r"q\.csv, line 1: two columns are named 'answer'"),
        ("q.csv", 'question,answer\n"x,y\n', r"q\.csv, line \d: unexpected end of data"),
        ("q.csv", b"question,answer\nx,y\n\xff,y\n", r"q\.csv, line 3: not UTF-8"),
        (
            "q.jsonl",
            '{"question": "x", "answer": "y"}\n{"question": \n',
            r"q\.jsonl, line 2: not JSON \(unexpected end of data, character 13\)",
        ),
        (
            "q.jsonl",
            '{"question": "x", "answer": "y"}\n[]\n',
            r"q\.jsonl, line 2: not a JSON object but list",
        ),
        (
            "q.jsonl",
            '{"question": "x"}\n{"answer": "y"}',
            r"q\.jsonl, line 1, column 'answer': the answer is missing",
        ),
        (
            "q.jsonl",
            '{"question": "x", "answer": {"a": 1}}',
            "an answer is text, a number, true or false, or a list",
        ),
        ("q.jsonl", '{"question": "x", "answer": []}', "the answer is missing"),
        ("q.jsonl", '{"question": 5, "answer": "y"}', "the question is missing or not text"),
        ("q.json", '[{"question": "x", "answer": "y"}, 3]', r"q\.json, element 2: not a JSON object but int"),
        ("q.json", '[{"question": "x",]', r"q\.json, line 1, column \d+: not JSON"),
        (
            "q.csv",
            "id,question,answer\n7,x,y\n8,x,y\n7,x,y\n",
            r"q\.csv, line 4, column 'id': the id '7' stands in line 2 too",
        ),
        ("q.jsonl", '{"id": true, "question": "x", "answer": "y"}', "the id is missing or neither"),
    ],
)
def test_errors_name_file_line_and_column(file, name, content, message):
    with pytest.raises(DataError, match=message):
        source(file(name, content))


def test_a_file_that_is_not_there_and_options_that_make_no_sense(tmp_path, file):
    with pytest.raises(DataError, match=r"No such file or directory\. Name a file with questions"):
        source(tmp_path / "none.csv")
    path = file("q.csv", REVIEWS)
    with pytest.raises(ConfigError, match="A file has no tasks to select; leave out boolq"):
        source(path, tasks=("boolq",))
    with pytest.raises(ConfigError, match="The limit is -1"):
        source(path, limit=-1)
