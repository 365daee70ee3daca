"""Replies made elsewhere: what a line of the file may say, and what proctor makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import ConfigError, DataError
from proctor.providers.replay import join
from proctor.replies.lines import Recorded, read_replies
from proctor.types import Reply


def said(tmp_path: Path, *lines: Any) -> list[Reply]:
    """The replies of a file with these lines, one after the other."""
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return [reply for recorded in read_replies(path) for reply in recorded.replies]


def batch_line(**choice: Any) -> dict[str, Any]:
    choices = [{"index": 0, "message": {"role": "assistant", "content": "B"}, **choice}]
    return {"custom_id": "q1", "response": {"status_code": 200, "body": {"choices": choices}}}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "refused"),
        (None, "unknown"),
        ("server_said_so", "unknown"),
    ],
)
def test_a_batch_line_keeps_why_the_model_ended(tmp_path: Path, reason: str | None, finish: str) -> None:
    assert said(tmp_path, batch_line(finish_reason=reason))[0].finish == finish


def test_a_reply_whose_source_gives_no_reason_for_its_end_says_so(tmp_path: Path) -> None:
    lines = [{"output": "B"}, {"outputs": ["B", "C"]}, {"text": "B"}, batch_line()]
    assert {reply.finish for reply in said(tmp_path, *lines)} == {"unknown"}


@pytest.mark.parametrize("key", ["output", "text", "reply", "response", "outputs"])
def test_a_reply_may_stand_under_several_names(tmp_path: Path, key: str) -> None:
    assert [reply.text for reply in said(tmp_path, {key: "Answer: B"}, {key: ["C", "D"]})] == [
        "Answer: B",
        "C",
        "D",
    ]


@pytest.mark.parametrize("key", ["finish_reason", "finish", "stop_reason"])
def test_a_line_of_ones_own_says_why_the_model_ended_and_what_it_took(tmp_path: Path, key: str) -> None:
    line = {"reply": "B", key: "LENGTH", "input_tokens": 9, "output_tokens": 3, "reasoning": "Hm."}
    (reply,) = said(tmp_path, line)
    assert reply == Reply("B", reasoning="Hm.", finish="length", input_tokens=9, output_tokens=3)
    two = said(tmp_path, {"outputs": ["B", "C"], key: ["stop", "length"], "output_tokens": 6})
    assert [(reply.finish, reply.output_tokens) for reply in two] == [("stop", None), ("length", None)]


def test_a_batch_line_has_its_counts_and_one_of_several_choices_has_none(tmp_path: Path) -> None:
    line = batch_line(finish_reason="stop")
    body = line["response"]["body"]
    body["usage"] = {
        "prompt_tokens": 9,
        "completion_tokens": 6,
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    (one,) = said(tmp_path, line)
    assert (one.input_tokens, one.output_tokens, one.reasoning_tokens) == (9, 6, 2)
    body["choices"] *= 2
    assert [(r.input_tokens, r.output_tokens) for r in said(tmp_path, line)] == [(9, None), (9, None)]


def test_a_refusal_is_one_whatever_the_reason_says(tmp_path: Path) -> None:
    line = batch_line(finish_reason="stop")
    line["response"]["body"]["choices"][0]["message"] = {"content": None, "refusal": "I cannot."}
    assert said(tmp_path, line) == [Reply("I cannot.", finish="refused")]


def test_the_text_parts_of_a_message_are_its_text(tmp_path: Path) -> None:
    line = batch_line()
    parts = [{"type": "text", "text": "Answer: "}, {"type": "text", "text": "B"}]
    line["response"]["body"]["choices"][0]["message"]["content"] = parts
    assert said(tmp_path, line)[0].text == "Answer: B"


def test_all_bad_lines_are_named_in_one_error(tmp_path: Path) -> None:
    bad = [
        {"answer": "B"},
        {"output": 5},
        {"outputs": ["B", None]},
        [1],
        {"output": "B", "output_tokens": "many"},
        batch_line() | {"response": {"body": {"choices": [{"message": {"content": 7}}]}}},
        batch_line() | {"response": {"body": {"choices": [7]}}},
        batch_line() | {"response": {"status_code": "200", "body": {}}},
        batch_line() | {"response": {"body": [1]}},
        {"outputs": ["B", "C"], "finish": ["stop"]},
    ]
    with pytest.raises(DataError) as raised:
        said(tmp_path, {"output": "B"}, *bad)
    head, *lines = str(raised.value).splitlines()
    assert head == "replies.jsonl: 10 lines hold no reply that can be read:"
    assert [line.split(":")[0].strip() for line in lines] == [
        f"replies.jsonl, line {n}" for n in range(2, 12)
    ]
    assert "no reply; give outputs, output, text, reply or response (text, or a list of texts)" in lines[0]
    with pytest.raises(DataError, match=r"lines hold no reply(.*\n){20}.*\n  and 30 more lines"):
        said(tmp_path, *[{"answer": "B"}] * 50)


def joined(tmp_path: Path, ids: list[str | None], rows: list[str], *, batch: bool = False) -> tuple[str, str]:
    """Which line each row gets, and how they were joined."""
    recorded = [Recorded(ident, (Reply(str(n)),), batch=batch) for n, ident in enumerate(ids)]
    table, how = join(recorded, rows, tmp_path / "replies.jsonl")
    return "".join(table[row].replies[0].text for row in rows if row in table), how


ROWS = ["q/0", "q/1", "q/2", "q/3"]


@pytest.mark.parametrize(
    ("ids", "order", "how"),
    [
        (["q/1", "q/0", "q/3", "q/2"], "1032", "by id (4 of 4 rows)"),
        (["1", "0"], "10", "by id (2 of 4 rows)"),
        ([None] * 4, "0123", "by row order (4 rows; ids do not match)"),
        (["0001", "0002", "0003", "0004"], "0123", "by row order (4 rows; ids do not match)"),
        (["r-2", "r-1", "r-4", "r-3"], "1032", "by the numbers in their ids (4 rows; ids do not match)"),
        (["ab", "cd", "ef", "gh"], "0123", "by row order (4 rows; ids do not match)"),
    ],
)
def test_lines_find_their_rows_by_id_by_number_or_by_order(
    tmp_path: Path, ids: list[str | None], order: str, how: str
) -> None:
    assert joined(tmp_path, ids, ROWS) == (order, how)


def test_a_batch_in_no_order_is_not_taken_to_be_in_that_of_the_rows(tmp_path: Path) -> None:
    assert joined(tmp_path, ["r-2", "r-1", "r-4", "r-3"], ROWS, batch=True)[0] == "1032"
    with pytest.raises(ConfigError, match=r"4 replies for 4 rows, and 0 of 4 ids match \('ab' is no row's\)"):
        joined(tmp_path, ["ab", "cd", "ef", "gh"], ROWS, batch=True)
    with pytest.raises(ConfigError, match="no line has an id, so they cannot be joined"):
        joined(tmp_path, [None] * 3, ROWS)
    with pytest.raises(ConfigError, match="two lines reply to q/1; keep one, or give both texts as outputs"):
        joined(tmp_path, ["1", "q/1"], ROWS)


def test_real_batch_output_is_read_and_put_in_the_order_of_its_requests(shared: Path, tmp_path: Path) -> None:
    groq = read_replies(shared / "data/openai_batch/groq_example/batch_output.jsonl")
    assert [r.id for r in groq] != sorted(str(r.id) for r in groq)
    table, how = join(groq, ["q/0", "q/1", "q/2"], tmp_path / "x")
    assert [table[row].id for row in ("q/0", "q/1", "q/2")] == ["request-1", "request-2", "request-3"]
    assert how.startswith("by the numbers in their ids")
    for recorded in (*groq, *read_replies(shared / "data/openai_batch/genai_navirag/batch_output.jsonl")):
        (reply,) = recorded.replies
        assert reply.finish in ("stop", "length") and reply.output_tokens and reply.input_tokens


def test_what_proctor_exports_is_read_again(tmp_path: Path) -> None:
    line = {"item_id": "q/1", "repeat": 0, "reply": "Answer: B", "finish": "stop", "error": None}
    line |= {"input_tokens": 5, "output_tokens": 2, "reasoning": None, "answer": "B"}
    (reply,) = said(tmp_path, line)
    assert reply == Reply("Answer: B", finish="stop", input_tokens=5, output_tokens=2)
    path = tmp_path / "replies.jsonl"
    path.write_text(json.dumps(line | {"reply": None, "error": "no answer came"}))
    assert read_replies(path) == [Recorded("q/1", (), "no reply was recorded: no answer came")]
