"""Kept replies graded again: what graders agree on, and runs seen and compared by the grades of another grader."""

from __future__ import annotations

import asyncio
import json

import pytest

from opened import compare_named, grade_kept, look, rescore, start
from proctor.errors import ConfigError, NotFound
from proctor.references import ExamRef
from proctor.service.context import open_store
from proctor.service.grades.regrading import graded_again, one_run
from proctor.store.write import grades
from proctor.types import Cell, Grade, Model, Outcome, Plan
from programs import proctor, proctor_json
from simulators import settings

pytestmark = pytest.mark.slow

QUESTIONS = {
    "What is the capital of Australia?": "Canberra",
    "What is the capital of France?": "Paris",
    "How many legs has a spider?": "8",
}
REPLIES = [
    "The capital of Australia is Canberra.",
    "It is Paris, of course, the city of light which lies on the river Seine.",
    "A spider has six legs, as every insect has, and two arms to hold on with.",
]


def asked(home, replies=REPLIES, name="recorded", **source):
    """The id of a run that was graded as last lines are, whose replies are these."""
    questions, said = home / "capitals.csv", home / f"{name}.jsonl"
    questions.write_text("question,answer\n" + "".join(f"{q},{a}\n" for q, a in QUESTIONS.items()))
    said.write_text("".join(json.dumps({"outputs": [text]}) + "\n" for text in replies))
    source = ExamRef("file", str(questions), **{"extractor": "proctor/2", **source})
    ended = start(Plan((Cell(Model("replay", name), source),), replies=str(said)), settings(home))
    assert ended.error is None
    return ended.evaluation.results[0].run.id


def test_graders_stand_side_by_side_with_how_often_they_agree(tmp_path):
    found = grade_kept(asked(tmp_path), ["contains", "exact"], settings(tmp_path))
    assert [each.grader for each in found.by] == ["proctor/2", "contains/1", "exact/1"]
    assert [each.accuracy.value for each in found.by] == [0.0, pytest.approx(2 / 3), 0.0]
    agreed = {(pair.first, pair.second): pair.share for pair in found.agreements}
    assert agreed["proctor/2", "exact/1"].value == 1.0
    assert agreed["contains/1", "exact/1"].value == pytest.approx(1 / 3)
    assert agreed["contains/1", "exact/1"].scored == 3 and agreed["contains/1", "exact/1"].low < 1 / 3
    differing = {
        each.item_id: each.scores for each in found.differences if len(set(each.scores.values())) > 1
    }
    assert differing == {
        f"capitals/{place}": {"proctor/2": 0.0, "contains/1": 1.0, "exact/1": 0.0} for place in (0, 1)
    }


def test_kept_grades_are_taken_as_they_are_and_the_runs_own_scores_stay(tmp_path):
    run_id = asked(tmp_path)
    assert grade_kept(run_id, ["contains"], settings(tmp_path)).kept == {"contains/1": 3}
    assert grade_kept(run_id, ["contains"], settings(tmp_path)).kept == {"contains/1": 0}
    own = look([run_id], settings(tmp_path)).results[0]
    assert own.scores[0].estimate.value == 0.0
    seen = look([run_id], settings(tmp_path), grader="contains").results[0]
    assert (seen.scores[0].metric, seen.scores[0].estimate.value) == ("accuracy", pytest.approx(2 / 3))
    assert seen.tally.outcomes == {"correct": 2, "wrong": 1}
    assert seen.run.manifest.facts.graders == {"capitals": "contains/1"}
    again = look([run_id], settings(tmp_path), grader="proctor/2").results[0]
    assert (again.scores, again.run) == (own.scores, own.run)


def test_a_grader_measures_nothing_where_the_right_answer_is_none_that_it_can_compare_with(tmp_path):
    found = grade_kept(asked(tmp_path), ["number"], settings(tmp_path)).by[1]
    assert (found.accuracy.value, found.accuracy.scored, found.ungraded) == (0.0, 1, 2)
    assert all("no single number" in note for note in found.notes)


