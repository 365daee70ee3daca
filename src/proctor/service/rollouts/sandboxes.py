"""Use cases of sandboxes: images are made and cleared away, and it is tried whether this machine holds its limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import ConfigError
from proctor.references import RolloutsRef, TrialLimits
from proctor.sandbox.contract import Command, Policy, Sandbox
from proctor.sandbox.image import ImageRecipe, build_image, unused_images
from proctor.sandbox.machine_root import is_program
from proctor.sandbox.opening import open_sandbox
from proctor.service.context import Context


@dataclass(frozen=True, slots=True)
class ImageMade:
    """An image as it is now: what it was made of in words, its folder, and how long it took to have it."""

    name: str
    made_of: str
    sha256: str
    folder: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SandboxChecked:
    """A sandbox that held what was asked: the limits, and the time of one box that was opened, used and closed."""

    name: str
    told: str
    image_sha256: str
    limits: TrialLimits
    box_s: float


def make(
    context: Context,
    name: str,
    wanted: Sequence[str] = (),
    *,
    rootfs: Path | None = None,
    debian: str | None = None,
    anew: bool = False,
) -> ImageMade:
    """Make an image: of this machine's programs with what is wanted beside them, of a root, or of Debian.

    Raises: ConfigError, SandboxMissing.
    """
    if (rootfs or debian) and wanted:
        raise ConfigError(
            "Packages and programs are this machine's own, with its Python: not into another root"
        )
    if rootfs and debian:
        raise ConfigError("An image is made of a folder or archive, or of Debian, not of both")
    programs = tuple(sorted(name for name in set(wanted) if is_program(name)))
    recipe = ImageRecipe(packages=tuple(sorted(set(wanted) - set(programs))), programs=programs)
    if rootfs:
        recipe = ImageRecipe("rootfs", source=str(rootfs.absolute()))
    elif debian:
        recipe = ImageRecipe("debian", source=debian)
    began = time.monotonic()
    image = build_image(name, context.settings.home, recipe, anew=anew)
    return ImageMade(image.name, image.made, image.sha256, str(image.root), time.monotonic() - began)


def clear(context: Context) -> list[str]:
    """Delete images that no name leads to any more; none while boxes are open. Gives what was deleted."""
    return unused_images(context.settings.home)


def check(context: Context, name: str, image: str) -> SandboxChecked:
    """Try whether a sandbox holds the usual limits here. Raises: ConfigError, SandboxMissing, saying what to do."""
    limits = TrialLimits()
    policy = Policy(limits.memory_mb, limits.cpus, limits.pids, limits.disk_mb)
    sandbox = open_sandbox(RolloutsRef("check", sandbox=name, image=image), context.settings.home)
    box_s = asyncio.run(_tried(sandbox, policy))
    return SandboxChecked(sandbox.name, sandbox.told, sandbox.image_sha256, limits, box_s)


async def _tried(sandbox: Sandbox, policy: Policy) -> float:
    await sandbox.check(policy)
    began = time.monotonic()
    box = await sandbox.open(policy)
    try:
        await box.run(Command(("true",), cwd="/"))
    finally:
        await box.close()
    return time.monotonic() - began
