"""What tasks need of a box, tried in one before anything is spent: programs, and modules that its python3 finds."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from proctor.errors import SandboxMissing
from proctor.sandbox.contract import Command, Policy, Sandbox
from proctor.sources.rollouts.task import PreparedTask

MODULE, PACKAGE = "python:", "package:"
TRY_S = 60.0
VERSION = "import sys, importlib.metadata as m; print(m.version(sys.argv[1]))"


async def need_requirements(sandbox: Sandbox, policy: Policy, tasks: Iterable[PreparedTask]) -> Sequence[str]:
    """What is there in another version than tasks ask for, in sentences.

    Raises: SandboxMissing, naming all that boxes lack and which tasks need it; SandboxError.
    """
    wanted: dict[str, list[str]] = {}
    for task in tasks:
        for need in task.requires:
            wanted.setdefault(need, []).append(task.id)
    if not wanted:
        return ()
    box = await sandbox.open(policy)
    try:
        ended = await box.run(Command(("sh", "-c", "\n".join(map(_try, wanted))), cwd="/", timeout_s=TRY_S))
    finally:
        await box.close()
    found = dict(line.split(" ", 1) for line in _lines(ended.said) if " " in line)
    lacking = [need for need in wanted if found.get(need) == LACKS]
    if lacking:
        told = [f"{_named(need)} (for {', '.join(wanted[need])})" for need in lacking]
        raise SandboxMissing(
            f"Boxes of sandbox {sandbox.name!r} lack {'; '.join(told)}: put it into their image "
            f"(`proctor sandbox image{''.join(map(_cure, lacking))}`), or name an image that has it (image = ...)"
        )
    return [
        f"{_plain(need)} is {found[need]} in the boxes, where {', '.join(wanted[need])} asks for {version}"
        for need in wanted
        if (version := need.partition("==")[2]) and found.get(need, version) != version
    ]


LACKS = "-"


def _lines(said: bytes) -> Sequence[str]:
    return said.decode("utf-8", "replace").splitlines()


def _try(need: str) -> str:
    """A line of shell that prints the need, and its version, `+`, or that it is lacking."""
    word = shlex.quote(need)
    if need.startswith(PACKAGE):
        look = f"python3 -c {shlex.quote(VERSION)} {shlex.quote(_plain(need))}"
        return f"v=$({look} 2>/dev/null) && echo {word} $v || echo {word} {LACKS}"
    if need.startswith(MODULE):
        look = f"python3 -c {shlex.quote(f'import {need.removeprefix(MODULE)}')}"
    else:
        look = f"command -v {word}"
    return f"{look} >/dev/null 2>&1 && echo {word} + || echo {word} {LACKS}"


def _plain(need: str) -> str:
    return need.removeprefix(PACKAGE).removeprefix(MODULE).partition("==")[0]


def _named(need: str) -> str:
    if need.startswith(MODULE):
        return f"Python's module {_plain(need)}"
    return f"the Python package {_plain(need)}" if need.startswith(PACKAGE) else f"the program {need}"


def _cure(need: str) -> str:
    return f" --with {_plain(need)}"
