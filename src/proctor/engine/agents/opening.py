"""From an agent as the plan names it to one that can work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from proctor.engine.agents.command import CommandAgent, open_command
from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.agents.own import NullAgent, ReferenceAgent, ScriptedAgent
from proctor.engine.agents.shell import ShellAgent
from proctor.engine.asking import AskedModel
from proctor.engine.gateway import open_gateway
from proctor.engine.outage import Outage
from proctor.errors import ConfigError
from proctor.plan import parse_model
from proctor.plan.shipped_agents import AGENTS, AgentPlaces
from proctor.providers import PROVIDERS, open_provider
from proctor.providers.contract import Opening
from proctor.references import Agent
from proctor.replies.calls import without
from proctor.types import Cell, Model

LEAST_KEY = 8  # characters: placeholders such as EMPTY are no keys
ASKS = ("shell", "command")
ANSWERS_ALONE = ("baseline", "replay")  # these know answers to questions, and hold no conversation


def open_agent(agent: Agent, cell: Cell, opening: Opening) -> AgentAtWork:
    """The agent, and where proctor asks its model for it, that model. Raises: ConfigError."""
    opener = OPENERS.get(agent.kind)
    if opener is None:
        raise ConfigError(f"agent {agent.name}: no kind {agent.kind!r}; there are {', '.join(OPENERS)}")
    _need_no_key(agent, opening.settings.secrets)
    return opener(agent, cell, opening)


def _need_no_key(agent: Agent, keys: Sequence[str]) -> None:
    """Raises: ConfigError where what an agent is given holds a key of this machine."""
    for told in (*agent.argv, *agent.environment, *agent.home_files):
        if any(key in told for key in keys if len(key) >= LEAST_KEY):
            raise ConfigError(
                f"agent {agent.name}: {told.partition('=')[0]!r} holds a key of this machine, and no key enters a "
                "sandbox: leave it out"
            )


def model_of(agent: Agent) -> Model | None:
    """The model that proctor asks for an agent; None where it asks none. Raises: ConfigError for an unknown name."""
    if agent.kind not in ASKS or agent.model is None:
        return None
    model = parse_model(agent.model, tuple(PROVIDERS), base_url=agent.base_url)
    if model is None:
        raise ConfigError(
            f"agent {agent.name}: which provider has {agent.model}? Write PROVIDER/NAME, such as ollama/{agent.model}; "
            f"providers: {', '.join(PROVIDERS)}"
        )
    if model.provider in ANSWERS_ALONE:
        raise ConfigError(f"agent {agent.name}: {model} answers questions, and cannot work on a task")
    return model


def _shell(agent: Agent, cell: Cell, opening: Opening) -> ShellAgent:
    model = model_of(agent)
    if model is None:
        raise ConfigError(f'agent {agent.name} asks a model: model = "PROVIDER/NAME"')
    provider = open_provider(model, cell.sampling, opening)
    asked = AskedModel(provider, Outage(cell.limits.wait_for_server_s, lambda: True))
    price = opening.prices.of(model)
    return ShellAgent(
        asked,
        str(model),
        cell.sampling,
        agent.command_s,
        agent.environment,
        price,
        opening.budget,
        without(opening.settings.secrets),
    )


def _scripted(agent: Agent, _cell: Cell, _opening: Opening) -> ScriptedAgent:
    return ScriptedAgent(Path(agent.script or ""), agent.environment)


def _command(agent: Agent, cell: Cell, opening: Opening) -> CommandAgent:
    model = model_of(agent)
    if agent.binary is not None:
        places = AgentPlaces(opening.settings.home / AGENTS)
        if (fault := places.not_installed(agent.binary)) is not None:
            raise ConfigError(fault)
        agent = replace(agent, binary=places.put_into(agent.binary))
    return open_command(agent, None if model is None else open_gateway(model, cell, opening))


OPENERS: Mapping[str, Callable[[Agent, Cell, Opening], AgentAtWork]] = {
    "null": lambda _agent, _cell, _opening: NullAgent(),
    "reference": lambda _agent, _cell, _opening: ReferenceAgent(),
    "scripted": _scripted,
    "shell": _shell,
    "command": _command,
}
