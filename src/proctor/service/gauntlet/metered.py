"""Exploits against the gateway: their trials with a model's server behind it, and the same with an open gateway."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.agents.contract import AgentAtWork
from proctor.engine.agents.opening import open_agent
from proctor.providers.contract import Opening
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.references import Agent, RolloutsRef
from proctor.service.gauntlet.model import NAME, ModelServer
from proctor.service.gauntlet.naive import OpenGateway
from proctor.settings import Settings
from proctor.types import Cell, Limits, Model, Reply, Sampling


@dataclass(frozen=True, slots=True)
class MeteredCalls:
    """What the model's server and the gateway say, each by itself. `foreign`: what else the server was asked."""

    tokens: int
    counted: int | None
    foreign: tuple[str, ...]

    @property
    def miscounted(self) -> str:
        if self.counted is None or self.counted == self.tokens:
            return ""
        return f"{self.counted} tokens were counted of {self.tokens}"


@asynccontextmanager
async def command_agent(
    script: Path, environment: tuple[str, ...], settings: Settings, url: str
) -> AsyncIterator[AgentAtWork]:
    """The exploit as an agent that asks a model through the gateway of its box."""
    agent = Agent(
        "exploit",
        "command",
        model=f"openai/{NAME}",
        base_url=f"{url}/v1",
        argv=("sh", "/opt/agent"),
        binary=str(script),
        environment=environment,
        log="codex",
    )
    http = Http(parallel=64, timeout_s=20.0, secrets=settings.secrets)
    cell = Cell(
        Model("exploit", NAME),
        RolloutsRef("gauntlet"),
        Sampling(),
        Limits(wait_for_server_s=0.0),
        agent=agent,
    )
    try:
        ready = open_agent(agent, cell, Opening(settings, http, read_prices(settings.home)))
        await ready.check()
        yield ready
    finally:
        await http.close()


async def through_gateway(
    script: Path,
    environment: tuple[str, ...],
    settings: Settings,
    trial: Callable[[AgentAtWork], Awaitable[Reply]],
) -> tuple[Reply, MeteredCalls]:
    """The exploit's trial as proctor runs it. Raises what the trial raises."""
    server = ModelServer()
    try:
        async with command_agent(script, environment, settings, await server.begin()) as agent:
            server.watches = True
            reply = await trial(agent)
    finally:
        await server.close()
    used = (reply.input_tokens, reply.output_tokens, reply.unused.input_tokens, reply.unused.output_tokens)
    counted = None if server.endless else sum(each or 0 for each in used)
    return reply, MeteredCalls(server.tokens, counted, tuple(server.foreign))


@asynccontextmanager
async def open_gateway_to(
    server: ModelServer, key: str, budget: float
) -> AsyncIterator[tuple[str, OpenGateway]]:
    """An open gateway in front of a server, at an address."""
    server.watches = True
    naive = OpenGateway(await server.begin(), key, budget)
    try:
        yield await naive.begin(), naive
    finally:
        await naive.close()
        await server.close()
