"""Boxes of trials: opened and furnished in time, and closed whatever happens, also when opening is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TypeVar

from proctor.engine.room import room_for
from proctor.errors import ProctorError, SandboxError
from proctor.sandbox.contract import Box, Command, Mount, Policy, Sandbox
from proctor.sources.rollouts.place import WorkPlace
from proctor.sources.rollouts.task import BoxFile

T = TypeVar("T")
TEST_S, RENAME_S = 30.0, 60.0
GIT, KEPT_GIT = ".git", ".git.kept"  # a history as git has it, and as a patch may hold it
RENAMED = """other=$1; shift
find "$@" -depth -name "$0" -exec sh -c 'rm -rf "${1%/*}/$0" && mv "$1" "${1%/*}/$0"' "$other" {} ';'
"""


async def in_time(seconds: float, what: str, work: Awaitable[T]) -> T:
    """Raises: SandboxError where it takes longer."""
    try:
        async with asyncio.timeout(seconds):
            return await work
    except TimeoutError:
        raise SandboxError(f"To {what} took longer than {seconds:g} s") from None


@asynccontextmanager
async def opened_box(
    sandbox: Sandbox, policy: Policy, mounts: Sequence[Mount], build: Path | None
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
        if not each.in_repository:
            await box.put(each.source, each.target)


async def named_otherwise(box: Box, place: WorkPlace, name: str, other: str) -> None:
    """Where histories count, each file and folder `name` of the work gets the other name. Raises: SandboxError."""
    if place.histories:
        words = ("sh", "-c", RENAMED, name, other, *place.folders)
        ended = await box.run(Command(words, cwd="/", timeout_s=RENAME_S))
        if ended.code:
            raise SandboxError(
                f"Histories in a box cannot be read: {ended.said.decode('utf-8', 'replace')[-300:]}"
            )


async def left_in(box: Box, place: WorkPlace, private: Path) -> Path | None:
    """The work as the agent left it, as one folder; None where it put something else in the place of one of its own.

    Several folders are seen through links in a folder of ours, below `private`.
    Raises: SandboxError where the sandbox does not give it.
    """
    if place.whole:
        return await folder_left(box, place.base)
    seen = private / "left"
    for part, folder in zip(place.parts, place.folders, strict=True):
        found = await folder_left(box, folder)
        with room_for(seen):
            (seen / part).parent.mkdir(parents=True, exist_ok=True)
            (seen / part).symlink_to(found or "/nonexistent")
    return seen


async def folder_left(box: Box, folder: str) -> Path | None:
    """A folder of the box; None where something else was put in its place, which is the work's own doing.

    Raises: SandboxError where the sandbox does not give it.
    """
    try:
        return await box.files(folder)
    except SandboxError:
        there = await box.run(
            Command(("sh", "-c", 'test -d "$0" -a ! -L "$0"', folder), cwd="/", timeout_s=TEST_S)
        )
        if there.code == 0:
            raise
        return None


async def put_files(box: Box, place: WorkPlace, files: Path, system: Path | None = None) -> None:
    """Put the carried folders into a box, and what the task's steps made outside of them. Raises: SandboxError."""
    if system is not None:
        for each in await asyncio.to_thread(_tops, system):
            await box.put(system / each, f"/{each}")
    for part, folder in zip(place.parts, place.folders, strict=True):
        if (files / part).is_dir():
            await box.put(files / part, folder)
    await named_otherwise(box, place, KEPT_GIT, GIT)


def _tops(system: Path) -> Sequence[str]:
    """What is put as one: the folders in it, but those of the image one deeper."""
    found = []
    for each in sorted(system.iterdir()):
        deep = each.is_dir() and not each.is_symlink()
        found += [f"{each.name}/{one.name}" for one in sorted(each.iterdir())] if deep else [each.name]
    return found
