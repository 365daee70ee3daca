"""Boxes of trials: opened and furnished in time, and closed whatever happens, also when opening is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

from proctor.engine.trials.baseline import in_repository
from proctor.errors import ProctorError, SandboxError
from proctor.sandbox.contract import Box, Mount, Policy, Sandbox
from proctor.sources.rollouts.task import BoxFile

T = TypeVar("T")


async def in_time(seconds: float, what: str, work: Awaitable[T]) -> T:
    """Raises: SandboxError where it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise SandboxError(f"To {what} took longer than {seconds:g} s") from None


@asynccontextmanager
async def opened_box(sandbox: Sandbox, policy: Policy, mounts: Sequence[Mount]) -> AsyncIterator[Box]:
    """A box for as long as it is needed. Raises: SandboxError."""
    opening = asyncio.ensure_future(sandbox.open(policy, mounts))
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
