"""Kept replies read again: what each extractor makes of them, and where they differ."""

from __future__ import annotations

import json

import pytest

from opened import rescore, start
from proctor.errors import ConfigError, NotFound
from proctor.references import ExamRef
from proctor.types import Cell, Model, Plan
from programs import proctor, proctor_json
from simulators import settings

pytestmark = pytest.mark.slow  # whole suites, scored twice

REPLIES = [
    "Answer: B",  # all agree
    "First Answer: A\nthen\nAnswer: B",  # simple-evals takes the first
    '{"answer_choice": "A or B"}',  # the ladder finds two, MIRAGE the first
    "None of these",  # the ladder finds none, MIRAGE says A
    "",  # MIRAGE does not score it
]


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    row = {"choices": ["north", "south", "east", "west"], "answer": "B"}
    lines = [json.dumps({"question": f"Which way, {i}?", **row}) for i in range(len(REPLIES))]
    path.write_text("\n".join(lines) + "\n")
    return path


def replayed(home, path, replies, **source):
    """The id of a run whose replies are these."""
    file = home / "replies.jsonl"
    file.write_text("".join(json.dumps({"outputs": [text] if text else []}) + "\n" for text in replies))
    cell = Cell(Model("replay", "recorded"), ExamRef("file", str(path), **source))
    ended = start(Plan((cell,), replies=str(file)), settings(home))
    assert ended.error is None
    return ended.evaluation.results[0].run.id


def test_each_extractor_has_its_counts_and_differences_are_listed(tmp_path, rows):
    run_id = replayed(tmp_path, rows, REPLIES)
    found = rescore(run_id, ["proctor/2", "mirage/1"], settings(tmp_path))
    ladder, mirage = found.by
    assert (found.replies, found.errors) == (5, 0)
    assert ladder.outcomes == {"correct": 2, "no_answer": 3}
    assert (ladder.accuracy.value, ladder.accuracy.scored) == (0.4, 5)
    assert (round(ladder.accuracy.low, 4), round(ladder.accuracy.high, 4)) == (
        0.1176,
        0.7693,
    )  # Wilson, 2 of 5
    assert sorted(ladder.unread) == ["rows/2", "rows/3", "rows/4"]
    # MIRAGE takes the letter after the first colon; the empty reply is wrong.
    assert mirage.outcomes == {"correct": 1, "wrong": 3, "no_answer": 1}
    assert (mirage.accuracy.value, mirage.accuracy.scored) == (0.2, 5)
    by_id = {each.item_id: each for each in found.differences}
    assert by_id.keys() == {"rows/1", "rows/2", "rows/3"}
    assert by_id["rows/2"].answers == {"proctor/2": None, "mirage/1": "A"}
    assert by_id["rows/2"].outcomes == {"proctor/2": "no_answer", "mirage/1": "wrong"}
    assert by_id["rows/2"].reply == REPLIES[2] and by_id["rows/2"].target == "B"


def test_a_single_extractor_stands_beside_the_runs_own(tmp_path, rows):
    run_id = replayed(tmp_path, rows, REPLIES, extractor="simple-evals/1")
    found = rescore(run_id[:8], ["proctor/2"], settings(tmp_path))
    assert [each.grader for each in found.by] == ["simple-evals/1", "proctor/2"]
    assert [each.item_id for each in found.differences] == ["rows/1"]
    own = rescore(run_id, ["simple-evals/1"], settings(tmp_path))
    assert [each.grader for each in own.by] == ["simple-evals/1"] and own.differences == ()


def test_the_runs_own_extractor_gives_the_runs_own_score(tmp_path, rows):
    run_id = replayed(tmp_path, rows, REPLIES)
    (again,) = rescore(run_id, ["proctor/2"], settings(tmp_path)).by
    shown = proctor_json(tmp_path, "show", run_id)["runs"][0]
    assert shown["score"]["value"] == again.accuracy.value
    assert shown["outcomes"] == dict(again.outcomes)


def test_labels_of_a_file_keep_their_synonyms(tmp_path):
    path = tmp_path / "facts.csv"
    path.write_text(
        "question,answer\n" + "".join(f"Is it so {i}?,{'yes' if i % 2 else 'no'}\n" for i in range(8))
    )
    run_id = replayed(tmp_path, path, ["Answer: true"] * 8)
    for _ in range(2):
        (again,) = rescore(run_id, ["proctor/2"], settings(tmp_path)).by
        assert again.outcomes == {"correct": 4, "wrong": 4}
        path.unlink(missing_ok=True)  # the second time only the manifest is left


def test_wrong_requests_name_the_choices(tmp_path, rows):
    run_id = replayed(tmp_path, rows, REPLIES)
    with pytest.raises(ConfigError, match="proctor/2, proctor/1, mirage/1"):
        rescore(run_id, ["proctor/9"], settings(tmp_path))
    with pytest.raises(NotFound):
        rescore("nothing", ["proctor/2"], settings(tmp_path))
    cells = tuple(
        Cell(Model("baseline", name), ExamRef("file", str(rows))) for name in ("majority", "random")
    )
    plan_id = start(Plan(cells), settings(tmp_path)).evaluation.plan_id
    with pytest.raises(ConfigError, match="plan of 2 runs"):
        rescore(plan_id, ["proctor/2"], settings(tmp_path))


def test_the_command_shows_what_differs(tmp_path, rows):
    run_id = replayed(tmp_path, rows, REPLIES)
    words = ("rescore", run_id, "--extractor", "proctor/2", "--extractor", "mirage/1")
    shown = proctor(tmp_path, *words, "--limit", "2").stdout
    assert "3 replies are read differently:" in shown and "... and 1 more" in shown
    assert "proctor/2 found no answer in 3: rows/" in shown and shown.count("rows/") == 5
    whole = proctor(tmp_path, *words).stdout
    assert "more (--limit N)" not in whole
    assert "rows/2  target B  proctor/2: - (no_answer); mirage/1: A (wrong)" in whole
    document = proctor_json(tmp_path, *words)
    assert document["differing"] == len(document["differences"]) == 3
    assert document["extractors"][1]["accuracy"]["value"] == 0.2


def test_recorded_replies_are_replayed_and_read_as_their_benchmark_read_them(shared, tmp_path):
    questions = (shared / "data/medical/medqa/phrases_no_exclude_test.jsonl").read_text().splitlines()
    path = tmp_path / "medqa.jsonl"
    path.write_text(
        "\n".join(
            json.dumps(
                {
                    "question": row["question"],
                    "choices": list(row["options"].values()),
                    "answer": row["answer_idx"],
                }
            )
            for row in map(json.loads, questions)
        )
    )
    replies = shared / "data/predictions/mirage/medqa__cot__gpt-35-turbo-16k.jsonl"
    cell = Cell(Model("replay", "gpt"), ExamRef("file", str(path), preset="full"))
    run_id = start(Plan((cell,), replies=str(replies)), settings(tmp_path)).evaluation.results[0].run.id
    found = rescore(run_id, ["proctor/2", "mirage/1"], settings(tmp_path))
    ladder, mirage = found.by
    assert mirage.outcomes == {"correct": 826, "wrong": 441, "no_answer": 6}
    assert (mirage.accuracy.scored, round(mirage.accuracy.value, 5)) == (1273, 0.64886)  # as MIRAGE published
    assert ladder.accuracy.value == pytest.approx(0.644, abs=0.005)
    assert len(ladder.unread) == len(found.differences) + 6  # they differ only where the ladder reads nothing
