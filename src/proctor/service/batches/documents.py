"""Batches in JSON: the specification's fields first, in its words and shapes, with our own beside."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import orjson

from proctor import __version__
from proctor.interop.batches.written import written
from proctor.manifest import BatchFacts
from proctor.service.batches.benchmarks import Benchmark, BenchmarkList, ident_of
from proctor.service.batches.exports.rows import ExportCounts, ExportWish
from proctor.service.batches.labels import LabelCounts, ReplyLabel
from proctor.service.batches.results import BatchItem, RequestRow, RowsPage
from proctor.store import AttemptRow
from proctor.types import Run

LICENCE = "What a model said may be used as the terms of the model and of its provider allow."


def moment(at: float | None) -> str | None:
    """ISO 8601 in UTC, whole seconds.

    >>> moment(1765140917.4)
    '2025-12-07T20:55:17Z'
    """
    return None if at is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def started_document(run: Run) -> dict[str, Any]:
    """What a benchmark that was just handed in answers."""
    return {
        "benchmark_id": ident_of(run),
        "status": run.status.value,
        "started_at": moment(run.started_at or run.created_at),
    }


def benchmark_document(of: Benchmark) -> dict[str, Any]:
    """As `GET /admin/benchmarks` lists it. What is not known is null; `eta_seconds` of an ended one is 0."""
    run = of.run
    return {
        "benchmark_id": of.id,
        "model_id": str(run.cell.model),
        "model_name": of.model_name,
        "dataset_id": of.dataset_id,
        "dataset_name": of.dataset_name,
        "status": of.status.value,
        "progress": of.progress,
        "completed": of.completed,
        "total": of.total,
        "throughput": _rounded(of.throughput),
        "eta_seconds": 0 if of.state.ended else _whole(of.eta_s),
        "started_at": moment(of.began_at),
        "completed_at": moment(run.finished_at),
        "total_time_seconds": round(of.total_time_s, 2),
        "created_at": moment(run.created_at),
        "run_id": run.id,
        "project_id": of.project_id,
        "failed": of.failed,
        "errors": dict(of.errors),
        "requests_per_s": _rounded(of.requests_per_s),
        "output_tokens_per_s": _rounded(of.throughput),
        "eta_low_s": _whole(of.eta_low_s),
        "eta_high_s": _whole(of.eta_high_s),
        "partial": run.partial and of.state.ended,
        "step": of.state.step,
        "error": of.why,
    }


def list_document(of: BenchmarkList) -> dict[str, Any]:
    return {
        "benchmarks": [benchmark_document(each) for each in of.benchmarks],
        "after": of.after,
        "total": of.total,
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def results_document(of: Benchmark, page: RowsPage) -> dict[str, Any]:
    """`GET /admin/benchmarks/{id}/results`: a page of the documented lines; orjson writes it."""
    return {
        "benchmark_id": of.id,
        "model_name": of.model_name,
        "dataset_name": of.dataset_name,
        "status": of.status.value,
        "total_time_seconds": round(of.total_time_s, 2),
        "throughput": _rounded(of.throughput),
        "results": [orjson.Fragment(line_text(row)) for row in page.rows],
        "after": page.after,
        "matched": page.matched,
        "total": page.total,
        "searched_to": page.searched_to,
        "search": page.search,
    }


def line_text(row: RequestRow) -> bytes:
    """One result line as JSON: the bytes of an output file's line, and behind them what was measured."""
    return written(row.line, "openai").rstrip()[:-1] + b"," + orjson.dumps(row_document(row))[1:]


def line_document(row: RequestRow) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(line_text(row))
    return found


def row_document(row: RequestRow) -> dict[str, Any]:
    return {
        "position": row.attempt.position,
        "prompt": row.prompt,
        "answer": row.answer,
        "failure": row.error,
        "candidate": row.candidate,
        "metrics": metrics_document(row.attempt),
        "label": None if row.label is None else label_document(row.label),
    }


def metrics_document(attempt: AttemptRow) -> dict[str, Any]:
    return {
        "outcome": attempt.outcome.value,
        "finish_reason": attempt.finish,
        "score": attempt.score,
        "input_tokens": attempt.input_tokens,
        "output_tokens": attempt.output_tokens,
        "reasoning_tokens": attempt.reasoning_tokens,
        "latency_s": attempt.latency_s,
        "first_token_s": attempt.first_token_s,
        "inter_token_s": attempt.inter_token_s,
        "service_s": attempt.service_s,
        "cost_usd": attempt.cost_usd,
        "retries": attempt.retries,
        "error": attempt.error_slug,
        "at": moment(attempt.at),
    }


def item_document(of: BatchItem) -> dict[str, Any]:
    """One request whole; its body is as it was written; orjson writes it."""
    asked = of.request
    return {
        **orjson.loads(line_text(of.row)),
        "text": of.said.get("text"),
        "reasoning": of.said.get("reasoning"),
        "request": None
        if asked is None
        else {"url": asked.url, "model": asked.model, "body": orjson.Fragment(asked.body)},
        "tries": [
            {"attempt": each.attempt, **metrics_document(each), "failure": said.get("error")}
            for each, said in of.tries
        ],
        "labels": [label_document(each) for each in of.labels],
        "before": of.before,
        "after": of.after,
    }


def label_document(of: ReplyLabel) -> dict[str, Any]:
    return {
        "custom_id": of.item_id,
        "verdict": of.verdict,
        "text": of.text,
        "note": of.note,
        "tags": list(of.tags),
        "user": of.user,
        "at": moment(of.at),
    }


def counts_document(of: LabelCounts) -> dict[str, Any]:
    return {"verdicts": of.verdicts, "tags": of.tags}


def manifest_document(
    runs: Sequence[tuple[Run, LabelCounts]], wish: ExportWish, counts: ExportCounts
) -> dict[str, Any]:
    """What stands beside an export: of which runs, which rows, labelled how often, written how."""
    return {
        "proctor": __version__,
        "made_at": moment(time.time()),
        "format": wish.form,
        "rows": wish.chosen,
        "filters": wish.rows.words,
        "options": {
            "drop_reasoning": wish.drop_reasoning,
            "dedupe": wish.dedupe,
            "hold_out": wish.hold_out,
            "shape": wish.shape,
        },
        "written": counts.written,
        "held_out": counts.held_out,
        "left_out": counts.left_out,
        "runs": [_run_document(run, labels) for run, labels in runs],
        "licence": LICENCE,
    }


def _run_document(run: Run, labels: LabelCounts) -> dict[str, Any]:
    facts = run.manifest.facts
    of_file = asdict(facts) if isinstance(facts, BatchFacts) else {}
    return {
        "run": run.id,
        "model": str(run.cell.model),
        "dataset": run.cell.source.listed,
        "file_sha256": of_file.get("file_sha256"),
        "requests_sha256": of_file.get("item_set_sha256"),
        "requests": run.planned,
        "settled": run.settled,
        "status": run.status.value,
        "labels": counts_document(labels),
    }
