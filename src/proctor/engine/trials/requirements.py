"""What tasks need of a box, tried in one before anything is spent: programs, and modules that its python3 finds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from proctor.errors import SandboxMissing
from proctor.sandbox.contract import Command, Policy, Sandbox
from proctor.sources.rollouts.task import PreparedTask

MODULE = "python:"
TRY_S = 60.0


async def need_requirements(sandbox: Sandbox, policy: Policy, tasks: Iterable[PreparedTask]) -> None:
    """Raises: SandboxMissing, naming all that boxes lack and which tasks need it; SandboxError."""
    wanted: dict[str, list[str]] = {}
    for task in tasks:
        for need in task.requires:
            wanted.setdefault(need, []).append(task.id)
    if not wanted:
        return
    box = await sandbox.open(policy)
    try:
        tries = "\n".join(f"{_try(need)} >/dev/null 2>&1 || echo {shlex.quote(need)}" for need in wanted)
        ended = await box.run(Command(("sh", "-c", tries), cwd="/", timeout_s=TRY_S))
    finally:
        await box.close()
    lacking = [need for need in wanted if need in ended.said.decode("utf-8", "replace").splitlines()]
    if lacking:
        told = [f"{_named(need)} (for {', '.join(wanted[need])})" for need in lacking]
        raise SandboxMissing(
            f"Boxes of sandbox {sandbox.name!r} lack {'; '.join(told)}: put it into their image "
            "(`proctor sandbox image --with pytest`, say), or name an image that has it (image = ...)"
        )


def _try(need: str) -> str:
    if need.startswith(MODULE):
        return f"python3 -c {shlex.quote(f'import {need.removeprefix(MODULE)}')}"
    return f"command -v {shlex.quote(need)}"


def _named(need: str) -> str:
    return (
        f"Python's module {need.removeprefix(MODULE)}" if need.startswith(MODULE) else f"the program {need}"
    )
