"""A run as a schedule takes it: the same cell again, or why that cannot be."""

from __future__ import annotations

from dataclasses import replace

from proctor.errors import ConfigError
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.types import Cell, Run

_HOLDS = {
    "tasks": "Trials of agents write into folders of their own, which a schedule would write over: start them anew "
    "from the page of their benchmark.",
    "verdicts": "A judge would grade the very same replies again, which do not change: schedule the run "
    "that it judges.",
}


def why_not(run: Run) -> str | None:
    """Why no schedule can have the run; None where one can."""
    if run.cell.source.imported:
        return "It was made elsewhere and brought in: there is nothing here that could be asked again."
    kind = kind_of(run.cell.source)
    if kind.holds in _HOLDS:
        return _HOLDS[kind.holds]
    if not kind.on_server or (kind.own and getattr(run.cell.source, "content", None) is None):
        return (
            f"It asks the file {run.cell.source.listed}, which the command line read: a server opens no files by their "
            "paths. Upload it under Data sets, and schedule that."
        )
    if run.cell.model.provider == "replay":
        return "Its replies were made elsewhere, and are there already: nobody would be asked."
    return None


def cell_like(context: Context, run: Run) -> Cell:
    """The cell that a schedule runs each time: all of the run's settings, without what was for that run alone.

    Raises: ConfigError with the reason where a schedule cannot have it.
    """
    if reason := why_not(run):
        raise ConfigError(f"Run {run.id[:8]} cannot be scheduled. {reason}")
    (source,) = kind_of(run.cell.source).afresh((run.cell.source,), context)
    limits = replace(run.cell.limits, shard=None, until_decided=False)
    return replace(run.cell, source=source, limits=limits)
