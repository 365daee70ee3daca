"""Requests whose right answers are known: graded, scored, compared and graded again as exams are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lines_made import line, opened, real_inputs, write

from opened import compare_named, grade_kept, item_records, leaderboard, start
from proctor.errors import ConfigError, DataError
from proctor.findings import RunResult
from proctor.plan.build import AS_WRITTEN
from proctor.references import BatchRef
from proctor.types import Cell, Gold, Limits, Model, Plan, Request, Status
from providers.recording import Script, recording
from simulators import settings

pytestmark = pytest.mark.slow

N = 24


def sums(home: Path) -> Path:
    """Sums with their answers, asked by six teams."""
    lines = [{**line(f"team{i % 6}-{i}", f"What is {i} + {i}?"), "answer": str(2 * i)} for i in range(N)]
    return write(home / "sums.jsonl", lines)


def asked(home: Path, model: Model, path: Path, **given: Any) -> RunResult:
    cell = Cell(model, BatchRef(str(path), **given), AS_WRITTEN, Limits(parallel=4))
    (result,) = start(Plan((cell,)), settings(home)).evaluation.results
    return result


def saying(text: str) -> list[Script]:
    """A server that lists its model, and then says one thing."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    whole = {"id": "c", "object": "chat.completion", "model": "told", "choices": [choice], "usage": usage}
    return [Script({"object": "list", "data": [{"id": "told", "object": "model"}]}), Script(whole)]


def test_a_batch_with_right_answers_is_scored_compared_ranked_and_graded_again(tmp_path: Path) -> None:
    path, known = sums(tmp_path), settings(tmp_path)
    first, second = (
        asked(tmp_path, Model("simulator", name), path, gold="answer", candidate=r"^(\w+)-")
        for name in ("sim", "sim-perfect")
    )
    facts = first.run.manifest.facts
    assert facts.tasks["requests"].grader == "number/1"
    assert facts.tasks["requests"].official == ("accuracy",)
    (score,) = first.scores
    assert (score.metric, score.estimate.scored) == ("accuracy", N)
    assert score.estimate.low < score.estimate.value < score.estimate.high
    found = compare_named([first.run.id, second.run.id], known).evaluation
    assert found.comparisons[0].whole.shared == N
    assert len(leaderboard(known, suite="sums.jsonl").places) == 2
    again = grade_kept(first.run.id, ["exact", "contains"], known)
    assert [each.grader for each in again.by] == ["number/1", "exact/1", "contains/1"]
    assert all(sum(each.outcomes.values()) == N for each in again.by)


def test_right_answers_are_never_sent(tmp_path: Path) -> None:
    lines = [
        {**line("top"), "answer": "SECRET"},
        line("inside", metadata={"answer": ["SECRET", "SECRETS"], "kept": "1"}),
        {"custom_id": "plain", "messages": line()["body"]["messages"], "answer": "SECRET"},
    ]
    path = write(tmp_path / "in.jsonl", lines)
    for gold in ("answer", "metadata.answer", "body.metadata.answer"):
        for item in opened(path, gold=gold).items():
            assert isinstance(item.ask, Request)
            assert item.gold is None or b"SECRET" not in item.ask.body
    items = {item.id: item for item in opened(path, gold="body.metadata.answer").items()}
    assert items["inside"].gold == Gold("SECRET", ("SECRETS",))
    assert json.loads(items["inside"].ask.body)["metadata"] == {"kept": "1"}
    with recording(saying("SECRET")) as server:
        model = Model("openai", "told", f"{server.url}/v1")
        asked(tmp_path, model, write(tmp_path / "one.jsonl", lines[:1]), gold="answer")
        assert all(b"SECRET" not in sent.body for sent in server.sent)


def test_without_right_answers_nothing_is_scored(tmp_path: Path) -> None:
    result = asked(tmp_path, Model("simulator", "sim"), sums(tmp_path))
    assert result.scores == ()
    assert dict(result.tally.outcomes) == {"answered": N}
    assert result.run.manifest.facts.extractor is None


