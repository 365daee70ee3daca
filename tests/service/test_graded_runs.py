"""Runs whose answers are free text: which grader is taken, what is said of it, and what the scores then rest on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import proctor as python
from opened import bundle, compare_named, resume, start
from proctor.errors import ConfigError, DataError
from proctor.references import ExamRef
from proctor.service.data.verify import verify
from proctor.service.runs.lifecycle import open_sources
from proctor.types import Cell, Grade, Limits, Model, Outcome, Plan
from simulators import settings

pytestmark = pytest.mark.slow

CAPITALS = [
    ("What is the capital of Australia?", "Canberra"),
    ("And of France?", "Paris"),
    ("Of Peru?", "Lima"),
]
IN_SENTENCES = [
    "The capital of Australia is Canberra.",
    "It is Paris, I am sure of it.",
    "Of Peru? That is Lima.",
]
SENTENCES = [
    ("What of red beans?", "They should not be eaten raw, because they hold a poison in that state."),
    ("Why is the sky blue?", "Short waves of light are scattered more by the air than long ones are."),
]


def file_of(folder: Path, rows, name="capitals.jsonl", **more) -> Path:
    path = folder / name
    lines = [{"question": question, "answer": answer, **more} for question, answer in rows]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def replies_of(folder: Path, replies, name="replies.jsonl") -> str:
    path = folder / name
    path.write_text("".join(json.dumps({"outputs": [text]}) + "\n" for text in replies))
    return str(path)


def replayed(home: Path, path: Path, replies=IN_SENTENCES, **source):
    cell = Cell(Model("replay", "recorded"), ExamRef("file", str(path), **source))
    plan = Plan((cell,), replies=replies_of(home, replies))
    [opened] = open_sources(plan, settings(home))
    ended = start(plan, settings(home), sources=[opened])
    return ended, ended.evaluation.results[0], opened.understood


def test_an_answer_inside_a_sentence_counts_where_replies_were_made_elsewhere(tmp_path):
    _, result, said = replayed(tmp_path, file_of(tmp_path, CAPITALS))
    assert (result.scores[0].metric, result.scores[0].estimate.value) == ("accuracy", 1.0)
    assert result.run.manifest.facts.graders == {"capitals": "contains/1"}
    assert [line for line in said if line.startswith("Grader contains: ")]


def test_under_our_own_prompt_the_last_line_is_compared(tmp_path):
    plan = Plan((Cell(Model("simulator", "sim-perfect"), ExamRef("file", str(file_of(tmp_path, CAPITALS)))),))
    result = start(plan, settings(tmp_path)).evaluation.results[0]
    assert result.scores[0].estimate.value == 1.0
    assert result.run.manifest.facts.graders == {"capitals": "contains/1:line=equal"}


def test_where_only_a_judge_could_grade_there_is_no_score_and_the_run_says_so(tmp_path):
    path = file_of(tmp_path, SENTENCES)
    ended, result, said = replayed(tmp_path, path, [answer for _, answer in SENTENCES])
    assert result.scores[0].estimate.value is None and result.tally.outcomes == {"answered": 2}
    assert any("only a person or a judge model can compare" in line for line in said)
    assert "No score was given to 2 replies: " in ended.notes[result.run.id][0]


def test_who_names_an_extractor_has_replies_read_by_it(tmp_path):
    _, result, said = replayed(tmp_path, file_of(tmp_path, CAPITALS), extractor="proctor/2")
    assert result.run.manifest.facts.graders == {} and result.scores[0].estimate.value == 0.0
    assert not [line for line in said if line.startswith("Grader")]


def test_a_named_grader_that_cannot_compare_with_the_rows_is_refused_before_anything_is_asked(tmp_path):
    with pytest.raises(DataError, match="capitals/0, number/1: the answer 'Canberra' is no single number"):
        replayed(tmp_path, file_of(tmp_path, CAPITALS), grader="number")
    choices = file_of(tmp_path, [("Which?", "B")], "choices.jsonl", choices=["north", "south"])
    with pytest.raises(ConfigError, match="no task here has answers of free text"):
        replayed(tmp_path, choices, ["B"], grader="contains")


def test_a_suites_toml_names_the_grader_of_a_task(tmp_path):
    file_of(tmp_path, [("How far?", "100"), ("How high?", "50")], "far.jsonl")
    toml = tmp_path / "far.toml"
    table = '[suite]\nname = "far"\n[[tasks]]\nkey = "far"\nfile = "far.jsonl"\n'
    toml.write_text(f'{table}grader = {{ name = "number", rel = 0.1 }}\n')
    _, result, _ = replayed(tmp_path, toml, ["about 95", "it is 70 or so"])
    assert result.run.manifest.facts.graders == {"far": "number/1:rel=0.1"}
    assert result.scores[0].estimate.value == 0.5
    toml.write_text(f'{table}grader = "nmber"\n')
    with pytest.raises(ConfigError, match=r"far\.toml, task far: grader: no grader 'nmber'"):
        replayed(tmp_path, toml, ["1", "2"])


def test_rows_may_name_graders_of_their_own(tmp_path):
    path = file_of(tmp_path, [("How far?", "100")], grader="number:rel=0.1")
    with path.open("a") as file:
        file.write(json.dumps({"question": "Capital of Peru?", "answer": "Lima", "grader": ""}) + "\n")
    _, result, said = replayed(tmp_path, path, ["It is about 95 km.", "That is Lima."])
    assert result.scores[0].estimate.value == 1.0
    assert result.run.manifest.facts.graders["capitals"].startswith("rows:")
    assert any(line.startswith("Grader of its own in 1 rows") for line in said)
    people = file_of(tmp_path, CAPITALS, "people.jsonl", grader="Ann")  # who graded, not how
    assert replayed(tmp_path, people)[1].run.manifest.facts.graders == {"people": "contains/1"}


def test_a_resumed_run_is_graded_as_it_began(tmp_path):
    path = file_of(tmp_path, [(f"Capital {n}?", f"City {n}") for n in range(60)])
    cell = Cell(Model("replay", "recorded"), ExamRef("file", str(path)), limits=Limits(max_total_tokens=1))
    file = tmp_path / "counted.jsonl"
    line = (
        '{"outputs": ["It is Canberra, I think."], "usage": {"prompt_tokens": 5, "completion_tokens": 5}}\n'
    )
    file.write_text(line * 60)
    ended = start(Plan((cell,), replies=str(file)), settings(tmp_path))
    run = ended.evaluation.results[0].run
    assert run.partial
    again = resume([run.id], settings(tmp_path), limits=Limits()).evaluation.results[0]
    assert not again.run.partial
    assert again.run.manifest.facts.graders == {"capitals": "contains/1"}


def test_runs_that_were_graded_differently_are_not_compared_silently(tmp_path):
    path = file_of(tmp_path, CAPITALS)
    ids = [replayed(tmp_path, path, **more)[1].run.id for more in ({}, {"grader": "exact"})]
    with pytest.raises(ConfigError, match=r"differ in their graders .*proctor grade RUN --grader NAME"):
        compare_named(ids, settings(tmp_path))


def test_a_bundle_of_a_run_with_a_grader_is_verified(tmp_path):
    run_id = replayed(tmp_path, file_of(tmp_path, CAPITALS))[1].run.id
    packed = tmp_path / "b.zip"
    bundle([run_id], settings(tmp_path), packed)
    found = verify(packed)
    assert (found.replies, found.unread, found.faults) == (3, 0, ())


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path))
    return tmp_path


def evaluated(home, grader):
    path = file_of(home, CAPITALS)
    result = python.evaluate(path, "replay/x", replies=replies_of(home, IN_SENTENCES), grader=grader)
    assert result.error is None
    return result


async def holds(item, reply):
    return item.target in reply.text


def half(item, reply):
    return Grade(Outcome.WRONG, 0.5, note="it might be")


def broken(item, reply):
    return {}["nothing"]


def test_python_functions_grade(home):
    by_name = evaluated(home, "exact")
    assert by_name.runs[0].run.manifest.facts.graders == {"capitals": "exact/1"}
    right = evaluated(home, holds)
    assert (right.score.value, right.runs[0].scores[0].metric) == (1.0, "mean")
    assert right.runs[0].run.manifest.facts.graders == {"capitals": "python:holds"}
    assert evaluated(home, half).score.value == 0.5


def test_replies_are_kept_where_a_function_fails(home):
    result = evaluated(home, broken)
    assert result.score.value is None
    assert sorted(record["reply"] for record in result.items()) == sorted(IN_SENTENCES)
    with pytest.raises(ConfigError, match="the Python function broken"):
        from proctor.service.runs.resuming import graded_as_it_began

        graded_as_it_began(result.runs[0].run, None)
