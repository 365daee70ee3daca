"""What pages show of the whole: runs by provider and project, the database, and an ended run's score."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from proctor.findings import Score
from proctor.service.context import Context
from proctor.service.results.results import shown
from proctor.store.read import counts
from proctor.store.read.counts import ProjectRuns
from proctor.types import Run

__all__ = [
    "DatabaseRoom",
    "ProjectRuns",
    "database",
    "headline_of",
    "projects",
    "runs_by_provider",
    "runs_of_sources",
]


@dataclass(frozen=True, slots=True)
class DatabaseRoom:
    """Where everything is kept, and the room it takes; None where that is not told."""

    where: str
    size_bytes: int | None


def runs_by_provider(context: Context) -> dict[str, int]:
    return counts.runs_by(context.store, "provider")


def projects(context: Context) -> dict[int, ProjectRuns]:
    """The runs of each project that has any."""
    return {each.project_id: each for each in counts.projects(context.store)}


def runs_of_sources(context: Context, names: Collection[str]) -> dict[tuple[int, str], int]:
    """(project, source) -> how many runs ask it."""
    return counts.runs_of_sources(context.store, names)


def database(context: Context) -> DatabaseRoom:
    return DatabaseRoom(counts.where(context.store), counts.size_bytes(context.store))


def headline_of(context: Context, run: Run) -> Score | None:
    """An ended run's score over its tasks; None of one at work, and of one without a score."""
    if run.finished_at is None:
        return None
    found = shown(context.store, run).scores
    return found[0] if found else None
