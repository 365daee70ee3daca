"""A box has no network, and finds at its own loopback what this machine serves there, and nothing else."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from sights import each_reaches_its_own, looked

from proctor.errors import SandboxError
from proctor.sandbox.bubblewrap import Bubblewrap
from proctor.sandbox.contract import Command, Policy
from proctor.sandbox.loopback import network_of

POLICY = Policy(memory_mb=128, disk_mb=16)


def test_a_box_reaches_what_listens_in_it_and_nothing_else_of_any_network(bubblewrap: Bubblewrap) -> None:
    async def whole() -> None:
        one, other = await bubblewrap.open(POLICY), await bubblewrap.open(POLICY)
        try:
            sights = await looked(one, other)
        finally:
            await one.close()
            await other.close()
        each_reaches_its_own(sights)

    before = len(list(Path("/proc/self/fd").iterdir()))
    asyncio.run(whole())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_port_that_is_taken_is_told(bubblewrap: Bubblewrap) -> None:
    async def whole() -> None:
        box = await bubblewrap.open(POLICY)
        first = await box.listen(8080)
        with (
            first.socket,
            pytest.raises(SandboxError, match=r"port 8080 of a box.*[Aa]ddress already in use"),
        ):
            await box.listen(8080)
        (await box.listen(8080)).socket.close()  # once it is closed, again
        await box.close()

    asyncio.run(whole())


def test_no_network_of_another_process_is_entered_for_that_of_a_container() -> None:
    with pytest.raises(ProcessLookupError, match="another one"):
        network_of(
            os.getpid(), "5d2f0c1e"
        )  # a container of a daemon elsewhere, whose process has this number there
    mine = Path("/proc/self/cgroup").read_text().splitlines()[0]
    with pytest.raises(PermissionError, match="this machine's own network"):
        network_of(os.getpid(), mine)


def test_what_a_command_waited_for_puts_its_end_off(bubblewrap: Bubblewrap) -> None:
    async def stopped(waited_s: float) -> tuple[str, float]:
        box = await bubblewrap.open(POLICY)
        began = time.monotonic()
        ended = await box.run(Command(("sleep", "60"), cwd="/", timeout_s=0.3, waited_s=lambda: waited_s))
        await box.close()
        return ended.why, time.monotonic() - began

    why, seconds = asyncio.run(stopped(0.5))
    assert why == "timeout"
    assert seconds > 0.8
