"""Replies made elsewhere: what a line of the file may say, and what proctor makes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.providers.replay import read_replies
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
