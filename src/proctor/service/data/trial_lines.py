"""A trial as one line of an export: what became of it, what it took, where its files are, and its patch."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from proctor.store import AttemptRow
from proctor.trial_record import BY_WIRE, record_from
from proctor.types import Item, Outcome, Run

TRIAL_COLUMNS = (
    "run_id",
    "model",
    "task",
    "task_sha256",
    "rollout",
    "trial",
    "attempt",
    "state",
    "score",
    "passed",
    "ended",
    "limits_met",
    "seconds",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "calls",
    *BY_WIRE,
    "diff_lines",
    "patch_sha256",
    "run_dir",
    "error_slug",
    "error",
)


def trial_record(run: Run, row: AttemptRow, item: Item, payload: Mapping[str, Any]) -> dict[str, Any]:
    """`trial` is the name of its folder in data/runs. `state` is passed, failed, or the slug of what broke."""
    scored = row.outcome is not Outcome.ERROR
    passed = row.outcome is Outcome.CORRECT
    patch = payload.get("text")
    return {
        "run_id": run.id,
        "model": str(run.cell.model),
        "task": row.item_id,
        "task_sha256": getattr(run.manifest.facts, "folders", {}).get(row.item_id, row.item_hash),
        "rollout": row.repeat,
        "trial": None,
        "attempt": row.attempt,
        "state": ("passed" if passed else "failed") if scored else row.error_slug,
        "score": row.score,
        "passed": passed if scored else None,
        "ended": row.finish,
        "limits_met": None,
        "seconds": row.latency_s,
        "input_tokens": row.input_tokens,
        "output_tokens": row.output_tokens,
        "cost_usd": row.cost_usd,
        "calls": None,
        **dict.fromkeys(BY_WIRE),
        "diff_lines": None,
        "patch_sha256": None if patch is None else hashlib.sha256(patch.encode()).hexdigest(),
        "run_dir": None,
        **_recorded(payload.get("raw")),
        "error_slug": row.error_slug,
        "error": payload.get("error"),
        "instruction": "\n".join(message.content for message in item.ask.messages),
        "patch": patch,
    }


def _recorded(raw: str | None) -> dict[str, Any]:
    """What the record of a finished trial adds. Raises: DataError."""
    if not raw:
        return {}
    record = record_from(raw.encode())
    return {
        "trial": record.run_id,
        "ended": record.ended,
        "limits_met": "; ".join(record.limits_met),
        "calls": record.calls,
        **record.by_wire,
        "diff_lines": record.diff_lines,
        "run_dir": record.run_dir,
        "sandbox": record.sandbox,
        "rubrics": {name: each.score for name, each in record.rubrics.items()},
        "custom_metrics": dict(record.custom_metrics),
    }
