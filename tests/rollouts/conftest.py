"""Fixtures of the tests of rollouts, and which of them are quick: those that need no box."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from boxed import box_home, bubblewrap
from moto_server import NotHere, Running, moto_server

__all__ = ["box_home", "bubblewrap"]

HERE = Path(__file__).parent
WITHOUT_BOXES = (
    "rollouts_toml",
    "rollouts_stamps",
    "shared_folders",
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


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """moto's server with a bucket `trials`; skips where it is not installed, and fails there where CI=true."""
    try:
        with moto_server(tmp_path_factory.mktemp("moto"), ["trials"]) as server:
            yield server
    except NotHere as missing:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(str(missing))
