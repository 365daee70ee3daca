"""Pages of rollouts: agents on tasks, trial by trial."""
