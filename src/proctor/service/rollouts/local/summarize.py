"""What a kept benchmark shows: its evaluation, a line a trial, and its files brought up to date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from proctor.figures import amount, dollars, duration, fraction
from proctor.findings import Evaluation
from proctor.plan.rollouts import benchmark_fault
from proctor.service.context import Context
from proctor.service.hosts.places import at_home
from proctor.service.hosts.trials import have_all
from proctor.service.output.benchmark_files import manifest_document, write_files
from proctor.service.output.stamps import ROLLOUTS, benchmark_folder
from proctor.service.output.trial_rows import TrialInFiles, TrialReader, ref_of
from proctor.service.rollouts.listing import BenchmarkWish, listed
from proctor.service.runs.lifecycle import look
from proctor.types import Run

HEADS = ("trial", "task", "agent/model", "state", "score", "time", "tokens", "cost")
SUMMARY = "summary.md"


@dataclass(frozen=True, slots=True)
class Summarized:
    """A benchmark as `summarize` shows it: `rows` is a table with its heads first, `manifest` as in its file."""

    evaluation: Evaluation
    rows: Sequence[Sequence[str]]
    manifest: dict[str, Any]
    folder: Path


def summarized(context: Context, runs: Sequence[Run]) -> Summarized:
    """Raises: NotFound, OutputError where its files cannot be written."""
    ref, plan_id = ref_of(runs[0]), runs[0].plan_id
    ref = at_home(ref, context.settings)
    reader = TrialReader(context.store, context.settings)
    folder = benchmark_folder(Path(ref.data), ref.name, ref.stamp)
    if ref.stamp:
        for run in runs:
            have_all(context, run)
        write_files(reader, plan_id, ref)
    trials = reader.trials(context.store.plan_runs(plan_id))
    evaluation = look(context, [run.id for run in runs])
    return Summarized(
        evaluation, [HEADS, *map(_row, trials)], manifest_document(plan_id, ref, trials), folder
    )


def _row(trial: TrialInFiles) -> Sequence[str]:
    row = trial.attempt
    return (
        trial.run_id,
        trial.task,
        trial.row,
        trial.state,
        fraction(row.score if row else None),
        duration(row.latency_s if row else None),
        amount(trial.tokens),
        dollars(row.cost_usd if row else None),
    )


def kept_summary(home: Path, name: str, stamp: str | None) -> str | None:
    """summary.md of a rollout whose folder is here, None where there is none; the newest without a stamp."""
    if benchmark_fault(name) or (stamp is not None and benchmark_fault(stamp)):
        return None
    found = sorted((home / ROLLOUTS / name).glob(f"{stamp or '*'}/{SUMMARY}"))
    return found[-1].read_text(encoding="utf-8", errors="replace") if found else None


def lines_of(context: Context, name: str | None, limit: int) -> list[dict[str, Any]]:
    """The newest rollouts of benchmarks, as `list` shows them."""
    return list(_lines(context, name, limit))


def _lines(context: Context, name: str | None, limit: int) -> Iterator[dict[str, Any]]:
    after: str | None = None
    while limit > 0:
        page = listed(context, BenchmarkWish(after=after), limit=min(limit, 200) if name is None else 200)
        for line in page.benchmarks:
            if name not in (None, line.name) or limit <= 0:
                continue
            limit -= 1
            yield {
                "name": line.name,
                "rollout": line.stamp,
                "state": line.state.value,
                "trials": f"{line.ended} of {line.planned}",
                "passed": line.passed,
                "errors": line.errors,
                "rows": ", ".join(line.rows),
                "created": datetime.fromtimestamp(line.created_at, UTC).strftime("%Y-%m-%d %H:%M"),
                "id": line.id[:8],
            }
        after = page.after
        if after is None:
            return
