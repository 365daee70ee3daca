"""Fixtures of the tests of rollouts."""

from boxed import box_home, bubblewrap

__all__ = ["box_home", "bubblewrap"]
