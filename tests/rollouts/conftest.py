"""Fixtures of the tests of rollouts, and which of them are quick: those that need no box."""

from pathlib import Path

import pytest
from boxed import box_home, bubblewrap

__all__ = ["box_home", "bubblewrap"]

HERE = Path(__file__).parent
WITHOUT_BOXES = (
    "rollouts_toml",
    "rollouts_stamps",
    "rollouts_shown",
    "tasks",
    "task_overrides",
    "trial_numbers",
    "patches",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    quick = {f"test_{name}" for name in WITHOUT_BOXES}
    for item in items:
        if item.path.parent == HERE and item.path.stem not in quick:
            item.add_marker(pytest.mark.slow)
