"""Agents that others wrote, as `make test` installs them: put into a test's PROCTOR_HOME, or a reason to skip."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from proctor.plan.shipped_agents import AGENTS, SHIPPED, read_stamp, recipe, stamp_of

INSTALLED = Path(__file__).parents[2] / ".cache/installed" / AGENTS
LONGEST_WAIT_S = 120.0  # for one that is being installed


def agents_in(home: Path) -> Path:
    """The home with every agent in it. Skips where one is not installed, and fails there where CI=true."""
    told = why_not()
    if told is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(told)
    (home / AGENTS).mkdir(parents=True, exist_ok=True)
    for name in SHIPPED:
        folder = home / AGENTS / name
        folder.symlink_to(INSTALLED / name)
        stamp_of(folder).symlink_to(stamp_of(INSTALLED / name))
    return home


def why_not() -> str | None:
    """What keeps them from being here, in words; whoever installs them is waited for."""
    until = time.monotonic() + LONGEST_WAIT_S
    while (missing := _missing()) and _at_work() and time.monotonic() < until:
        time.sleep(0.2)
    if not missing:
        return None
    words = f"PROCTOR_HOME=.cache/installed proctor agents install {' '.join(missing)}"
    return f"{' and '.join(missing)} of the pinned version not installed: `{words}`, as `make test` does"


def _missing() -> list[str]:
    stamps = {name: read_stamp(INSTALLED / name) for name in SHIPPED}
    return [
        name for name, stamp in stamps.items() if stamp is None or stamp.packages != recipe(name).packages
    ]


def _at_work() -> bool:
    """Whether `make test` installs them now, beside pytest; a file stands while it does."""
    return INSTALLED.parents[1].joinpath("installing").exists()
