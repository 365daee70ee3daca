"""From an agent as the plan names it to one that can work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.agents.own import NullAgent, ReferenceAgent, ScriptedAgent
from proctor.errors import ConfigError
from proctor.references import Agent

OPENERS: Mapping[str, Callable[[Agent], AgentAtWork]] = {
    "null": lambda _agent: NullAgent(),
    "reference": lambda _agent: ReferenceAgent(),
    "scripted": lambda agent: ScriptedAgent(Path(agent.script or "")),
}


def open_agent(agent: Agent) -> AgentAtWork:
    """Raises: ConfigError."""
    opener = OPENERS.get(agent.kind)
    if opener is None:
        raise ConfigError(f"agent {agent.name}: no kind {agent.kind!r}; there are {', '.join(OPENERS)}")
    return opener(agent)
