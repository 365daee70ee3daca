"""Kept replies as what a judge is asked about: by the criteria of a rubric, or which of two is better."""
