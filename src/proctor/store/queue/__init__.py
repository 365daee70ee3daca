"""Runs that wait for a worker, and what workers say of themselves."""
