"""All that is wrong with a user's file is told in one pass, and a lenient run does without bad rows."""

from __future__ import annotations

import re

import pytest
from question_files import answered, by_id, numbered, source

from proctor.errors import ConfigError, DataError
from proctor.plan.doors import from_keywords

GOOD = [{"question": f"Is it {n}?", "choices": ["w", "x"], "answer": "AB"[n % 2]} for n in range(4)]
MIXED = "\n".join(
    [
        '{"question": "Right?", "choices": ["w", "x"], "answer": "B"}',
        '{"question": "", "choices": ["w", "x"], "answer": ""}',
        "no JSON",
        '{"question": "Which?", "choices": ["w", "x"], "answer": "E"}',
        '{"question": "None?", "choices": [], "answer": "A"}',
        '{"question": "Left?", "choices": ["w", "x"], "answer": "A"}',
        "[1, 2]",
        '{"question": "Gone?", "choices": ["w", "x"]}',
    ]
)
FAULTS = [
    r"line 2, column 'answer': the answer is missing \(and in 1 more row: line 8\); each row needs one",
    r"line 2, column 'question': the question is missing or not text",
    r"line 3: not JSON \(.*, character 1\)",
    r"line 4, column 'answer': the answer 'E' names no choice",
    r"line 5, column 'choices': 0 choices; from 1 to 26 are possible",
    r"line 7: not a JSON object but list",
]


def test_one_error_names_every_bad_row_and_what_to_do(file):
    with pytest.raises(DataError) as raised:
        source(file("q.jsonl", MIXED))
    head, *faults, cure = str(raised.value).splitlines()
    assert head == "q.jsonl: 6 of 8 rows cannot be used:"
    for line in FAULTS:
        assert any(re.search(line, fault) for fault in faults), line
    assert len(faults) == len(FAULTS)
    assert "--lenient" in cure and "lenient=True" in cure


def test_a_csv_is_read_to_its_end_too(file):
    text = "question,answer\nwhy,y\nwho,y,z\n,y\nwhen,\n"
    with pytest.raises(DataError, match="3 of 4 rows cannot be used") as raised:
        source(file("q.csv", text))
    told = str(raised.value)
    assert all(
        part in told for part in ("line 3: 3 cells under 2 columns", "line 4, column", "line 5, column")
    )


def test_a_long_list_of_faults_is_cut_and_counted(file):
    rows = [*GOOD, *numbered(*(f"no {n}" for n in range(50)), options=("w", "x"))]
    with pytest.raises(DataError) as raised:
        source(file("q.jsonl", rows))
    lines = str(raised.value).splitlines()
    assert lines[0] == "q.jsonl: 50 of 54 rows cannot be used:"
    assert len(lines) == 23 and lines[-2].strip() == "and 30 more rows with other faults"
    rows = [*GOOD, *({"question": "", "choices": ["w"], "answer": "A"} for _ in range(50))]
    with pytest.raises(DataError, match=r"line 5, .*\(and in 49 more rows: line 6, .*line 25, \.\.\.\)"):
        source(file("q.jsonl", rows))


def test_a_lenient_run_leaves_bad_rows_out_and_says_which(file):
    found = source(file("q.jsonl", MIXED), lenient=True)
    assert set(by_id(found)) == {"q/0", "q/5"}  # a row's id does not hang on the others
    assert found.title == "q.jsonl (6 of 8 rows left out)"
    told = "\n".join(found.understood)
    assert "LEFT OUT (--lenient): 6 of 8 rows cannot be used" in told
    assert "line 4, column 'answer': the answer 'E' names no choice" in told
    gone = found.facts.left_out
    assert (gone.rows, gone.of, len(gone.faults)) == (6, 8, len(FAULTS))
    assert found.facts.tasks["q"].title == "q.jsonl (6 of 8 rows left out)"
    # Replies that were made row by row still find their rows.
    assert found.row_ids == tuple(f"q/{n}" for n in range(8))


def test_a_lenient_run_of_a_good_file_is_like_any_other(file):
    path = file("q.jsonl", GOOD)
    strict, lenient = source(path), source(path, lenient=True)
    assert strict.facts == lenient.facts
    assert (strict.title, strict.understood) == (lenient.title, lenient.understood)


def test_lenience_does_not_read_a_file_that_holds_no_good_row(file):
    with pytest.raises(DataError, match="2 of 2 rows cannot be used") as raised:
        source(
            file("q.jsonl", [{"question": "", "answer": "x"}, {"question": "?", "answer": ""}]), lenient=True
        )
    assert "--lenient" not in str(raised.value)


