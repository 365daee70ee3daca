"""Agents: what works on tasks in a box, from one that does nothing to any command-line program."""
