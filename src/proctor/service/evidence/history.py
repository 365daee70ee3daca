"""`proctor history`: the runs of the last days, and how each model's headline moved from run to run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import ConfigError
from proctor.findings import Difference, RunResult
from proctor.service.context import Context
from proctor.service.results import documents
from proctor.service.results.results import marks, shape, shown
from proctor.stats.compare import differences
from proctor.store import Store
from proctor.types import Run, Status

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
    runs = context.store.runs(limit=None, model=model, source=source, since=since, project_id=project_id)
    past = tuple(
        HistoryLine(shown(context.store, run), _change(context.store, run, runs[place + 1 :]))
        for place, run in enumerate(runs)
    )
    ended = [run for run in runs if run.finished_at is not None]
    completed = sum(1 for run in ended if run.status is Status.COMPLETED)
    return History(
        days=days,
        runs=past,
        completed=completed,
        failed=sum(1 for run in ended if run.status is Status.FAILED),
        success_rate=completed / len(ended) if ended else None,
    )


def _change(store: Store, run: Run, earlier: Sequence[Run]) -> Difference | None:
    if not _complete(run) or run.comparability is None:
        return None
    for other in earlier:
        alike = other.exam == run.exam and other.comparability == run.comparability
        alike = alike and str(other.cell.model) == str(run.cell.model)
        if alike and _complete(other):
            rows, before = list(marks(store, run)), list(marks(store, other))
            return differences(rows, before, shape(run), tasks=False)[0]
    return None


def _complete(run: Run) -> bool:
    return run.status is Status.COMPLETED and not run.partial and not run.stopped


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
