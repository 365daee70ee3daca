"""The suites and their tasks, as tables."""