@pytest.mark.parametrize(
    ("said", "outcome"), [("It is Paris.", "correct"), ("Rome", "wrong"), ("", "no_answer")]
)
def test_a_file_of_answers_grades_what_it_names(tmp_path: Path, said: str, outcome: str) -> None:
    path = write(tmp_path / "in.jsonl", [line("fr"), line("de")])
    answers = tmp_path / "gold.csv"
    answers.write_text("custom_id,answer\nfr,Paris\n")
    with recording(saying(said)) as server:
        result = asked(tmp_path, Model("openai", "told", f"{server.url}/v1"), path, gold=str(answers))
    outcomes = dict(result.tally.outcomes)
    assert outcomes.pop(outcome) in (1, 2)
    (score,) = result.scores
    assert score.estimate.scored == 1, "the other request has no right answer, and is not scored"


def test_a_named_grader_refuses_answers_it_cannot_compare_with_line_by_line(tmp_path: Path) -> None:
    path = write(tmp_path / "in.jsonl", [{**line("a"), "answer": "7"}, {**line("b"), "answer": "many"}])
    with pytest.raises(DataError, match="line 2: the right answer"):
        opened(path, gold="answer", grader="number")
    assert len(opened(path, gold="answer", grader="number", lenient=True)) == 1
    assert opened(path, gold="answer", grader="exact").facts.graders == {"requests": "exact/1"}
    assert opened(path, gold="answer", grader="labels").facts.tasks["requests"].labels == ("7", "many")


def test_graders_and_answers_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = sums(tmp_path)
    with pytest.raises(ConfigError, match="say where they are"):
        opened(path, grader="number")
    with pytest.raises(DataError, match="no request has a right answer under 'nothing'"):
        opened(path, gold="nothing")
    with pytest.raises(ConfigError, match="no lettered choices"):
        opened(path, gold="answer", grader="choices")
    twice = write(tmp_path / "gold.jsonl", [{"custom_id": "a", "gold": "1"}, {"custom_id": "a", "gold": "2"}])
    with pytest.raises(DataError, match="line 2: 'a' has a right answer already"):
        opened(path, gold=str(twice))
    uploaded = BatchRef("sums", content="0" * 64, gold=str(twice))
    with pytest.raises(ConfigError, match="a file has no path here"):
        from proctor.sources.batches.gold import gold_named

        gold_named(uploaded)


@pytest.mark.promise("B-11")
def test_any_model_is_sent_what_was_written_for_another(tmp_path: Path) -> None:
    for path in real_inputs():
        with recording(saying("Hello.")) as server:
            result = asked(tmp_path, Model("openai", "told", f"{server.url}/v1"), path)
            sent = [json.loads(each.body) for each in server.sent if each.method == "POST"]
        written = [json.loads(text)["body"] for text in path.read_bytes().splitlines() if text.strip()]
        assert result.run.status is Status.COMPLETED
        assert {body.pop("model") for body in sent} == {"told"}
        named = {body.pop("model") for body in written}
        assert set(result.run.manifest.facts.models) == named, "what the lines named is on record"
        assert sorted(map(json.dumps, sent)) == sorted(map(json.dumps, written))


def test_lines_for_another_model_are_refused_where_that_was_asked_for(tmp_path: Path) -> None:
    path = write(
        tmp_path / "in.jsonl", [line("a", model="told"), line("b", model="other"), line("c", model="other")]
    )
    with recording(saying("Hello.")) as server:
        model = Model("openai", "told", f"{server.url}/v1")
        with pytest.raises(ConfigError, match=r"2 other \(line 2 first\)"):
            asked(tmp_path, model, path, on_mismatch="strict")
        assert server.sent == []
        same = write(tmp_path / "same.jsonl", [line("a", model="told"), line("b", model="openai/told")])
        assert asked(tmp_path, model, same, on_mismatch="strict").run.settled == 2


def test_half_a_surrogate_pair_breaks_nothing_that_is_kept_or_shown(tmp_path: Path) -> None:
    half = "\ud83d half"
    lines = [{**line("a", half, metadata={"name": half}), "answer": half}, line("b", model=half)]
    path = write(tmp_path / "in.jsonl", lines)
    with recording(saying("? half")) as server:
        model = Model("openai", "told", f"{server.url}/v1")
        result = asked(tmp_path, model, path, gold="answer", grader="exact", candidate="$.metadata.name")
        sent = [json.loads(each.body) for each in server.sent if each.method == "POST"]
    assert {"role": "user", "content": half} in [body["messages"][0] for body in sent]
    assert dict(result.tally.outcomes) == {"correct": 1, "answered": 1}
    records = {each["item_id"]: each for each in item_records([result.run.id], settings(tmp_path))}
    assert "? half" in json.dumps(records["a"])
