"""Boxes: what a sandbox offers, whichever it is."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from boxed import nothing_left

from proctor.errors import ConfigError
from proctor.references import RolloutsRef
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.contract import Command, Policy
from proctor.sandbox.opening import open_sandbox


def test_a_command_in_a_box_says_and_ends_as_in_a_shell(bubblewrap: Bubblewrap, box_home: Path) -> None:
    async def ran() -> None:
        box = await bubblewrap.open(Policy(disk_mb=64))
        try:
            ended = await box.run(Command(("sh", "-c", "echo hello; exit 7"), cwd="/"))
            assert (ended.code, ended.said, ended.why) == (7, b"hello\n", "exited")
        finally:
            await box.close()

    with nothing_left(box_home):
        asyncio.run(ran())


@pytest.mark.parametrize("name", ["modal", "chroot"])
def test_a_sandbox_that_is_not_there_is_named_with_those_that_are(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{name}.*bubblewrap.*local"):
        open_sandbox(RolloutsRef("tests", sandbox=name), tmp_path)
