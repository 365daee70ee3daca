"""What the trials of benchmarks show, for whoever looks at benchmarks: see service/rows/trials.py."""

from __future__ import annotations

from proctor.service.rows.trials import is_rollouts, matrix, run_trials, trials_of
from proctor.trial_findings import RunTrials, TaskTrials, TrialCounts

__all__ = ["RunTrials", "TaskTrials", "TrialCounts", "is_rollouts", "matrix", "run_trials", "trials_of"]