def test_lenience_does_not_settle_what_numbers_mean(file):
    rows = [*numbered(1, 2), {"question": "", "choices": ["w", "x"], "answer": 1}]
    with pytest.raises(DataError, match="may count from 0 or from 1") as raised:
        source(file("q.jsonl", rows), lenient=True)
    assert "line 3, column 'question'" in str(raised.value)
    found = source(file("q.jsonl", rows), lenient=True, numbers="from-1")
    assert (found.facts.left_out.rows, found.facts.left_out.of) == (1, 3)


def test_ids_that_stand_twice_are_faults_of_their_rows(file):
    text = "id,question,answer\n7,why,y\n8,who,y\n7,when,y\n,where,y\n"
    with pytest.raises(DataError, match="2 of 4 rows cannot be used") as raised:
        source(file("q.csv", text))
    assert "line 4, column 'id': the id '7' stands in line 2 too" in str(raised.value)
    found = source(file("q.csv", text), lenient=True)
    assert set(by_id(found)) == {"q/7", "q/8"}
    assert found.row_ids == ("q/7", "q/8", "q/line 4", "q/line 5")


def test_rows_of_a_suite_of_ones_own_are_left_out_by_task(file):
    file("one.jsonl", MIXED)
    file("two.jsonl", GOOD)
    toml = file(
        "mine.toml",
        '[suite]\nname = "mine"\n[[tasks]]\nkey = "one"\nfile = "one.jsonl"\n'
        '[[tasks]]\nkey = "two"\nfile = "two.jsonl"\n',
    )
    with pytest.raises(DataError, match=r"one\.jsonl: 6 of 8 rows"):
        source(toml)
    found = source(toml, lenient=True)
    assert found.title == "mine (6 of 12 rows left out)"
    assert {key: task.title for key, task in found.facts.tasks.items()} == {
        "one": "one (6 of 8 rows left out)",
        "two": "two",
    }
    assert found.facts.asked == {"one": 2, "two": 4}


def test_worked_examples_are_mended_and_not_left_out(file):
    file("one.jsonl", GOOD)
    file("dev.jsonl", MIXED)
    toml = file(
        "mine.toml",
        '[suite]\nname = "mine"\n[[tasks]]\nkey = "one"\nfile = "one.jsonl"\ndev_file = "dev.jsonl"\n',
    )
    with pytest.raises(DataError, match=r"dev\.jsonl: 6 of 8 rows cannot be used") as raised:
        source(toml, shots=1, lenient=True)
    assert str(raised.value).endswith("Mend the file.")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("q.jsonl", b"%PDF-1.7\n%\xe2\xe3", "a PDF, not text"),
        ("q.csv", b"%PDF-1.7\n%\xe2\xe3", "a PDF, not text"),
        ("q.csv", "<!DOCTYPE html>\n<html></html>", "a page of HTML or XML, not questions"),
        ("q.jsonl", b"\x1f\x8b\x08\x00", "packed with gzip. Unpack it first"),
        ("q.parquet", b"PAR1\x15\x04", "not a whole Parquet file"),
        ("q.xls", b"\xd0\xcf\x11\xe0\xa1\xb1", "an old workbook, not text. Save it as XLSX or CSV"),
        ("q.csv", "question,answer\nwas,wer\n".encode("utf-16-le"), "text in UTF-16 without its mark"),
        ("q.csv", b"\xff\xfeq\x00u", "not whole as UTF-16"),
        (
            "q.csv",
            "question;answer\nWo?;K\xf6ln\n".encode("cp1252"),
            r"line 2: not UTF-8 .*0xf6.* 'CSV UTF-8'",
        ),
        (
            "q.jsonl",
            '{"question": "Wo?", "answer": "K\xf6ln"}'.encode("cp1252"),
            r"line 1: not UTF-8 .*iconv",
        ),
        ("q.jsonl", "no\nJSON\nat all\n", "no column with questions"),
    ],
)
def test_a_file_that_is_something_else_is_called_by_its_name(file, name, content, message):
    with pytest.raises(DataError, match=message):
        source(file(name, content))


def test_a_line_without_end_is_not_read_and_the_others_are(file):
    path = file("q.jsonl", answered("x", "y"))
    with path.open("ab") as more:
        more.write(b'\n{"question": "' + b"x" * (65 * 2**20) + b'"}\n')
    with pytest.raises(DataError, match="line 3: longer than 64 MiB; one line is one question"):
        source(path)
    assert len(source(path, lenient=True)) == 2


def test_a_file_beyond_all_bounds_is_not_opened(tmp_path):
    path = tmp_path / "q.jsonl"
    with path.open("wb") as sparse:
        sparse.truncate(3 * 2**30)
    with pytest.raises(DataError, match=r"q\.jsonl: 3\.0 GiB, and a file of questions may have 1\. Split it"):
        source(path)


def test_numbers_have_three_meanings():
    with pytest.raises(ConfigError, match="numbers='from-2': choose from from-0, from-1, texts"):
        from_keywords({"numbers": "from-2"})
