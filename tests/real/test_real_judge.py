"""A real model judges kept replies: whatever it says is a verdict, or counted as none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from real_runs import asked, counted, kept, questions
from servers import Server

from jobs_world import until
from programs import proctor_json

pytestmark = [pytest.mark.slow, pytest.mark.in_full]
RIGHT = "Because ice is less dense than water."


def judged(server: Server, home: Path, *words: object) -> dict[str, Any]:
    """What `proctor grade --grader judge --json` says of one judge."""
    command = ("grade", *map(str, words), "--grader", "judge", "--judge", server.model)
    (found,) = proctor_json(home, *command, **server.environ)["judgings"]
    return dict(found)


@pytest.mark.topic("structured")
def test_a_model_judges_freely_and_under_a_schema_and_unreadable_verdicts_make_no_reply_wrong(
    server: Server, home: Path, tmp_path: Path
) -> None:
    file = questions(
        tmp_path / "open.jsonl", "Why does ice float?", "Why is ice light?", "Ice?", target=RIGHT
    )
    run = asked(server, home, file, "--max-tokens", 24)["run_id"]
    before = server.counts()
    free = judged(server, home, run, "--max-tokens", 32)
    assert (free["planned"], free["asked"], free["graded"] + free["unread"]) == (3, 3, 3)
    assert sum(free["without_verdict"].values()) == free["unread"]
    assert (free["score"] is None) == (free["graded"] == 0)
    bound = judged(server, home, run, "--mode", "structured")
    assert (bound["graded"], bound["unread"], bound["without_verdict"]) == (3, 0, {})
    told = [row for each in (free, bound) for row in kept(home, each)]
    mine = counted(told)
    until(lambda: server.counts().since(before).agrees(mine), f"the server counts {mine}")


@pytest.mark.topic("structured")
def test_a_pair_is_asked_in_both_orders_and_is_a_tie_where_they_differ(
    server: Server, home: Path, tmp_path: Path
) -> None:
    file = questions(tmp_path / "open.jsonl", "Why does ice float?", "Why is the sky blue?", target=RIGHT)
    first, second = (
        asked(server, home, file, "--max-tokens", 24, *words)["run_id"]
        for words in ((), ("--temperature", 1.5))
    )
    found = judged(server, home, first, "--pairwise", second, "--mode", "structured")
    pairs = found["leaning"]["pairs"]
    assert (found["asked"], found["unread"]) == (found["planned"], 0)
    assert found["planned"] in (2, 4), "two replies of the same words are a tie unasked"
    assert pairs["consistent"]["scored"] == found["planned"] / 2
