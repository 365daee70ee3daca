"""Runs as others watch them: jobs, pages of a run at work, figures over all runs."""
