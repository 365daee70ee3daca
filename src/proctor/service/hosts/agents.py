"""Files of agents on their way to other machines: scripts and programs that are one file, by their hash.

agents/<sha256>    where machines share; cache/agents/<sha256> below the PROCTOR_HOME of one that fetched it

What is installed as a folder, or is larger than MOST_BYTES, does not travel: a machine without it lacks it.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from proctor.errors import DataMissing, SharedError
from proctor.plan.shipped_agents import AGENTS, INSTALLED, AgentPlaces
from proctor.references import Agent
from proctor.service.context import Context
from proctor.service.hosts.tasks import put_if_it_fits, room
from proctor.settings import MB, Settings
from proctor.store.shared.opening import shared_of
from proctor.store.shared.packing import fetched

LOG = logging.getLogger("proctor.shared")
CACHE = Path("cache", "agents")
MOST_BYTES = 100 * MB


def files_of(agent: Agent) -> Iterator[str]:
    """The paths of this machine that an agent is made of, but for what each machine has installed itself."""
    own = (path for path in (agent.script, agent.binary) if path is not None)
    yield from dict.fromkeys(path for path in own if not path.startswith(INSTALLED))


def shared_agent(sha256: str) -> str:
    """What a file of an agent is called where machines share them."""
    return f"agents/{sha256}"


def share_agent(agent: Agent | None, context: Context) -> Agent | None:
    """The agent that means its files exactly as they are here now; each is put where other machines find it."""
    shared = shared_of(context.settings, context.store)
    if agent is None or shared is None:
        return agent
    contents = []
    for path in files_of(agent):
        if not Path(path).is_file():
            continue
        sha256 = _hashed(Path(path))
        contents.append(f"{path}={sha256}")
        try:
            put_if_it_fits(shared, shared_agent(sha256), Path(path), MOST_BYTES)
        except SharedError as error:
            LOG.warning("%s of agent %s is on this machine alone: %s", path, agent.name, error)
    return replace(agent, contents=tuple(contents)) if contents else agent


def lacking_of_agent(agent: Agent, context: Context) -> str | None:
    """What of an agent is neither here nor where machines share, in words that follow "lacks". Raises: SharedError."""
    if agent.binary is not None and _not_installed(agent.binary, context) is not None:
        name = agent.binary.removeprefix(INSTALLED).partition("/")[0]
        return f"agent {name} (`proctor agents install {name}`)"
    known = contents_of(agent)
    missing = [path for path in files_of(agent) if not _within_reach(path, known.get(path), context)]
    if not missing:
        return None
    installed = ", which must be installed there" if set(missing) - known.keys() else ""
    return f"{', '.join(missing)} of agent {agent.name}{installed}"


def _not_installed(path: str, context: Context) -> str | None:
    return AgentPlaces(context.settings.home / AGENTS).not_installed(path)


def _within_reach(path: str, sha256: str | None, context: Context) -> bool:
    if Path(path).exists() or (sha256 is not None and _copy(context.settings, sha256).is_file()):
        return True
    shared = shared_of(context.settings, context.store)
    return sha256 is not None and shared is not None and shared.has(shared_agent(sha256))


def bring_agent(agent: Agent, context: Context) -> None:
    """Have on this machine what was handed in of an agent's files. Raises: DataMissing, SharedError."""
    for path, sha256 in contents_of(agent).items():
        if not _is(_copy(context.settings, sha256), sha256) and not _is(Path(path), sha256):
            _fetch(agent, path, sha256, context)


def _fetch(agent: Agent, path: str, sha256: str, context: Context) -> None:
    shared = shared_of(context.settings, context.store)
    if shared is None or not shared.has(shared_agent(sha256)):
        raise DataMissing(
            f"agent {agent.name}: {path} as it was handed in (SHA-256 {sha256[:12]}) is not on this machine, and no "
            "shared address has it: put it back as it was, or hand the benchmark in again"
        )
    with room(context) as folder:
        fetched(shared, shared_agent(sha256), folder / "file", sha256)
        (folder / "file").chmod(0o755)
        copy = _copy(context.settings, sha256)
        copy.parent.mkdir(parents=True, exist_ok=True)
        (folder / "file").replace(copy)


def agent_here(agent: Agent, settings: Settings) -> Agent:
    """The agent with its files as this machine has them: those that were handed in, and no others of their names."""
    known = contents_of(agent)

    def here(path: str | None) -> str | None:
        if path is None or path not in known or not _copy(settings, known[path]).is_file():
            return path
        return str(_copy(settings, known[path]))

    return replace(agent, script=here(agent.script), binary=here(agent.binary))


def contents_of(agent: Agent) -> Mapping[str, str]:
    """By path the hash with which a file was handed in."""
    return {path: sha256 for path, _, sha256 in (each.rpartition("=") for each in agent.contents)}


def _copy(settings: Settings, sha256: str) -> Path:
    return settings.home.absolute() / CACHE / sha256


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and _hashed(path) == sha256


def _hashed(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
