"""`proctor history`: the runs of the last days, and how each model's headline moved from run to run."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from proctor.errors import ConfigError
from proctor.findings import Difference, RunResult, Score
from proctor.service.context import Context
from proctor.service.evidence.changes import changed, steps
from proctor.service.results import documents
from proctor.service.results.results import make_good, shown
from proctor.store.core.scores import headlines
from proctor.store.read.lists import RunFilter, RunLine, run_lines
from proctor.types import Status

DAY_S = 86400.0
MOST_DAYS = 3650


@dataclass(frozen=True, slots=True)
class HistoryLine:
    """A run, and its change from the model's run before it that was asked the same; None where there is none."""

    result: RunResult
    change: Difference | None


@dataclass(frozen=True, slots=True)
class History:
    """Runs newest first. `success_rate` is the share of the ended runs that completed; None if none has ended."""

    days: int
    runs: tuple[HistoryLine, ...]
    completed: int
    failed: int
    success_rate: float | None

    @property
    def total(self) -> int:
        return len(self.runs)


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """An ended run of a model, its headline, and its change from the run before it that was asked the same."""

    run: RunLine
    score: Score
    change: Difference | None


def history(
    context: Context,
    *,
    model: str | None = None,
    days: int = 30,
    source: str | None = None,
    project_id: int | None = None,
) -> History:
    """The runs of the last `days`; `model` is a name with or without its provider.

    Raises ConfigError if `days` is not 1 to 3650.
    """
    if not 1 <= days <= MOST_DAYS:
        raise ConfigError(f"days {days}: give 1 to {MOST_DAYS:,}")
    since = time.time() - days * DAY_S
    wanted = RunFilter(model=model, source=source, project_id=project_id, since=since)
    lines = run_lines(context.store, wanted, limit=None)[0]
    moved = changed(context.store, steps(lines))
    runs = context.store.runs(limit=None, model=model, source=source, since=since, project_id=project_id)
    past = tuple(HistoryLine(shown(context.store, run), moved.get(run.id)) for run in runs)
    ended = [run for run in runs if run.finished_at is not None]
    completed = sum(1 for run in ended if run.status is Status.COMPLETED)
    return History(
        days=days,
        runs=past,
        completed=completed,
        failed=sum(1 for run in ended if run.status is Status.FAILED),
        success_rate=completed / len(ended) if ended else None,
    )


def trend(context: Context, wanted: RunFilter) -> list[TrendPoint]:
    """The ended runs of a model with their headlines as they were kept, newest first."""
    make_good(context)
    lines = run_lines(context.store, wanted, limit=None)[0]
    moved = changed(context.store, steps(lines))
    ended = [line for line in lines if line.finished_at is not None]
    found = headlines(context.store, [line.id for line in ended])
    return [TrendPoint(line, found[line.id], moved.get(line.id)) for line in ended if line.id in found]


def history_document(of: History) -> dict[str, Any]:
    return {
        "days": of.days,
        "total": of.total,
        "completed": of.completed,
        "failed": of.failed,
        "success_rate": of.success_rate,
        "runs": [
            {
                **documents.result(past.result),
                "change": documents.difference(past.change) if past.change else None,
            }
            for past in of.runs
        ],
    }
