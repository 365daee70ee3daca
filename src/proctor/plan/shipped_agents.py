"""The agents that proctor ships as tables: how they are run, and what installing them means."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proctor.errors import ConfigError
from proctor.given_files import toml_table
from proctor.plan.table import Unread

SHIPPED = ("codex", "mini-swe-agent")
FOLDER = Path(__file__).parent / "shipped"
INSTALLED = "{agents}/"  # how the path of an installed agent begins, in tables and in plans
AGENTS = "agents"  # of PROCTOR_HOME: the installed ones, a folder each


@dataclass(frozen=True, slots=True)
class AgentRecipe:
    """What installing an agent means: `packages` by the client of their registry, into a folder that boxes see.

    `inside` is where in what the client made the agent lies and `keep` what of that is kept, all where it is empty.
    `sha256` is of files that are the same everywhere. `modules` are imported once, so that boxes, which see the folder
    read-only, need not compile them. `machine` is the one that the packages are for, "" is any.
    """

    name: str
    client: Literal["npm", "pip"]
    version: str
    packages: tuple[str, ...]
    inside: str = "."
    keep: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    sha256: Mapping[str, str] | None = None
    modules: tuple[str, ...] = ()
    machine: str = ""
    room_mb: int = 500


@dataclass(frozen=True, slots=True)
class AgentStamp:
    """What was installed: `sha256` is over all files of the folder."""

    version: str
    packages: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class AgentPlaces:
    """The folders that a table may name: `{agents}`, where agents are installed, and `{shipped}`, what proctor has."""

    agents: Path = Path("data", AGENTS)

    def put_into(self, path: str) -> str:
        return path.replace("{agents}", str(self.agents)).replace("{shipped}", str(FOLDER))

    def not_installed(self, path: str) -> str | None:
        """Why a path leads to no installed agent, with what to do; None where it leads to one, or elsewhere."""
        name = path.removeprefix(INSTALLED).partition("/")[0]
        if not path.startswith(INSTALLED) or read_stamp(self.agents / name) is not None:
            return None
        if name in SHIPPED:
            return f"agent {name} is not installed on this machine: `proctor agents install {name}`"
        return f"{self.agents} holds no {name}: there are {', '.join(SHIPPED)}"


def stamp_of(folder: Path) -> Path:
    """The file beside an installed agent's folder that tells what lies in it; written last."""
    return folder.with_name(f"{folder.name}.json")


def read_stamp(folder: Path) -> AgentStamp | None:
    """None where nothing was installed in a folder, or not to its end."""
    try:
        told = json.loads(stamp_of(folder).read_text())
        stamp = AgentStamp(told["version"], tuple(told["packages"]), told["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stamp if folder.is_dir() else None


def shipped_tables() -> Unread:
    """The tables [agents.NAME] that need not be written."""
    tables: Unread = _file()["agents"]
    return tables


def installed_tables(home: Path) -> Unread:
    """Those of the agents that are installed in a PROCTOR_HOME."""
    return {name: table for name, table in shipped_tables().items() if read_stamp(home / AGENTS / name)}


def recipe(name: str) -> AgentRecipe:
    """Raises: ConfigError for an agent that is not shipped."""
    if name not in SHIPPED:
        raise ConfigError(f"No agent {name!r} to install; there are {', '.join(SHIPPED)}")
    told: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in _file()["install"][name].items()
    }
    return AgentRecipe(name, **told)


def _file() -> dict[str, Any]:
    path = FOLDER / "agents.toml"
    return toml_table(path.read_bytes(), str(path))
