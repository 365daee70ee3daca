"""`json`: found in a reply, checked by a schema, compared field by field."""

from __future__ import annotations

import json

import pytest
from grading_examples import graded
from hypothesis import given
from hypothesis import strategies as st

from proctor.errors import ConfigError
from proctor.grading.graders.json import json_in
from proctor.grading.spec import Files, grader_of_table, parse_grader, words_typed_here
from proctor.types import Outcome

GOLD = '{"city": "Brno", "people": {"count": 3, "names": ["Eva", "Jan"]}}'


@pytest.mark.parametrize(
    "reply",
    [
        GOLD,
        f"Here you are:\n```json\n{GOLD}\n```\nAnything else?",
        f"First [1, 2], then {GOLD}",
        f"```\n[]\n```\nNo, this:\n```\n{GOLD}\n```",
        f"<think>{{}}</think>{GOLD}",
    ],
)
def test_json_is_found_where_it_stands(reply):
    assert graded("json", reply, GOLD).score == 1.0


def test_the_score_is_the_share_of_fields_that_are_right():
    grade = graded("json", '{"city": "brno", "people": {"count": 3.0, "names": ["Eva"]}}', GOLD)
    assert (grade.outcome, grade.score) == (Outcome.WRONG, 0.5)
    assert grade.note == '$.city is "brno", not "Brno"'


def test_how_fields_are_compared_can_be_told():
    reply = '{"city": "the brno", "people": {"count": 3.1, "names": ["Eva", "Jan"]}, "more": 1}'
    assert graded("json:texts=normalized,rel=0.1", reply, GOLD).score == 1.0
    assert graded("json:texts=normalized,rel=0.1,extra=refuse", reply, GOLD).score == 0.8
    assert graded("json:fields=people.names", reply, GOLD).score == 1.0


def test_without_a_right_answer_it_has_to_be_valid_and_fit_the_schema():
    schema = 'json:schema={"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}'
    assert graded("json", "[1, 2]").outcome is Outcome.CORRECT
    assert graded("json", "{1: 2}").outcome is Outcome.NO_ANSWER
    assert graded(schema, '{"a": 1}').score == 1.0
    grade = graded(schema, '{"a": "x"}')
    assert (grade.score, grade.note) == (0.0, 'does not fit the schema: $.a: "x" is not of type "integer"')


def test_true_is_not_one_and_not_a_number_is_no_json():
    assert graded("json", '{"a": true}', '{"a": 1}').score == 0.0
    assert graded("json", '{"a": NaN}', '{"a": 1}').outcome is Outcome.NO_ANSWER


def test_a_schema_is_read_from_a_file_beside_the_suite(tmp_path):
    (tmp_path / "answer.json").write_text('{"type": "array"}')
    grader = grader_of_table(
        {"name": "json", "schema": "answer.json"}, where="suite.toml", files=Files(tmp_path)
    )
    assert parse_grader(grader.words) == grader


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ('{"type": "thing"}', "no JSON Schema"),
        ('{"$ref": "http://127.0.0.1:9/x"}', "no JSON Schema"),
        ('{"a"', "no valid JSON"),
    ],
)
def test_what_is_no_schema_is_refused_before_anything_is_asked(schema, says):
    with pytest.raises(ConfigError, match=says):
        parse_grader(f"json:schema={schema}")


def test_a_path_is_read_for_whom_the_file_is_at_hand_and_for_nobody_else(tmp_path, monkeypatch):
    """Words from elsewhere, a column of an uploaded file or a bundle, never open a file of this machine."""
    (tmp_path / "below").mkdir()
    (tmp_path / "answer.json").write_text('{"type": "array"}')
    words = f"json:schema={tmp_path}/answer.json"
    with pytest.raises(ConfigError, match=r"give the text itself"):
        parse_grader(words)
    below = Files(tmp_path / "below")
    for path in ("../answer.json", f"{tmp_path}/answer.json"):
        with pytest.raises(ConfigError, match=r"lies outside the folder"):
            grader_of_table({"name": "json", "schema": path}, where="suite.toml", files=below)
    assert words_typed_here(words) == 'json/1:schema={"type": "array"}'
    monkeypatch.chdir(tmp_path)
    assert words_typed_here("json:schema=answer.json") == words_typed_here(words)
    assert words_typed_here("number:rel=0.01") == "number:rel=0.01"


def test_a_pattern_in_a_schema_cannot_run_away():
    grader = 'json:schema={"pattern": "^(?=a)(a|aa)+$"}'
    assert graded(grader, json.dumps("a" * 5_000 + "b")).score in (0.0, 1.0)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_every_value_equals_itself(value):
    written = json.dumps(value)
    assert graded("json", written, written).score == 1.0


@given(st.text(max_size=200))
def test_any_text_is_searched_for_json(text):
    json_in(text)
