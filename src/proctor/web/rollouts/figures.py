"""Figures of benchmarks of tasks, for pages: what each row shows, and which is better."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.errors import ConfigError
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.rollouts.benchmark import RolloutBenchmark
from proctor.service.watch import job_states
from proctor.trial_findings import RunTrials


def figures_of(context: Context, of: RolloutBenchmark) -> Mapping[str, RunTrials]:
    """What each row shows by now, by its run; nothing of one that has no verdict yet."""
    told = [row.run for row in of.rows if row.ended + row.errors]
    return {run: Lately(context).trials(job_states.run_of(context, run)) for run in told}


def verdict_of(context: Context, of: RolloutBenchmark) -> str:
    """Which row is better, as far as that is shown; "" while they are at work, and of one row alone."""
    runs = [row.run for row in of.rows if row.ended]
    if not of.line.over or len(runs) < 2:
        return ""
    try:
        return Lately(context).compared(tuple(runs), items=1).evaluation.verdict
    except ConfigError as error:
        return f"Not compared. {error}."
