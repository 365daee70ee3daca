"""The documented files of a trial, made of its record: views for people and scripts, never read back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from proctor.printable import printable
from proctor.sources.rollouts.task import PreparedTask
from proctor.trial_record import TrialRecord, tokens_of
from proctor.types import Reply, Usage

BAR = 20
MARKS = ((1.0, "🏆"), (0.8, "✅"), (0.5, "⚠️"), (0.0, "❌"))
SHOWN_OUTPUT, SHOWN_PATCH = 1_500, 20_000  # characters


def evaluation_results_document(task: PreparedTask, record: TrialRecord, reply: Reply) -> bytes:
    """`evaluation_results.json`; the score stands at the top and in `evaluation`, as programs of others look for it."""
    told: dict[str, Any] = {
        "task_id": task.id,
        "run_id": record.run_id,
        "total_score": record.score,
        "max_score": 1.0,
        "passed": record.passed,
        "evaluation": {
            "rubrics": {
                name: {
                    "criterion": each.criterion,
                    "weight": each.weight,
                    "score": each.score,
                    "max_score": 1.0,
                    "weighted_score": None if each.score is None else each.score * each.weight,
                    "test_count": each.tests,
                    "tests_passed": each.passed,
                }
                for name, each in record.rubrics.items()
            },
            "total_score": record.score,
            "max_score": 1.0,
        },
        "test_results": {
            path: {"success": each.passed, "output": each.output, "why": each.why, "seconds": each.seconds}
            for path, each in record.tests.items()
        },
        "diff_lines": record.diff_lines,
        "agent_metrics": _agent_metrics(record, reply),
        "custom_metrics": dict(record.custom_metrics),
        "ended": record.ended,
        "limits_met": list(record.limits_met),
        "notes": list(record.notes),
        "hashes": dict(record.hashes),
    }
    return orjson.dumps(told, option=orjson.OPT_INDENT_2)


def _agent_metrics(record: TrialRecord, reply: Reply) -> dict[str, Any]:
    wire = record.by_wire
    return {
        "tokens_total": tokens_of(Usage(reply.input_tokens, reply.output_tokens)),
        "tokens_input": reply.input_tokens,
        "tokens_output": reply.output_tokens,
        "tokens_cached": wire["cached_tokens"],
        "tokens_unused": wire["unused_tokens"],
        "calls_total": record.calls,
        "calls_retried": wire["retries"],
        "tool_calls_total": sum(bool(step.ran) for step in record.steps) if record.steps else None,
        "time_taken_seconds": record.agent_s,
        "model_seconds": wire["model_seconds"],
        "tools_seconds": wire["tools_seconds"],
        "money_spent_usd": reply.cost_usd,
    }


def repo_info_document(task: PreparedTask, touched: tuple[str, ...], patch: str) -> bytes:
    """`artifacts/repo_info.json`: which files of the repository the work touched."""
    told = {"task_id": task.id, "task_sha256": task.sha256, "touched_files": touched, "patch_sha256": patch}
    return orjson.dumps(told, option=orjson.OPT_INDENT_2)


def notes_document(final: str, notes: tuple[str, ...], limits: tuple[str, ...]) -> bytes:
    """`artifacts/notes.md`: the agent's last words, and what is to be said of what it left."""
    # Quoted, so that no line of it is taken for one of ours.
    words = [f"> {line}" for line in printable(final).strip().split("\n")] if final.strip() else ["None."]
    lines = ["# Notes", "", "## The agent's last words", "", *words, ""]
    for title, sentences in (("Limits met", limits), ("On the work", notes)):
        if sentences:
            lines += [f"## {title}", "", *(f"- {each}" for each in sentences), ""]
    return "\n".join(lines).encode("utf-8", "replace")


def scoring_document(task: PreparedTask, record: TrialRecord, reply: Reply) -> bytes:
    """`scoring_results.md`: the verdict for people."""
    lines = [
        f"# Scoring of {record.run_id}",
        "",
        *_overall(record),
        *_breakdown(record, reply),
        *_tests(record),
        *_definitions(task),
        *_changes(reply.text),
        "## Task Instructions",
        "",
        task.instruction.strip(),
        "",
        *_summary(record),
    ]
    return "\n".join(lines).encode("utf-8", "replace")


def _overall(record: TrialRecord) -> Iterator[str]:
    mark = next(mark for least, mark in MARKS if record.score >= least)
    full = round(record.score * BAR)
    yield "## Overall Score"
    yield ""
    yield f"{mark} **{record.score:.1%}** `{'█' * full}{'░' * (BAR - full)}` {_verdict(record)}"
    yield ""


def _verdict(record: TrialRecord) -> str:
    return "passed" if record.passed else "failed"


def _breakdown(record: TrialRecord, reply: Reply) -> Iterator[str]:
    yield "## Scoring Breakdown"
    yield ""
    yield "| rubric | criterion | weight | score | tests |"
    yield "|---|---|---|---|---|"
    for name, each in record.rubrics.items():
        score = "no tests, does not count" if each.score is None else f"{each.score:.1%}"
        yield f"| {_cell(name)} | {_cell(each.criterion)} | {each.weight:g} | {score} | {each.passed}/{each.tests} |"
    yield ""
    yield "| measured | value |"
    yield "|---|---|"
    told = {**_agent_metrics(record, reply), **{f"custom: {k}": v for k, v in record.custom_metrics.items()}}
    for name, value in told.items():
        yield f"| {_cell(name.replace('_', ' '))} | {'not measured' if value is None else f'{value:g}'} |"
    yield ""


def _tests(record: TrialRecord) -> Iterator[str]:
    yield "## Test Results"
    yield ""
    for path, each in record.tests.items():
        how = "passed" if each.passed else f"failed {f'({each.why})' if each.why else ''}".strip()
        yield f"### {path}: {how}"
        yield ""
        yield from _fenced(each.output[-SHOWN_OUTPUT:])


def _definitions(task: PreparedTask) -> Iterator[str]:
    yield "## Test Definitions"
    yield ""
    for test in task.tests:
        yield f"- `{test.path}` ({test.runner}), of rubric {test.rubric or 'none'}"
    yield ""


def _changes(patch: str) -> Iterator[str]:
    lines = patch.splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    yield f"## Agent's Changes (+{added}/-{removed})"
    yield ""
    cut = len(patch) > SHOWN_PATCH
    yield from _fenced(patch[:SHOWN_PATCH], "diff")
    if cut:
        yield f"The first {SHOWN_PATCH:,} characters; all of it is in artifacts/diff.patch."
        yield ""


def _summary(record: TrialRecord) -> Iterator[str]:
    yield "## Final Summary"
    yield ""
    yield "| | |"
    yield "|---|---|"
    yield f"| verdict | {_verdict(record)}, {record.score:.1%} |"
    yield f"| the agent | {record.ended}{'' if record.exit_code is None else f', exit code {record.exit_code}'} |"
    for each in (*record.limits_met, *record.notes):
        yield f"| note | {_cell(each)} |"
    for phase in record.phases:
        yield f"| {phase.name} | {phase.seconds:.3f} s |"
    yield f"| contained by | {_cell(record.sandbox)} |"
    for name, value in record.hashes.items():
        yield f"| {name} | `{value}` |"
    yield ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def _fenced(text: str, kind: str = "") -> Iterator[str]:
    """A block that its content cannot end: the fence is longer than any in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    yield f"{fence}{kind}"
    yield text.rstrip()
    yield fence
    yield ""
