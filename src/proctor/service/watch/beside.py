"""Runs that are asked side by side until decided, as one sees them who follows one of them from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.findings.looks import Decision
from proctor.service import deciding
from proctor.service.context import Context
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class RunsBeside:
    """The plan's runs that are asked on the same items, oldest first, and how far their pairs are decided."""

    runs: tuple[Run, ...]
    decision: Decision


def side_by_side(context: Context, run: Run) -> RunsBeside | None:
    """None for a run that is asked by itself, or before the rows are opened."""
    if not run.cell.limits.until_decided:
        return None
    runs = tuple(each for each in context.store.plan_runs(run.plan_id) if each.manifest.opened)
    if len(runs) < 2 or run.id not in {each.id for each in runs}:
        return None
    decision = deciding.side_by_side(context.store, runs, context.store)
    return None if decision is None else RunsBeside(runs, decision)
