"""Inspect's logs: the real ones of the shared material, and made ones with what real ones hold elsewhere."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from logs_made import inspect, members, sample, written, zipped
from proctor.errors import DataError
from proctor.interop.inspect_log import read_inspect
from proctor.interop.logs import Log, Sample


def read(folder: Path, *samples: dict[str, Any], **more: Any) -> Log:
    return read_inspect(written(folder / "log.json", inspect(samples, **more)))


def only(folder: Path, **more: Any) -> Sample:
    (found,) = read(folder, sample(1, "C", **more)).samples
    return found


def test_the_real_logs(shared: Path) -> None:
    folder = shared / "data/predictions/inspect_logs"
    archive, plain = read_inspect(folder / "log_formats.eval"), read_inspect(folder / "log_formats.json")
    (one,) = archive.samples
    assert plain.samples == (replace(one, place=None),)  # the older file does not tell the order
    assert (archive.model, archive.tasks[0].title, archive.tasks[0].theirs) == (
        "ollama/llama3.1",
        "popularity match",
        0.0,
    )
    assert (one.item, one.answer, one.reply, one.target, one.score) == (
        "popularity/1",
        "No",
        "No",
        " Yes",
        0.0,
    )
    assert [message.role for message in one.prompt] == ["system", "user"]
    assert (one.input_tokens, one.output_tokens) == (66, 2)
    (choice,) = read_inspect(folder / "mmlu-summary-choices.eval").samples
    assert choice.choices == ("6.0 e", "6.8 eV", "12.2 eV", "13.6 eV")
    assert choice.latency_s == pytest.approx(1.443, abs=1e-3)


@pytest.mark.parametrize(
    ("value", "score"),
    [
        ("C", 1.0),
        ("I", 0.0),
        ("P", 0.5),
        ("N", 0.0),
        (True, 1.0),
        (False, 0.0),
        (0.25, 0.25),
        (7, 7.0),
        ("0.75", 0.75),
        ("Yes", 1.0),
        ("false", 0.0),
        ("c", None),
        ("blue", None),
        (float("nan"), None),
        ([1, 2], None),
        (None, None),
    ],
)
def test_values_are_the_numbers_that_inspect_takes_them_for(
    tmp_path: Path, value: object, score: float
) -> None:
    log = read(tmp_path, sample(1, "C"), sample(2, value))
    assert [each.score for each in log.samples] == [1.0, score]
    assert log.samples[1].unread is (value == "N")
    assert (log.samples[1].error is None) is (score is not None)


def test_the_tokens_are_those_of_the_model_and_not_of_its_grader(tmp_path: Path) -> None:
    found = only(tmp_path)
    assert (found.input_tokens, found.output_tokens, found.reasoning_tokens) == (12, 3, 1)
    output = {"usage": {"input_tokens": 5, "output_tokens": 6}}
    assert only(tmp_path, model_usage={}, output=output).input_tokens == 5


def test_the_time_is_that_of_the_request_or_else_of_the_work(tmp_path: Path) -> None:
    assert only(tmp_path).latency_s == 0.25
    turns = [{"role": "assistant", "content": "a"}, {"role": "tool", "content": "b"}] * 2
    assert only(tmp_path, messages=turns).latency_s == 0.5
    assert only(tmp_path, messages=turns, working_time=None).latency_s == 2.5


def test_parts_of_messages_are_read_as_their_text(tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "reasoning": "well ..."}, {"type": "text", "text": "yes"}]
    found = only(tmp_path, output={"choices": [{"message": {"content": parts}, "stop_reason": "max_tokens"}]})
    assert (found.reply, found.finish) == ("yes", "length")


def test_an_item_is_the_same_whatever_ids_its_messages_got(tmp_path: Path) -> None:
    def content(ident: str, words: str) -> str:
        return only(tmp_path, input=[{"id": ident, "role": "user", "content": words}]).content

    assert content("a", "What?") == content("b", "What?") != content("a", "Who?")


def test_a_scorer_that_gives_several_numbers_is_a_task_for_each(tmp_path: Path) -> None:
    scores = [
        {"name": "facts", "scorer": "judge", "metrics": {"inspect_ai/mean": {"value": 0.75}}},
        {"name": "style", "scorer": "judge", "metrics": {"mean": {"value": 3.0}}},
    ]
    given = ({"facts": 0.5, "style": 2, "why": "short"}, {"facts": 1.0, "style": 4})
    log = read(
        tmp_path,
        *(sample(i, None, scores={"judge": {"value": value}}) for i, value in enumerate(given)),
        results={"scores": scores},
    )
    assert [(told.key, told.theirs, told.extra) for told in log.tasks] == [
        ("quiz", 0.75, False),
        ("quiz (judge/style)", 3.0, True),
    ]
    assert [(each.item, each.score) for each in log.samples] == [
        ("quiz/0", 0.5),
        ("quiz (judge/style)/0", 2.0),
        ("quiz/1", 1.0),
        ("quiz (judge/style)/1", 4.0),
    ]


def test_figures_over_epochs_that_are_no_means_are_not_compared(tmp_path: Path) -> None:
    def theirs(reducer: str | None) -> float | None:
        score = {
            "name": "match",
            "scorer": "match",
            "reducer": reducer,
            "metrics": {"accuracy": {"value": 0.9}},
        }
        return read(tmp_path, sample(1, "C"), results={"scores": [score]}).tasks[0].theirs

    assert (theirs("mean"), theirs(None), theirs("pass_at_2")) == (0.9, 0.9, None)


def test_epochs_errors_and_invalid_samples(tmp_path: Path) -> None:
    log = read(
        tmp_path,
        sample(1, "C"),
        sample(1, "I", epoch=2),
        sample(2, "C", error={"message": "the tool broke"}),
        sample(3, "C", invalidation={"author": "me"}),
        status="error",
        error={"message": "too many errors"},
        results={"total_samples": 8, "scores": []},
    )
    assert [(s.item, s.repeat, s.score, s.error) for s in log.samples] == [
        ("quiz/1", 0, 1.0, None),
        ("quiz/1", 1, 0.0, None),
        ("quiz/2", 0, None, "the tool broke"),
        ("quiz/3", 0, None, "Inspect's user marked it as invalid"),
    ]
    assert log.stopped == "the log's own status is error: too many errors" and log.planned == 8
    assert log.notes == (log.stopped, "it holds 4 of its 8 samples")


def test_samples_stand_where_inspect_took_them(tmp_path: Path) -> None:
    """The files of an archive are in the order in which they ended."""
    order = {"dataset": {"sample_ids": [10, 9, 2]}}
    log = read(tmp_path, sample(2, "C"), sample(10, "I"), of=order)
    assert [(s.item, s.place) for s in log.samples] == [("quiz/10", 0), ("quiz/2", 2)]
    assert log.planned == 3
    unknown = read(tmp_path, sample(10, "C"), sample(9, "I"))
    assert [(s.item, s.place) for s in unknown.samples] == [("quiz/9", None), ("quiz/10", None)]


def test_samples_that_inspect_takes_together_are_a_cluster(tmp_path: Path) -> None:
    metrics = {"stderr": {"value": 0.1, "params": {"cluster": "passage"}}}
    log = read(
        tmp_path,
        sample(1, "C", metadata={"passage": "p1"}),
        sample(2, "C", metadata={}),
        results={"scores": [{"name": "match", "scorer": "match", "metrics": metrics}]},
    )
    assert [s.cluster for s in log.samples] == ["p1", None]


def test_another_grader_is_another_extractor(tmp_path: Path) -> None:
    def read_by(model: str) -> str:
        score = {"name": "match", "scorer": "match", "params": {"model": model}, "metrics": {}}
        return read(tmp_path, sample(1, "C"), results={"scores": [score]}).extractor

    assert read_by("a") == read_by("a") != read_by("b")


@pytest.mark.parametrize("header", ["header.json", "_journal/start.json"])
def test_an_archive_packed_with_zstd(tmp_path: Path, header: str) -> None:
    """A run that broke off leaves an archive without header.json."""
    log = inspect([sample(1, "C"), sample(2, "I")])
    files = members(log)
    files[header] = files.pop("header.json")
    found = read_inspect(zipped(tmp_path / "log.eval", files))
    plain = read_inspect(written(tmp_path / "log.json", log))
    assert found.samples == plain.samples and found.version == "0.3.1"


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ("{", "not JSON"),
        ('{"eval": {}}', "`eval` with its `task` is missing"),
        (json.dumps(inspect([])), "none of its samples has a score"),
        (json.dumps(inspect([sample(1, "blue")])), "none of its samples has a score"),
        (json.dumps(inspect([sample(1, "C"), sample(1, "I")])), "quiz/1 is there twice (asking 1)"),
        (json.dumps(inspect([sample(1, "C", id=None)])), "a sample without an id"),
    ],
)
def test_what_is_no_log_is_told(tmp_path: Path, document: str, said: str) -> None:
    path = tmp_path / "log.json"
    path.write_text(document)
    with pytest.raises(DataError, match=re.escape(said)):
        read_inspect(path)


def test_fields_of_another_shape_do_no_harm(tmp_path: Path) -> None:
    """Whatever stands in a field, the log is read or refused; nothing else is raised."""
    path, log = tmp_path / "log.json", inspect([sample(1, "C")])
    whole = [log | {name: value} for name in log for value in ODD]
    of = [log | {"eval": log["eval"] | {name: value}} for name in log["eval"] for value in ODD]
    each = [log | {"samples": [sample(1, "C") | {n: value}]} for n in sample(1, "C") for value in ODD]
    score = [log | {"results": {"scores": [{"name": value, "metrics": value}]}} for value in ODD]
    for document in (*whole, *of, *each, *score):
        try:
            assert read_inspect(written(path, document)).samples
        except DataError as error:
            assert str(path) in str(error)


ODD: tuple[Any, ...] = (None, 7, -1, "x", [], {}, [[]], [None], {"x": None}, {"x": {"x": [1]}}, [{"x": 1}])


@pytest.mark.parametrize(("reason", "finish"), [("stop", "stop"), ("unknown", "unknown"), (None, "unknown")])
def test_a_log_that_does_not_say_why_a_model_ended_is_not_taken_to_say_it(
    tmp_path: Path, reason: str | None, finish: str
) -> None:
    said = {"choices": [{"message": {"content": "yes"}, "stop_reason": reason}]}
    assert only(tmp_path, output=said).finish == finish
