"""Agents that others wrote, installed below PROCTOR_HOME, where boxes see them read-only; and what is there.

agents/NAME/         what a box sees at /opt/agent; it gets this name once it is whole
agents/NAME.json     what lies there: written last, so that without it nothing is installed
agents/.NAME.part-*  what a client works in; one that was killed leaves it, and the next one takes it away
"""

from __future__ import annotations

import fcntl
import json
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from proctor.engine.agents.command import program_digest
from proctor.errors import ConfigError
from proctor.plan.shipped_agents import AGENTS, SHIPPED, AgentRecipe, AgentStamp, read_stamp, recipe, stamp_of
from proctor.service.agents.clients import CLIENTS, compiled
from proctor.service.context import Context

Say = Callable[[str], None]
MB = 10**6


@dataclass(frozen=True, slots=True)
class InstalledAgent:
    """An agent that proctor ships a table of. `version` and `sha256` are None where it is not installed.

    `sha256` is over all its files; `pinned` is the version that installing it gives; `seconds` what installing took,
    None where it was there.
    """

    name: str
    pinned: str
    version: str | None
    sha256: str | None
    folder: str
    seconds: float | None = None

    @property
    def to_do(self) -> str | None:
        """What to do about it, as a command; None where nothing is."""
        return None if self.version == self.pinned else f"proctor agents install {self.name}"


def listed(context: Context) -> list[InstalledAgent]:
    return [_found(context, recipe(name)) for name in SHIPPED]


def install(context: Context, name: str, say: Say) -> InstalledAgent:
    """Install an agent, unless it is there as it should be; `say` is told before anything is fetched.

    One process at a time installs; others wait and find it. Raises: ConfigError, saying what to do.
    """
    told = recipe(name)
    folder = _folder(context, name)
    with _alone(folder.parent):
        if _whole(folder, told):
            return _found(context, told)
        began = time.monotonic()
        _suits(told, folder)
        say(f"Installing {name} {told.version} by {told.client} into {folder}")
        _installed(folder, told)
        stamp = AgentStamp(told.version, told.packages, program_digest(folder))
        stamp_of(folder).write_text(json.dumps(asdict(stamp)))
    return _found(context, told, time.monotonic() - began)


def _found(context: Context, told: AgentRecipe, seconds: float | None = None) -> InstalledAgent:
    folder = _folder(context, told.name)
    stamp = read_stamp(folder)
    version, sha256 = (None, None) if stamp is None else (stamp.version, stamp.sha256)
    return InstalledAgent(told.name, told.version, version, sha256, str(folder), seconds)


def _folder(context: Context, name: str) -> Path:
    return context.settings.home / AGENTS / name


def _whole(folder: Path, told: AgentRecipe) -> bool:
    """Whether what the recipe means lies there, to the last byte."""
    stamp = read_stamp(folder)
    return stamp is not None and stamp.packages == told.packages and stamp.sha256 == program_digest(folder)


@contextmanager
def _alone(agents: Path) -> Iterator[None]:
    try:
        agents.mkdir(parents=True, exist_ok=True)
        with (agents / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
    except OSError as error:
        raise ConfigError(f"{agents} cannot be written to: {error.strerror or error}") from error


def _suits(told: AgentRecipe, folder: Path) -> None:
    """Raises: ConfigError where the packages are for other machines, or there is no room."""
    machine = f"{platform.system()} on {platform.machine()}"
    if told.machine and machine != f"Linux on {told.machine}":
        raise ConfigError(
            f"agent {told.name} is pinned for Linux on {told.machine}; this is {machine}. A table of your own can name "
            "a build that you have: docs/agents.md"
        )
    free = shutil.disk_usage(folder.parent).free // MB
    if free < told.room_mb:
        raise ConfigError(
            f"{folder.parent} has {free} MB free, and installing {told.name} needs {told.room_mb} MB: make room there"
        )


def _installed(folder: Path, told: AgentRecipe) -> None:
    prefix = f".{folder.name}.part-"
    stamp_of(folder).unlink(missing_ok=True)
    for each in (folder, *folder.parent.glob(f"{prefix}*")):
        shutil.rmtree(each, ignore_errors=True)
    # A name of its own: the client of an installation that was killed may still be at work in that one's.
    part = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        CLIENTS[told.client](told, part)
        made = part / told.inside
        _as_pinned(told, made)
        compiled(told, made)
        _trimmed(made, told.keep)
        made.chmod(0o755)
        made.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _as_pinned(told: AgentRecipe, made: Path) -> None:
    """Raises: ConfigError where a file is not the one that is pinned, or is not there."""
    for name, pinned in (told.sha256 or {}).items():
        found = program_digest(made / name) if (made / name).is_file() else "nothing"
        if found != pinned:
            raise ConfigError(
                f"agent {told.name} was not installed: of {name} the registry sent {found[:12]} where {pinned[:12]} is "
                "pinned: try again; if it stays so, do not use it and tell the project"
            )


def _trimmed(made: Path, keep: Sequence[str]) -> None:
    """Take away all files but those to keep, where any are named."""
    kept = {made / name for name in keep}
    for each in sorted(made.rglob("*"), reverse=True) if keep else ():
        if each.is_dir() and not each.is_symlink():
            if not any(each.iterdir()):
                each.rmdir()
        elif each not in kept:
            each.unlink()
