"""What tests that need bubblewrap share: they skip where it is not, saying what to do, and fail there where CI=true."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from proctor.errors import SandboxMissing
from proctor.references import RolloutsRef
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.contract import Command, Policy
from proctor.sandbox.image import make_image
from proctor.sandbox.opening import open_sandbox
from proctor.sandbox.places import sweep


def images() -> Path:
    """A folder in which the image of this version's tests lies, shared by all workers of pytest."""
    return Path(tempfile.gettempdir(), f"proctor-test-home-{os.getuid()}")


@cache
def why_not() -> str | None:
    """What keeps bubblewrap from working here, in words; None where it works."""
    try:
        sandbox = Bubblewrap(make_image("base", images()), images() / "boxes")
        asyncio.run(sandbox.check(Policy(disk_mb=64)))
    except SandboxMissing as missing:
        return str(missing)
    return None


def need_bubblewrap() -> None:
    """Skip the test, or fail it where CI=true."""
    told = why_not()
    if told is not None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(told)


def image_in(home: Path) -> Path:
    """Give a PROCTOR_HOME the image that all tests share, so that none has to make it."""
    need_bubblewrap()
    (home / "images").mkdir(parents=True, exist_ok=True)
    (home / "images/base").symlink_to(make_image("base", images()).root.parent)
    return home


@pytest.fixture
def box_home(tmp_path: Path) -> Iterator[Path]:
    """A PROCTOR_HOME with the image in it; skips where there is no bubblewrap, and unmounts what killed ones left."""
    home = image_in(tmp_path / "home")
    yield home
    sweep(home / "boxes")


@pytest.fixture
def bubblewrap(box_home: Path) -> Bubblewrap:
    """A sandbox whose boxes are the test's own."""
    found = open_sandbox(RolloutsRef("tests"), box_home)
    assert isinstance(found, Bubblewrap)
    return found


def once_it_speaks(command: Command, log: Path) -> Command:
    """The same, but its time begins with the first thing that it prints, however busy the machine is."""
    began = time.monotonic()

    def waited_s() -> float:
        return 0.0 if log.exists() and log.read_bytes() else time.monotonic() - began

    return replace(command, output=log, waited_s=waited_s)


@contextmanager
def nothing_left(home: Path) -> Iterator[None]:
    """Whoever runs in this leaves no box, no mount and no cgroup of that home."""
    yield
    assert list((home / "boxes").glob("*")) == []
    assert str(home) not in Path("/proc/self/mounts").read_text()
