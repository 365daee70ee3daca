"""What a run's replies are read by: kept runs as they began, new ones by the default, replayed ones by how they end."""

from __future__ import annotations

import json
import sqlite3

import pytest

from opened import resume, start
from proctor.grading.nearest import nearest
from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.results.answer_kinds import Reads
from proctor.service.results.diagnosis import cures, unread
from proctor.types import Cell, Chat, Gold, Item, Message, Model, Outcome, Plan, Reply
from simulators import settings

ITEM = Item("t/0", "t", Chat((Message("user", "?"),)), Gold("B"), choices=("north", "south", "east", "west"))


def rows_file(home, n):
    row = {"choices": ["north", "south", "east", "west"], "answer": "B"}
    path = home / "rows.jsonl"
    path.write_text(
        "".join(json.dumps({"id": str(i), "question": f"Which way, {i}?", **row}) + "\n" for i in range(n))
    )
    return path


def replies_file(home, replies):
    path = home / "replies.jsonl"
    path.write_text("".join(json.dumps({"id": str(i), **reply}) + "\n" for i, reply in enumerate(replies)))
    return path


def attempts_of(home, run_id):
    with open_store(settings(home)) as store:
        return {row.item_id: row for row in store.latest(run_id)}


@pytest.mark.slow
def test_a_run_that_began_under_proctor_1_is_resumed_with_it(tmp_path):
    """A database of the version before kept no extractor in the cell of such a run: its manifest alone names it."""
    rows = rows_file(tmp_path, 2)
    replies = replies_file(tmp_path, [{"text": "So.\nAnswer: B"}])
    cell = Cell(Model("replay", "recorded"), ExamRef("file", str(rows), extractor="proctor/1"))
    (result,) = start(Plan((cell,), replies=str(replies)), settings(tmp_path)).evaluation.results
    assert result.run.manifest.facts.extractor == "proctor/1" and result.run.partial
    with sqlite3.connect(tmp_path / "proctor.db") as database:
        database.execute("update run set cell = json_set(cell, '$.source.extractor', null)")
    replies_file(tmp_path, [{"text": "So.\nAnswer: B"}, {"text": "Antwort: B"}])
    (again,) = resume([result.run.id], settings(tmp_path)).evaluation.results
    assert again.run.manifest.facts.extractor == "proctor/1" and not again.run.partial
    outcomes = {item: row.outcome for item, row in attempts_of(tmp_path, result.run.id).items()}
    assert outcomes == {"rows/0": Outcome.CORRECT, "rows/1": Outcome.NO_ANSWER}  # proctor/2 reads German


def test_a_replayed_reply_that_ends_inside_a_sentence_is_marked_unless_somebody_says_how_it_ended(tmp_path):
    cut = "Low iron and a pale skin. This points to the south and to"
    said = {"choices": [{"message": {"content": cut}, "finish_reason": "stop"}]}
    replies = [
        {"text": cut},
        {"response": {"status_code": 200, "body": said}},
        {"text": "Therefore the answer is B"},
    ]
    cell = Cell(Model("replay", "recorded"), ExamRef("file", str(rows_file(tmp_path, 3))))
    ended = start(Plan((cell,), replies=str(replies_file(tmp_path, replies))), settings(tmp_path))
    run_id = ended.evaluation.results[0].run.id
    rows = attempts_of(tmp_path, run_id)
    with open_store(settings(tmp_path)) as store:
        finish = [store.payload(run_id, f"rows/{i}", 0, 0)["finish"] for i in range(3)]
    assert finish == ["cut?", "stop", "unknown"]
    assert rows["rows/0"].outcome is Outcome.TRUNCATED
    assert rows["rows/2"].outcome is Outcome.CORRECT


@pytest.mark.parametrize("finish", ["stop", "length"])
def test_a_reply_that_runs_on_is_named_with_its_cure(finish):
    reply = Reply("I would say it depends.\n\nQuestion: What next?\nAnswer: C", finish=finish)
    each = unread("t/0", Outcome.NO_ANSWER, ITEM, reply, Reads("choices", None))
    assert each.near.what == "an invented next question"
    (cure,) = cures([each], None)
    assert '--stop "Question:"' in cure


def test_what_another_extractor_left_unread_is_named():
    near = nearest(ITEM, Reply("Antwort: B"), kind="choices")
    assert (near.rung, near.what, near.value) == (2, "an answer that proctor/2 reads", "B")
