"""Runs that are asked side by side until decided, as one sees them who follows one of them from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.findings.looks import Decision
from proctor.service.context import Context
from proctor.service.deciding import plan_decision
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The plan's runs that are asked on the same items, oldest first, and how far their pairs are decided."""

    runs: tuple[Run, ...]
    decision: Decision


def side_by_side(context: Context, run: Run) -> SideBySide | None:
    """None for a run that is asked by itself."""
    if not run.cell.limits.until_decided:
        return None
    decision = plan_decision(context.store, run)
    if decision is None:
        return None
    runs = context.store.plan_runs(run.plan_id)
    return SideBySide(tuple(each for each in runs if each.cell.limits.until_decided), decision)
