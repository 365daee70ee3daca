"""Kept replies graded again: by which graders, what they agree on, and runs seen by a grader other than the first."""