def test_runs_are_compared_by_grades_that_both_have(tmp_path):
    ids = [asked(tmp_path), asked(tmp_path, ["Paris is it, says everybody whom I asked."] * 3, "other")]
    with pytest.raises(NotFound, match=f"proctor grade {ids[0][:8]} --grader contains"):
        compare_named(ids, settings(tmp_path), grader="contains")
    for run_id in ids:
        grade_kept(run_id, ["contains"], settings(tmp_path))
    found = compare_named(ids, settings(tmp_path), grader="contains")
    [pair] = found.evaluation.comparisons
    assert (pair.whole.first, pair.whole.second) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    assert [each.item_id for each in found.differing[0]] == ["capitals/0"]


def test_what_an_extractor_reads_is_kept_only_if_that_is_asked_for(tmp_path):
    run_id = asked(tmp_path)
    rescore(run_id, ["proctor/1"], settings(tmp_path))
    with pytest.raises(NotFound):
        look([run_id], settings(tmp_path), grader="proctor/1")
    assert rescore(run_id, ["proctor/1"], settings(tmp_path), keep=True).kept == {"proctor/1": 3}
    seen = look([run_id], settings(tmp_path), grader="proctor/1").results[0]
    assert seen.run.manifest.facts.extractor == "proctor/1"


def test_a_name_that_fits_several_kept_graders_is_refused(tmp_path):
    run_id = asked(tmp_path)
    grade_kept(run_id, ["contains", "contains:read=whole"], settings(tmp_path))
    with pytest.raises(ConfigError, match="contains/1, contains/1:read=whole"):
        look([run_id], settings(tmp_path), grader="contains")
    assert look([run_id], settings(tmp_path), grader="contains/1:read=whole").results[0].scores


class Slow:
    """A grader that takes its time, and fails at first."""

    name = "slow/1"

    def __init__(self):
        self.asked = 0

    async def grade(self, item, reply):
        self.asked += 1
        place = self.asked
        await asyncio.sleep(0)
        if place == 1:
            raise ConfigError("the judge is away")
        return Grade(Outcome.CORRECT, 1.0, reply.text, grader=self.name, note="kind", cost_usd=0.5)


def test_a_reply_that_could_not_be_graded_is_graded_the_next_time(tmp_path):
    run_id, slow = asked(tmp_path), Slow()
    with open_store(settings(tmp_path)) as store:
        run = one_run(store, run_id)
        first = graded_again(store, run, [slow], keep=True)
        assert first.kept == {"slow/1": 2} and first.by[0].notes == ("not graded: the judge is away",)
        assert graded_again(store, run, [slow], keep=True).kept == {"slow/1": 1}
        assert slow.asked == 4
        assert {grade.cost_usd for grade in grades.by(store, run_id, "slow/1").values()} == {0.5}


def test_letters_of_choices_are_no_texts(tmp_path):
    path = tmp_path / "choices.jsonl"
    path.write_text(json.dumps({"question": "Which?", "choices": ["north", "south"], "answer": "B"}) + "\n")
    ended = start(
        Plan((Cell(Model("baseline", "majority"), ExamRef("file", str(path))),)), settings(tmp_path)
    )
    with pytest.raises(ConfigError, match="letters of choices"):
        grade_kept(ended.evaluation.results[0].run.id, ["contains"], settings(tmp_path))


def test_the_commands_say_what_is_kept_and_show_a_run_by_it(tmp_path):
    run_id = asked(tmp_path)
    shown = proctor(tmp_path, "grade", run_id, "--grader", "contains").stdout
    assert "proctor/2 and contains/1 give the same score to 0.333" in shown
    assert "Kept beside the first grades: contains/1 (3 grades are new)" in shown
    assert "also graded by: contains/1, 3 replies" in proctor(tmp_path, "show", run_id).stdout
    document = proctor_json(tmp_path, "show", run_id, "--grader", "contains")
    assert document["runs"][0]["score"]["value"] == pytest.approx(2 / 3)
