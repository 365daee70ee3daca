"""One seeded store for all tests that look at the dashboard; one server on a copy of it and one Chromium for a file."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import browser, chromium_or_skip
from seeded_site import Site

from demo_store import KEPT, Demo, build
from served import serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="session")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The store as it was built, once for all workers of pytest-xdist; tests take a copy of it."""
    chromium_or_skip()
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # every worker has its own below it
    with (folder / "seeded.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        home = folder / "seeded"
        return Demo.kept(home) if (home / KEPT).exists() else build(home)


@pytest.fixture(scope="module")
def site(seeded: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home: Path = tmp_path_factory.mktemp("site") / "home"
    shutil.copytree(seeded.home, home)
    with serving(home, "--no-worker", PROCTOR_REQUESTS_PER_MINUTE="100000", PROCTOR_DATA="sample") as server:
        yield Site(server.url, replace(seeded, home=home))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as launched:
        yield launched
