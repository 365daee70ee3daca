"""`proctor data` as a user types it: import, list, show, verify."""

from __future__ import annotations

import pytest
from import_files import jsonl, write_all

from proctor.sources.exams.rows.normal_form import Row, rows_path, write_rows
from programs import proctor, proctor_json

pytestmark = pytest.mark.slow  # whole commands and runs; make test-fast leaves them out

COMMIT = "c" * 40
COPA = {"premise": "It rained.", "choice1": "a", "choice2": "b", "question": "effect", "idx": 0, "label": 1}


@pytest.fixture
def home(tmp_path):
    """A home with one imported and one downloaded set, neither of the official size."""
    path = tmp_path / "home"
    write_all(tmp_path / "in", {"COPA/val.jsonl": jsonl(COPA)})
    path.mkdir()
    proctor(path, "data", "import", str(tmp_path / "in"))
    row = Row("axg/0", "axg", None, {"premise": "p", "hypothesis": "h"})
    write_rows(path, "axg", "eval", [row], source=["hub:aps/super_glue"], now=1.0, revision=COMMIT)
    return path


def test_list_tells_where_each_set_comes_from(home):
    lines = [line.split() for line in proctor(home, "data", "list").stdout.splitlines()]
    assert lines[0] == ["task", "split", "origin", "rows", "revision", "sha256", "from"]
    told = {line[0]: (line[1], line[2], line[3], line[4], line[6]) for line in lines[1:]}
    assert told == {
        "copa": ("eval", "imported", "1", "-", "COPA/val.jsonl"),
        "axg": ("eval", "hub", "1", COMMIT[:12], "hub:aps/super_glue"),
    }
    records = proctor_json(home, "data", "list")["tasks"]
    assert [(r["origin"], r["task"], r["n"]) for r in records] == [("imported", "copa", 1), ("hub", "axg", 1)]


def test_show_tells_answers_and_first_rows(home):
    text = proctor(home, "data", "show", "copa").stdout
    for part in ("copa (eval, imported): 1 rows", "answers: B 1", "copa/0 -> B", "choices: a | b"):
        assert part in text
    hidden = proctor(home, "data", "show", "axg").stdout
    assert f"from hub:aps/super_glue at {COMMIT[:12]}" in hidden
    assert "axg/0 -> not published" in hidden
    (shown,) = proctor_json(home, "data", "show", "copa")["sets"]
    assert shown["first"][0]["target"] == "B"


def test_show_of_what_is_not_here(home):
    assert "No task 'nope'" in proctor(home, "data", "show", "nope", code=2).stderr
    missing = proctor(home, "data", "show", "wsc", code=2).stderr
    assert "No rows for wsc" in missing
    assert "proctor data import PATH" in missing


def test_verify_names_what_differs_and_exits_with_one(home):
    text = proctor(home, "data", "verify", code=1).stdout
    assert "COPA (eval) has 1 rows, the official set 100." in text
    assert text.splitlines()[-1] == "2 sets checked; 2 differ."
    rows_path(home, "copa", "eval").write_bytes(b"")
    (fault,) = proctor_json(home, "data", "verify", code=1)["sets"][0]["faults"]
    assert "the rows are not those that were imported" in fault


def test_an_empty_home_says_how_to_fill_it(tmp_path):
    for command in ("list", "verify"):
        assert "proctor data import PATH" in proctor(tmp_path, "data", command).stdout


def test_official_rows_verify_without_fault(tmp_path, shared):
    proctor(tmp_path, "data", "import", str(shared / "data/medical"))
    assert proctor(tmp_path, "data", "verify").stdout == "4 sets checked; all are as they should be.\n"
