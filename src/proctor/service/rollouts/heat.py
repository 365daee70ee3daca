"""A benchmark's tasks by its agents: of how many of a task's scored trials passed."""

from __future__ import annotations

from proctor.findings.heat import Heat, HeatColumn
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.heat import agents_by_tasks
from proctor.service.rollouts.benchmark import RolloutBenchmark
from proctor.service.rows.trials import run_trials
from proctor.service.watch import job_states


def heat_of(context: Context, of: RolloutBenchmark) -> Heat:
    """Tasks by agents of the rows that have a verdict; counted anew at each look while the benchmark is at work."""
    told = [row for row in of.rows if row.ended]
    columns = [HeatColumn(row.run, row.label) for row in told]

    def make() -> Heat:
        runs = [job_states.run_of(context, row.run) for row in told]
        return agents_by_tasks([run_trials(context.store, run) for run in runs], columns)

    key = ("agents by tasks", of.id, tuple(row.run for row in told))
    return Lately(context).kept(key, make, lasting=lambda _: of.line.over)
