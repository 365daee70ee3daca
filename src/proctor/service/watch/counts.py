"""What pages show of the whole: runs by provider and project, the database, and a model's runs with their figures."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.findings import Score, Tally
from proctor.service.context import Context
from proctor.service.results.results import shown
from proctor.store.read import counts, lists
from proctor.store.read.lists import RunFilter, RunLine
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class DatabaseRoom:
    """Where everything is kept, and the room it takes; None where that is not told."""

    where: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class ModelRun:
    """A run in the list of its model. A run that has not ended has no headline and no tally."""

    line: RunLine
    headline: Score | None
    tally: Tally | None


def runs_by_provider(context: Context) -> dict[str, int]:
    return counts.runs_by(context.store, "provider")


def runs_by_project(context: Context) -> dict[int, int]:
    return counts.runs_by(context.store, "project_id")


def database(context: Context) -> DatabaseRoom:
    return DatabaseRoom(counts.where(context.store), counts.size_bytes(context.store))


def model_runs(context: Context, model: str, *, limit: int) -> tuple[list[ModelRun], int]:
    """The newest runs of `provider/name` with their figures, and how many there are in all."""
    lines, total = lists.run_lines(context.store, RunFilter(model=model), limit=limit)
    return [_with_figures(context, line) for line in lines], total


def headline_of(context: Context, run: Run) -> Score | None:
    """An ended run's score over its tasks; None of one at work, and of one without a score."""
    if run.finished_at is None:
        return None
    found = shown(context.store, run).scores
    return found[0] if found else None


def _with_figures(context: Context, line: RunLine) -> ModelRun:
    if line.finished_at is None:
        return ModelRun(line, None, None)
    result = shown(context.store, context.store.run(line.id))
    return ModelRun(line, result.scores[0] if result.scores else None, result.tally)
