"""Benchmarks of tasks: started, listed, followed, and what their trials show."""
