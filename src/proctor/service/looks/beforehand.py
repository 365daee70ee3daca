"""Which comparisons were chosen before anything was seen: those of a plan that was begun with --only."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.service.looks.ledger import LookLedger
from proctor.store import Store
from proctor.store.read.keyed import plan_is_alone
from proctor.types import Run


def chosen_beforehand(store: Store, runs: Sequence[Run]) -> bool:
    """Whether these are all the runs of one plan, which said that its models alone count."""
    plans = {run.plan_id for run in runs}
    if len(plans) != 1:
        return False
    (plan,) = plans
    return plan_is_alone(store, plan) and {run.id for run in store.plan_runs(plan)} == {
        run.id for run in runs
    }


def ledger_of(store: Store, runs: Sequence[Run], *, grader: str | None = None) -> LookLedger:
    """For an evaluation of these runs as their plan wanted it."""
    return LookLedger(store, only=chosen_beforehand(store, runs), grader=grader)
