"""Right and wrong answers of every task, as a model writes them, are read as right and wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proctor.references import ExamRef
from proctor.sources.exams.items import written
from proctor.sources.exams.source import open_suite
from proctor.sources.exams.tables.tasks import SUITES, TASKS
from proctor.types import Outcome, Reply

SUITE_OF = {task.key: suite.key for suite in SUITES.values() for task in suite.tasks}
KEYS = [key for key in TASKS if SUITE_OF[key] != "mmlu"] + ["astronomy"]


def sample(task, home, **more):
    return open_suite(ExamRef("suite", SUITE_OF[task], tasks=(task,), rows="sample", **more), home)


LETTERED = [key for key in KEYS if TASKS[key].kind in ("choices", "letters")]


@pytest.mark.parametrize(
    ("key", "shuffle"), [*((key, False) for key in KEYS), *((key, True) for key in LETTERED)]
)
def test_every_right_answer_is_right_and_every_other_one_wrong(key, shuffle, tmp_path):
    source = sample(key, tmp_path, shuffle=shuffle)
    for item in source.items():
        right = source.grader.grade(item, Reply(f"Let me see.\nAnswer: {source.spoken(item)}"))
        assert (right.outcome, right.score) == (Outcome.CORRECT, 1.0), item.id
        wrongs = source.wrong(item)
        assert wrongs
        assert len(set(wrongs)) == len(wrongs)
        for wrong in wrongs:
            reading = source.grader.grade(item, Reply(f"Answer: {wrong}"))
            assert reading.outcome is Outcome.WRONG, (item.id, wrong)
            assert reading.score is not None
            assert reading.score < 1.0


@pytest.mark.parametrize("key", [key for key in KEYS if TASKS[key].kind in ("labels", "choices", "entity")])
def test_each_option_is_read_and_one_of_them_is_right(key, tmp_path):
    source = sample(key, tmp_path)
    for item in source.items():
        outcomes = [source.grader.grade(item, Reply(f"Answer: {option}")).outcome for option in item.options]
        accepted = 1 if TASKS[key].kind != "entity" else len({*item.accepted} & {*item.options})
        assert outcomes.count(Outcome.CORRECT) >= accepted
        assert set(outcomes) == {Outcome.CORRECT, Outcome.WRONG}


def test_the_answer_that_is_kept_is_the_name_of_the_label(tmp_path):
    source = sample("rte", tmp_path)
    said = {source.grader.grade(item, Reply("Answer: yes")).answer for item in source.items()}
    assert said == {"entailment"}
    assert {item.target for item in source.items()} == {"entailment", "not_entailment"}
    assert {item.options for item in source.items()} == {("yes", "no")}


def test_targets_as_they_are_written():
    assert written(TASKS["wnli"], "not_entailment") == "no"
    assert written(TASKS["multirc"], "A,C") == "A, C"
    assert written(TASKS["multirc"], "none") == "none"
    assert written(TASKS["stsb"], "3.8") == "3.8"


def test_wrong_numbers_lie_on_the_scale_and_away_from_the_target(tmp_path):
    source = sample("stsb", tmp_path)
    for item in source.items():
        numbers = [float(text) for text in source.wrong(item)]
        assert all(0 <= number <= 5 and abs(number - float(item.target)) >= 1 for number in numbers)


def test_wrong_sets_of_letters_hold_the_complement_and_none(tmp_path):
    source = sample("multirc", tmp_path)
    for item in source.items():
        letters = "ABCDEFGHIJ"[: len(item.choices)]
        rest = ", ".join(letter for letter in letters if letter not in item.target.split(","))
        assert (rest or "none") in source.wrong(item)
        assert (item.target == "none") is ("none" not in source.wrong(item))


def test_a_row_without_a_target_is_asked_and_not_scored(tmp_path):
    source = sample("ax", tmp_path)
    hidden = replace(source, rows=tuple(replace(row, target=None) for row in source.rows))
    for item in hidden.items():
        assert item.target is None
        reading = hidden.grader.grade(item, Reply("Answer: neutral"))
        assert (reading.outcome, reading.answer, reading.score) == (Outcome.ANSWERED, "neutral", None)
    assert hidden.labels()[0]["ax"].keys() == {"entailment", "neutral", "contradiction"}
