"""Boxes of trials: opened and furnished in time, and closed whatever happens, also when opening is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from proctor.engine.trials.baseline import in_repository
from proctor.errors import ProctorError, SandboxError
from proctor.sandbox.contract import REPO, Box, Command, Mount, Policy, Sandbox
from proctor.sources.rollouts.task import BoxFile

T = TypeVar("T")
TEST_S = 30.0


async def in_time(seconds: float, what: str, work: Awaitable[T]) -> T:
    """Raises: SandboxError where it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise SandboxError(f"To {what} took longer than {seconds:g} s") from None


@asynccontextmanager
async def opened_box(
    sandbox: Sandbox, policy: Policy, mounts: Sequence[Mount], build: Path
) -> AsyncIterator[Box]:
    """A box for as long as it is needed; `build` is what an image may be built of. Raises: SandboxError."""
    opening = asyncio.ensure_future(sandbox.open(policy, mounts, build))
    try:
        box = await asyncio.shield(opening)
    except asyncio.CancelledError:
        # A box that is half made must not be left behind: it is waited for, and closed.
        with suppress(ProctorError):
            await (await opening).close()
        raise
    try:
        yield box
    finally:
        await asyncio.shield(box.close())


async def furnish(box: Box, files: Sequence[BoxFile]) -> None:
    """What a task puts beside its repository. Raises: SandboxError."""
    for each in files:
        if not in_repository(each):
            await box.put(each.source, each.target)


async def repository_of(box: Box) -> Path | None:
    """The repository as the agent left it; None where it put something else in its place, which is its own doing.

    Raises: SandboxError where the sandbox does not give it.
    """
    try:
        return await box.files(REPO)
    except SandboxError:
        there = await box.run(
            Command(("sh", "-c", f"test -d {REPO} -a ! -L {REPO}"), cwd="/", timeout_s=TEST_S)
        )
        if there.code == 0:
            raise
        return None
