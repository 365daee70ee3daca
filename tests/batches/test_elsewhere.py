"""Outputs made elsewhere become runs: every tool's lines, their faults by name, their requests, and back again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from opened import import_logs, over, start
from output_files import chat, file_of, line, refused, request
from proctor.app import program
from proctor.errors import DataError
from proctor.references import BatchRef, LogRef
from proctor.replies.lines import parse_line
from proctor.service.batches.compare import compared
from proctor.service.batches.elsewhere import import_outputs, is_output
from proctor.service.context import open_context
from proctor.service.output import lines as output
from proctor.settings import Settings, read_settings
from proctor.store import Store
from proctor.store.read import said
from proctor.types import Cell, Model, Outcome, Plan, Run, Sampling, Status

ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Oslo"}],
    "stop_reason": "max_tokens",
    "usage": {"input_tokens": 9, "output_tokens": 4},
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "status": "completed",
    "model": "m-1",
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Oslo"}]},
    ],
    "usage": {"input_tokens": 9, "output_tokens": 4, "output_tokens_details": {"reasoning_tokens": 1}},
}
# What a line of each tool is, and what it says: the text or why there is none, how it ended, tokens out, HTTP status.
LINES: dict[str, tuple[dict[str, Any], tuple[str | None, str, int | None, int | None]]] = {
    "openai": (line("q", chat("Oslo")), ("Oslo", "stop", 3, None)),
    "openai, a refusal without an error beside it": (refused("q"), (None, "bad-request", None, 400)),
    "openai, expired": (
        {
            "id": "batch_req_1",
            "custom_id": "q",
            "response": None,
            "error": {"code": "batch_expired", "message": "late"},
        },
        (None, "batch_expired", None, None),
    ),
    "openai, a response": (line("q", RESPONSE), ("Oslo", "stop", 4, None)),
    "openai, a completion": (
        line("q", {"object": "text_completion", "choices": [{"text": "Oslo", "finish_reason": "length"}]}),
        ("Oslo", "length", None, None),
    ),
    "vllm": (
        {**line("q", chat("Oslo")), "id": "vllm-1"},
        ("Oslo", "stop", 3, None),
    ),
    "vllm, the bare response of older ones": (
        {"id": "vllm-1", "custom_id": "q", "response": chat("Oslo"), "error": None},
        ("Oslo", "stop", 3, None),
    ),
    "vllm, an error as text": (
        {
            "id": "vllm-1",
            "custom_id": "q",
            "response": {"status_code": 400, "request_id": "r", "body": None},
            "error": "bad",
        },
        (None, "bad-request", None, 400),
    ),
    "vllm, an error as an object": (
        {
            "id": "vllm-1",
            "custom_id": "q",
            "response": {"status_code": 500, "request_id": "r", "body": None},
            "error": {"object": "error", "message": "worse", "type": "InternalServerError", "code": 500},
        },
        (None, "provider", None, 500),
    ),
    "without names of line and request": (
        {
            "custom_id": "q",
            "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "Oslo"}}]}},
        },
        ("Oslo", "unknown", None, None),
    ),
    "together, an error": (
        {"custom_id": "q", "error": {"message": "no such model", "code": "model_not_available"}},
        (None, "model_not_available", None, None),
    ),
    "anthropic": (
        {"custom_id": "q", "result": {"type": "succeeded", "message": ANTHROPIC}},
        ("Oslo", "length", 4, None),
    ),
    "anthropic, an error": (
        {
            "custom_id": "q",
            "result": {
                "type": "errored",
                "error": {"type": "error", "error": {"type": "invalid_request_error", "message": "x"}},
            },
        },
        (None, "invalid_request_error", None, None),
    ),
    "anthropic, expired": ({"custom_id": "q", "result": {"type": "expired"}}, (None, "expired", None, None)),
}


def settings(tmp_path: Path) -> Settings:
    return read_settings({"PROCTOR_HOME": str(tmp_path / "home")})


def kept(store: Store, run: Run) -> list[tuple[str, str | None, str | None, int | None, int | None]]:
    """Id, text, how it ended or failed, tokens out and HTTP status of each attempt."""
    return [
        (row.item_id, record["text"], row.finish or row.error_slug, row.output_tokens, row.status)
        for row, record in said.in_order(store, run.id)
    ]


@pytest.fixture
def store(sqlite_url: str) -> Any:
    opened = Store.open(sqlite_url)
    yield opened
    opened.close()


@pytest.mark.promise("B-24")
@pytest.mark.parametrize("shape", LINES)
def test_a_line_of_any_tool_becomes_an_attempt_and_the_line_again(
    shape: str, store: Store, tmp_path: Path
) -> None:
    record, expected = LINES[shape]
    found = import_outputs(over(store), [file_of(tmp_path / "out.jsonl", [record])])
    run = found.result.run
    assert (found.faults, run.status, run.cell.source) == (
        (),
        Status.COMPLETED,
        LogRef("out.jsonl", "outputs"),
    )
    assert kept(store, run) == [("q", *expected)]
    # Written again it says the same to whoever reads it, and has the server's own words.
    (written,) = output.lines(over(store), run)
    before, after = parse_line(json.dumps(record).encode()), parse_line(written)
    assert (
        after.id == "q"
        and after.replies == before.replies
        and (after.error is None) == (before.error is None)
    )
    assert after.body == before.body or before.status is None
    assert after.code == before.code or before.status is not None


@pytest.mark.slow
@pytest.mark.promise("B-24")
def test_the_real_outputs_become_runs_that_are_compared_with_our_own(shared: Path, tmp_path: Path) -> None:
    ours = settings(tmp_path)
    folder = shared / "data/openai_batch"
    asked = folder / "groq_example/batch_input.jsonl"
    unasked = Sampling(temperature=None, max_tokens=None, context_tokens=None, seed=None)
    outcome = start(Plan((Cell(Model("simulator", "sim"), BatchRef(str(asked)), unasked),)), ours)
    own = outcome.evaluation.results[0].run
    with open_context(ours) as context:
        for name, model in (("groq_example", "llama-3.1-8b-instant"), ("genai_navirag", "gpt-4o-2024-08-06")):
            path = folder / name / "batch_output.jsonl"
            found = import_outputs(context, [path], folder / name / "batch_input.jsonl")
            assert str(found.result.run.cell.model) == f"openai-batch/{model}"
            assert (found.result.run.settled, found.bad) == (found.result.run.planned, 0)
            bodies = {
                rec["custom_id"]: rec["response"]["body"]
                for rec in map(json.loads, path.read_text().splitlines())
            }
            again = map(json.loads, output.lines(context, found.result.run))
            assert {rec["custom_id"]: rec["response"]["body"] for rec in again} == bodies
        # The run of our own on the same file was asked the very same, and says so.
        (log,) = [
            run
            for run in context.store.runs(limit=None, source="batch_input.jsonl")
            if run.planned == 3 and run.id != own.id
        ]
        assert log.manifest.facts.item_set_sha256 == own.manifest.facts.item_set_sha256
        comparison = compared(context, ["last", own.id])
        assert comparison.summaries[0].run_id == log.id and "the same requests" in comparison.notes[0]
        (pair,) = comparison.pairs
        assert (pair.both, pair.unlike, pair.unknown) == (3, 0, 0)


def test_bad_lines_are_named_and_the_others_taken(store: Store, tmp_path: Path) -> None:
    whole = json.dumps(line("c", chat("x")))
    lines = [
        "\ufeff" + json.dumps(line("a", chat("one"))),
        "",
        "[1]",
        json.dumps({"response": {"status_code": 200, "body": chat("nobody's")}}),
        json.dumps(line("b", {"odd": 1})),
        json.dumps({"custom_id": "d", "result": {"type": "odd"}}),
        whole[: len(whole) // 2],
    ]
    found = import_outputs(over(store), [file_of(tmp_path / "out.jsonl", lines)])
    assert [fault.partition(":")[0] for fault in found.faults] == [
        f"out.jsonl, line {n}" for n in (3, 4, 5, 6, 7)
    ]
    assert kept(store, found.result.run) == [("a", "one", "stop", 3, None)]
    with pytest.raises(DataError, match="no line of a batch's output"):
        import_outputs(over(store), [file_of(tmp_path / "none.jsonl", ["", "{}"])])


def test_an_output_file_and_its_error_file_are_one_run_and_an_answer_counts_before_a_failure(
    store: Store, tmp_path: Path
) -> None:
    first = file_of(
        tmp_path / "output.jsonl", [line("a", chat("one")), line("b", chat("two")), line("b", chat("later"))]
    )
    second = file_of(tmp_path / "errors.jsonl", [refused("a"), refused("c", 429)])
    found = import_outputs(over(store), [first, second])
    run = found.result.run
    assert kept(store, run) == [
        ("a", "one", "stop", 3, None),
        ("b", "later", "stop", 3, None),
        ("c", None, "rate-limited", None, 429),
    ]
    assert "2 lines repeat a custom_id" in "".join(found.notes)
    again = import_outputs(over(store), [first, second])
    assert again.before and again.result.run.id == run.id


def test_requests_without_a_line_are_missing_and_lines_without_a_request_are_named(
    store: Store, tmp_path: Path
) -> None:
    asked = file_of(tmp_path / "in.jsonl", [request(name, f"What is {name}?") for name in "abc"])
    path = file_of(tmp_path / "out.jsonl", [line("c", chat("C")), line("x", chat("X")), line("a", chat("A"))])
    found = import_outputs(over(store), [path], asked)
    run = found.result.run
    assert (run.planned, run.settled, run.partial) == (3, 2, True)
    assert run.stopped == "1 requests have no line in the output"
    assert any("1 lines answer no request of in.jsonl" in note and note.endswith("x") for note in found.notes)
    rows = list(store.latest(run.id))
    assert [(row.item_id, row.position, row.outcome) for row in rows] == [
        ("a", 0, Outcome.ANSWERED),
        ("c", 2, Outcome.ANSWERED),
    ]
    assert "What is c?" in store.item(rows[1].item_hash).ask.body.decode()  # type: ignore[union-attr]  # it is a request


def test_the_commands_say_what_was_imported_and_what_was_left_out(tmp_path: Path) -> None:
    env = {"PROCTOR_HOME": str(tmp_path / "home")}
    path = file_of(
        tmp_path / "out.jsonl",
        [{"custom_id": "a", "error": {"message": "no", "code": "x"}}, line("b", chat("B"), 200), "{"],
    )
    done = CliRunner(env=env).invoke(
        program(), ["batch", "import", str(path), "--model", "big"], standalone_mode=False
    )
    assert done.return_value == 3, done.output
    assert "batch/big" in done.output and "1 of 2 requests answered, 1 failed" in done.output
    assert "Bad line: out.jsonl, line 3" in done.output
    told = CliRunner(env=env).invoke(
        program(), ["batch", "import", str(path), "--model", "big", "--json"], standalone_mode=False
    )
    assert json.loads(told.output)["import"]["before"] is True


def test_proctor_import_takes_outputs_of_batches_too(tmp_path: Path) -> None:
    path = file_of(tmp_path / "out.jsonl", [line("a", chat("A"))])
    assert is_output(path) and not is_output(file_of(tmp_path / "in.jsonl", [request("a", "?")]))
    found = import_logs([path], settings(tmp_path))
    assert [str(each.result.run.cell.model) for each in found.imported] == ["openai-batch/m-1"]


def test_a_run_made_elsewhere_cannot_be_asked_again(store: Store, tmp_path: Path) -> None:
    run = import_outputs(over(store), [file_of(tmp_path / "out.jsonl", [line("a", chat("A"))])]).result.run
    assert run.cell.source.imported and run.comparability is None
    assert run.elapsed_s == 0  # how long it took there is not known; keeping it took none of it
