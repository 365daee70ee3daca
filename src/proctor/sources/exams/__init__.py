"""Exams: suites and users' own questions as items with a known right answer."""
