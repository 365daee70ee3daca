"""The simulator's server: routes, the slots that limit it, and the road of one request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import orjson
from aiohttp import web

from proctor.simulator.answers import Answers, prompt_key
from proctor.simulator.authorization import GOOGLE, XAI, gate, is_anthropic
from proctor.simulator.behaviour import Behaviour, fault_of, latency_of
from proctor.simulator.hard_quota import HardQuota
from proctor.simulator.protocols import (
    anthropic,
    completions,
    embeddings,
    gemini,
    grok,
    ollama,
    openai,
    responses,
)
from proctor.simulator.protocols.manners import dresser, manners, reply_headers
from proctor.simulator.protocols.memory import Memory
from proctor.simulator.protocols.openai_servers import Kin
from proctor.simulator.protocols.pages import MADE, ServerMeter, View
from proctor.simulator.protocols.pages import models as listed
from proctor.simulator.protocols.scripts import scripted_words
from proctor.simulator.protocols.wire import Ask, Denied, ServerTerms, SimulatedReply, Stamp, Wire
from proctor.simulator.replies import Lot, compose
from proctor.simulator.sending import UNANSWERED, denial, in_json, stream, timed, with_odd_field
from proctor.simulator.slots import Quota, Slots, SlotsPolicy
from proctor.simulator.tally import ServerTally, StreamSent

MAX_BODY_BYTES = 64 * 1024 * 1024
_TERMS = ServerTerms()
_USUAL_SLOTS = 4  # told by servers that tell a number, where any number is served
_MIDWAY = ("break", "cut")  # what becomes of a stream
# The faults that turn a request away at once.
_DENIED: Mapping[str | None, Callable[[Wire], Denied]] = {
    "overload": lambda wire: wire.overloaded(),
    "forbid": lambda wire: wire.forbidden(),
}


def make_app(
    answers: Answers,
    behaviours: Mapping[str, Behaviour],
    *,
    seed: int = 0,
    slots: int | None = None,
    slots_policy: SlotsPolicy = "queue",
    key: str | None = None,
    terms: ServerTerms = _TERMS,
) -> web.Application:
    """A server that offers these models.

    At most `slots` requests are served at once; others wait in line or are refused. With a `key`,
    requests must carry it. Run it with `handler_cancellation`, as `listen` does: otherwise clients
    that went away keep their slots.
    """
    server = _Server(answers, behaviours, seed, Slots(slots, slots_policy, terms.queue), terms)
    gates = [] if key is None else [gate(key, server.turned_away)]
    if terms.loading_s or not terms.quirks.plain:
        gates.insert(0, manners(Kin(terms.quirks), terms, server.turned_away))
    app = web.Application(client_max_size=MAX_BODY_BYTES, middlewares=gates)
    if not terms.quirks.plain:
        app.on_response_prepare.append(dresser(terms.quirks))
    app.add_routes(server.routes())
    return app


@dataclass(frozen=True, slots=True)
class Listening:
    """A server at work. `close` ends it without waiting for the requests under way."""

    url: str
    runner: web.AppRunner

    async def close(self) -> None:
        await self.runner.cleanup()


async def listen(app: web.Application, *, host: str = "127.0.0.1", port: int = 0) -> Listening:
    """Serve the app; port 0 takes a free one. Raises: OSError when the port cannot be had."""
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, backlog=4096).start()
    except OSError:
        await runner.cleanup()
        raise
    name = f"[{host}]" if ":" in host else host
    return Listening(f"http://{name}:{runner.addresses[0][1]}", runner)


class _Server:
    """The models, their answers and the counters behind the routes."""

    def __init__(
        self,
        answers: Answers,
        behaviours: Mapping[str, Behaviour],
        seed: int,
        slots: Slots,
        terms: ServerTerms,
    ) -> None:
        self.answers = answers
        self.behaviours = behaviours
        self.seed = seed
        self.slots = slots
        self.terms = terms
        self.tally = ServerTally()
        self.quota = Quota(terms.per_second)
        self.hard = HardQuota(terms.hard)
        self.meter = ServerMeter()
        self.memory = Memory(terms.room)
        self.openai: Wire = openai if terms.quirks.plain else Kin(terms.quirks)

    def routes(self) -> list[web.RouteDef]:
        routes = [
            web.post("/v1/chat/completions", self._asked(self.openai)),
            web.post("/v1/completions", self._asked(completions)),
            web.post("/v1/responses", self._asked(responses)),
            web.post("/v1/embeddings", self._asked(embeddings)),
            web.get("/v1/models", self.v1_models),
            web.post("/v1/messages", self.anthropic_chat),
            web.get("/__stats", self.stats),
            web.post("/__reset", self.reset),
        ]
        quirks = self.terms.quirks
        if quirks.bare:
            chat = web.post("/chat/completions", self._asked(self.openai))
            routes += [chat, web.get("/models", self.v1_models)]
        if quirks.single:
            routes.append(web.get("/v1/models/{name}", self.v1_model))
        routes += [web.get(path, self._made(name)) for path, name in quirks.made.items()]
        routes += [web.get(path, _told(value)) for path, value in quirks.static.items()]
        return routes if quirks.openai_only else [*routes, *self._others()]

    def _others(self) -> list[web.RouteDef]:
        """The pages of the protocols beside OpenAI's and Anthropic's."""
        return [
            web.post("/v1beta/models/{call}", self.gemini_chat),
            web.post(f"{GOOGLE}/chat/completions", self._asked(openai)),
            web.post(f"{GOOGLE}/embeddings", self._asked(embeddings)),
            web.get(f"{GOOGLE}/models", _page(lambda: openai.models(self.behaviours))),
            web.get("/v1beta/models", _page(self.gemini_models)),
            web.get("/v1beta/models/{name}", self.gemini_model),
            web.post(f"{XAI}/v1/chat/completions", self._asked(grok)),
            web.post(f"{XAI}/v1/responses", self._asked(responses)),
            web.get(f"{XAI}/v1/models", _page(lambda: openai.models(self.behaviours))),
            web.get(f"{XAI}/v1/language-models", _page(lambda: grok.language_models(self.behaviours))),
            web.post("/api/chat", self._asked(ollama)),
            web.get("/api/tags", _page(lambda: ollama.tags(self.behaviours))),
            web.post("/api/show", self.show),
            web.get("/api/ps", _page(self.loaded_models)),
            web.get("/api/version", _page(lambda: orjson.dumps({"version": ollama.VERSION}))),
            web.get("/", _running),
        ]

    def _made(self, name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def page(request: web.Request) -> web.Response:
            waiting = self.tally.in_flight - self.tally.serving
            slots = self.slots.count or _USUAL_SLOTS
            view = View(self.behaviours, self.terms, slots, self.tally.serving, waiting, self.meter)
            body, kind = MADE[name](view)
            return web.Response(body=body, headers={"Content-Type": kind})

        return page

    def _asked(self, wire: Wire) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def ask(request: web.Request) -> web.StreamResponse:
            return await self._chat(request, wire)

        return ask

    async def anthropic_chat(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("anthropic-version") != anthropic.VERSION:
            return self.turned_away(request, anthropic.bad_request("anthropic-version: header is required"))
        return await self._chat(request, anthropic)

    async def gemini_chat(self, request: web.Request) -> web.StreamResponse:
        name, _, method = request.match_info["call"].rpartition(":")
        if method != gemini.METHOD:
            return self.turned_away(request, gemini.missing(request.match_info["call"]))
        return await self._chat(request, gemini.GeminiShape(name))

    async def v1_models(self, request: web.Request) -> web.Response:
        if is_anthropic(request):
            return in_json(anthropic.models(self.behaviours))
        try:
            return in_json(listed(self.behaviours, self.terms))
        except Denied as denied:
            return denial(denied)

    async def v1_model(self, request: web.Request) -> web.Response:
        try:
            shape = anthropic if is_anthropic(request) else openai
            return in_json(shape.model(request.match_info["name"], self.behaviours))
        except Denied as denied:
            return denial(denied)

    async def gemini_model(self, request: web.Request) -> web.Response:
        try:
            name, context_tokens = request.match_info["name"], self.terms.context_tokens
            return in_json(gemini.model(name, self.behaviours, context_tokens))
        except Denied as denied:
            return denial(denied)

    def gemini_models(self) -> bytes:
        return gemini.models(self.behaviours, self.terms.context_tokens)

    def turned_away(self, request: web.Request, denied: Denied) -> web.Response:
        """The error for a request that nobody reads; it is counted if it asked something."""
        if request.method == "POST":
            self.tally.arrive(_peer(request))
            self.tally.leave()
        return denial(denied)

    async def show(self, request: web.Request) -> web.Response:
        try:
            return in_json(ollama.show(await request.read(), self.terms, self.behaviours))
        except Denied as denied:
            return denial(denied)

    async def stats(self, request: web.Request) -> web.Response:
        report = self.tally.report(keys=request.query.get("keys") == "1")
        told = {"model_loads": self.memory.loads, "quota": self.hard.report(time.monotonic())}
        return in_json(orjson.dumps({**report, **told}))

    async def reset(self, request: web.Request) -> web.Response:
        self.tally.reset()
        self.hard.reset()
        return in_json(b"{}")

    def loaded_models(self) -> bytes:
        return ollama.loaded_models(self.memory.now())

    async def _chat(self, request: web.Request, wire: Wire) -> web.StreamResponse:
        body = await request.read()
        try:
            ask = wire.read(body, self.terms, self.behaviours)
        except Denied as denied:
            return self.turned_away(request, denied)
        if not ask.messages:
            self.tally.loads += 1
            await self._remember(ask)
            self.memory.leave(ask.name)
            return in_json(ollama.loaded(ask, time.time()))
        if self.terms.script and ask.scripted is None:
            ask = replace(ask, scripted=scripted_words(self.terms.script, ask.messages))
        self.tally.arrive(_peer(request))
        if ask.applied is not None:
            self.tally.note(ask)
        try:
            return await self._ask(request, wire, ask)
        except Denied as denied:
            return denial(denied)
        finally:
            self.tally.leave()

    async def _ask(self, request: web.Request, wire: Wire, ask: Ask) -> web.StreamResponse:
        """Raises: Denied for a server that is busy or broken."""
        behaviour = self.behaviours[ask.name]
        lot = Lot(self.seed, ask.name, prompt_key(ask.messages))
        tried = self.tally.tried(ask.name, lot.key)
        lot = replace(lot, again=tried if ask.drawn else 0)
        fault = fault_of(behaviour, self.seed, ask.name, lot.key, tried)
        if fault == "rate_limit" or self.slots.crowded or not self.quota.takes(time.monotonic()):
            raise wire.busy(behaviour.retry_after_s)
        if self.terms.hard.any:
            self._charge(wire, ask, behaviour)
        if fault in _DENIED:
            raise _DENIED[fault](wire)
        quota = self.terms.quota_day
        if quota is not None and self.tally.served >= quota:
            raise wire.exhausted(quota)
        # The number is given on arrival, before any waiting in line.
        number = self.tally.serve()
        latency_s = latency_of(behaviour, self.seed, number)
        self.tally.sum_latency_s += latency_s
        async with self._turn(ask) as (load_s, waited_s):
            # Of a prompt that was asked before, all is known but the last token.
            known = max(0, ask.input_tokens - 1) if tried > 1 else 0
            cached = known if self.terms.quirks.caches else None
            stamp = Stamp(number, time.time(), latency_s, cached, waited_s, load_s)
            return await self._serve(request, wire, ask, lot, fault, stamp)

    def _charge(self, wire: Wire, ask: Ask, behaviour: Behaviour) -> None:
        """Take from the hard quota what the prompt has and the reply may have. Raises: Denied."""
        tokens = ask.input_tokens + (ask.limit or behaviour.tokens or 0)
        if not self.hard.takes(tokens, time.monotonic()):
            denied = wire.busy(self.hard.wait_s(tokens))
            denied.headers = {**denied.headers, **self.hard.refusal_headers(tokens)}
            raise denied

    async def _remember(self, ask: Ask) -> float:
        options, context = ask.runner, ask.context_tokens or self.terms.context_tokens
        return await self.memory.take(ask.name, options, context, ask.keep_alive_s)

    @asynccontextmanager
    async def _turn(self, ask: Ask) -> AsyncIterator[tuple[float, float]]:
        """Have the model in memory, then a slot: first come, first served. Gives the seconds that each took."""
        load_s = await self._remember(ask)
        came_at, waits = time.monotonic(), self.slots.full
        try:
            async with self.slots.one():
                self.tally.begin()
                try:
                    yield load_s, time.monotonic() - came_at if waits else 0.0
                finally:
                    self.tally.end()
        finally:
            self.memory.leave(ask.name)

    def _meter(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> None:
        if self.terms.quirks.made:  # else nobody reads it
            self.meter.add(ask, said, stamp)

    async def _serve(
        self, request: web.Request, wire: Wire, ask: Ask, lot: Lot, fault: str | None, stamp: Stamp
    ) -> web.StreamResponse:
        # A model whose context was cut sees another prompt than the one it is known by.
        known = None if ask.cut else self.answers.get(lot.key)
        behaviour = self.behaviours[ask.name]
        said = compose(behaviour, fault, ask, known, lot, self.terms.first_token_style)
        headers = {**reply_headers(self.terms.quirks, ask, stamp), **self.hard.headers()}
        if ask.stream and fault != "odd" and (fault not in UNANSWERED or fault in _MIDWAY):
            pieces = wire.pieces(ask, said, stamp)
            if fault in _MIDWAY:
                pieces = [*pieces[: len(pieces) // 2], *([wire.cut_off()] if fault == "break" else [])]
            paced, sent = timed(pieces, stamp.latency_s, behaviour), StreamSent()
            try:
                response = await stream(request, wire.STREAM_TYPE, paced, headers, sent.add)
            finally:
                self.tally.sent_stream(ask, said, sent, None if fault in _MIDWAY else len(pieces))
            self._meter(ask, said, stamp)
            return response
        if took_s := stamp.latency_s + behaviour.tokens_s(said.output_tokens):
            await asyncio.sleep(took_s)
        if fault in UNANSWERED:
            return await UNANSWERED[fault](request, wire, ask)
        self._meter(ask, said, stamp)
        self.tally.sent_whole(ask, said)
        whole = wire.whole(ask, said, stamp)
        return in_json(with_odd_field(whole, lot.draw("odd")) if fault == "odd" else whole, headers)


def _peer(request: web.Request) -> object:
    transport = request.transport
    return None if transport is None else transport.get_extra_info("peername")


def _page(make: Callable[[], bytes]) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def page(request: web.Request) -> web.Response:
        return in_json(make())

    return page


def _told(value: object) -> Callable[[web.Request], Awaitable[web.Response]]:
    return _page(lambda: orjson.dumps(value))


async def _running(request: web.Request) -> web.Response:
    return web.Response(text=ollama.RUNNING)
