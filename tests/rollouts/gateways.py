"""Gateways for tests: trials without a box, at a port of this machine, in front of a simulator or a small server."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from aiohttp import web

from proctor.engine.gateway import Gateway, TrialGateway, open_gateway
from proctor.plan.agents import AGENT_SAMPLING
from proctor.providers.contract import Opening
from proctor.providers.ledger import Ledger
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.references import RolloutsRef, TrialLimits
from proctor.sandbox.contract import Loopback
from proctor.simulator.app import listen
from proctor.trial_record import AgentCall
from proctor.types import Cell, Limits, Model
from simulators import settings

KEY = "sk-tests-0123456789"
UNBOUNDED = TrialLimits(max_tokens=None)


@dataclass
class Served:
    """A trial's gateway at an address, with the calls that it has handed over."""

    trial: TrialGateway
    url: str
    calls: list[AgentCall] = field(default_factory=list)


@asynccontextmanager
async def gateway_to(
    url: str,
    home: Path,
    *,
    budget: Ledger | None = None,
    wait_for_server_s: float = 5.0,
    name: str = "sim",
    provider: str = "openai",
    parallel: int | None = None,
) -> AsyncIterator[Gateway]:
    """The gateway of a run whose model is at `url`, which has been looked for there."""
    known = settings(home, OPENAI_API_KEY=KEY, GEMINI_API_KEY=KEY, ANTHROPIC_API_KEY=KEY)
    http = Http(parallel=128, timeout_s=20.0, secrets=known.secrets)
    model = Model(provider, name, url)
    limits = Limits(wait_for_server_s=wait_for_server_s, parallel=parallel)
    cell = Cell(model, RolloutsRef("tests"), AGENT_SAMPLING, limits)
    try:
        gateway = open_gateway(model, cell, Opening(known, http, read_prices(home), budget=budget))
        await gateway.check()
        yield gateway
    finally:
        await http.close()


@asynccontextmanager
async def trial_of(gateway: Gateway, limits: TrialLimits = UNBOUNDED) -> AsyncIterator[Served]:
    """The gateway of one trial, served at a free port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=128)
    port = listening.getsockname()[1]
    calls: list[AgentCall] = []
    trial = TrialGateway(gateway, limits, calls.append)
    async with trial.serving(Loopback(listening, port)):
        yield Served(trial, f"http://127.0.0.1:{port}", calls)


@dataclass
class Upstreams:
    """A model's server of the test's own: what it was asked, and with which headers."""

    url: str = ""
    asked: list[Any] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)


Answer = Callable[[web.Request, Any], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def upstream(answer: Answer) -> AsyncIterator[Upstreams]:
    """A server that has the model `sim`, and whose replies `answer` makes of a request and its body."""
    made = Upstreams()

    async def replied(request: web.Request) -> web.StreamResponse:
        body = orjson.loads(await request.read())
        made.asked.append(body)
        made.headers.append(request.headers)
        return await answer(request, body)

    async def listed(_request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "sim", "object": "model"}]})

    app = web.Application()
    app.add_routes([web.get("/v1/models", listed), web.post("/v1/{path:.*}", replied)])
    listening = await listen(app)
    made.url = f"{listening.url}/v1"
    try:
        yield made
    finally:
        await listening.close()
