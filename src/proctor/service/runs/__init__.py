"""The life of runs: planned, queued, at work, ended, resumed."""
