"""The HTTP server in a box's loopback: whoever is in the box may send it anything, and harms only that box's trial."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import orjson
from aiohttp import web

from proctor.engine.gateway.call import CallUnderWay
from proctor.engine.gateway.refusals import Refusal
from proctor.engine.gateway.requests import PATHS

if TYPE_CHECKING:
    from proctor.engine.gateway.trial import TrialGateway

MODELS = "/v1/models"
MOST_CONNECTIONS = 128
MOST_CALLS = 96  # under way at once
MOST_BODY_BYTES = 32 * 2**20
MOST_HELD_BYTES = 64 * 2**20  # of the bodies of all calls under way
MOST_HEADER_BYTES = 16 * 2**10  # of a header; there are at most 128 of them
BODY_S = 60.0  # in which a body has come
IDLE_S = 75.0
BUSY_PER_S, BUSY_AT_ONCE = 200.0, 400.0  # requests and connections beyond these are answered slowly
BREATH_BYTES = 2**15  # of a body that count as one request
JSON = {"Content-Type": "application/json"}
STREAM = {"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache"}


@dataclass(slots=True)
class Breath:
    """How much a trial may ask of this process: what comes faster waits (a token bucket)."""

    per_s: float = BUSY_PER_S
    at_once: float = BUSY_AT_ONCE
    _left: float = BUSY_AT_ONCE
    _at: float = 0.0

    async def take(self, how_much: float = 1.0) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._left = min(self.at_once, self._left + (now - self._at) * self.per_s)
        self._at = now
        self._left -= how_much
        if self._left < 0:
            await asyncio.sleep(-self._left / self.per_s)


class Connections(web.Server):
    """aiohttp's server, which tells when a connection has ended."""

    def __init__(self, door: BoxServer) -> None:
        super().__init__(
            door.answer,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=IDLE_S,
            max_line_size=MOST_HEADER_BYTES,
            max_field_size=MOST_HEADER_BYTES,
            auto_decompress=False,
            lingering_time=1.0,
        )
        self.places = asyncio.Semaphore(MOST_CONNECTIONS)

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self.places.release()


@dataclass(eq=False, slots=True)
class BoxServer:
    """What the requests of one box come through."""

    trial: TrialGateway
    breath: Breath = field(default_factory=Breath)
    _calls: int = 0
    _held: int = 0

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        await self.breath.take()
        try:
            return await self._answered(request)
        except Refusal as refusal:
            return _refused(refusal)

    async def _answered(self, request: web.BaseRequest) -> web.StreamResponse:
        path = request.path
        if path == MODELS and request.method == "GET":
            return web.Response(body=self._models(), headers=JSON)
        if path not in PATHS or request.method != "POST":
            there = ", ".join(f"POST {each}" for each in PATHS)
            raise Refusal(404, f"There is no {request.method} {path[:200]} here, but {there}, GET {MODELS}.")
        if self._calls >= MOST_CALLS:
            raise Refusal(429, f"{MOST_CALLS} calls are under way", "rate_limit_exceeded", code="too_many")
        self._calls += 1
        try:
            return await self._call(request, path)
        finally:
            self._calls -= 1

    async def _call(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        body = await self._body(request)
        self._held += len(body)
        call = self.trial.begin(path, body)
        # What the call holds it holds until it has ended, whoever waits for it.
        assert call.task is not None
        call.task.add_done_callback(lambda _: self._let_go(len(body)))
        try:
            return await _told(request, call)
        finally:
            call.leave()

    def _let_go(self, count: int) -> None:
        self._held -= count

    async def _body(self, request: web.BaseRequest) -> bytes:
        """Raises: Refusal."""
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Refusal(415, "Send the body as it is, without Content-Encoding.")
        if request.headers.get("Expect", "").lower() == "100-continue" and request.transport is not None:
            request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        room = min(MOST_BODY_BYTES, MOST_HELD_BYTES - self._held)
        length = request.content_length
        if length is not None and length > room:
            raise _too_long(request, room)
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_S):
                async for piece in request.content.iter_any():
                    body += piece
                    if len(body) > room:
                        raise _too_long(request, room)
                    await self.breath.take(len(piece) / BREATH_BYTES)
        except TimeoutError:
            raise Refusal(408, f"The body did not come within {BODY_S:g} s.") from None
        return bytes(body)

    def _models(self) -> bytes:
        name = self.trial.gateway.model.name
        model = {"id": name, "object": "model", "created": 0, "owned_by": "proctor"}
        return orjson.dumps({"object": "list", "data": [model]})


def _too_long(request: web.BaseRequest, room: int) -> Refusal:
    request.protocol.close()  # the rest of it is not read
    return Refusal(413, f"A body may have {room:,} bytes now, and {MOST_BODY_BYTES:,} at the most.")


async def _told(request: web.BaseRequest, call: CallUnderWay) -> web.StreamResponse:
    """Send what comes out of a call. Raises: Refusal where that is an error."""
    pieces = call.outlet.pieces()
    first = await anext(pieces, b"")
    if not call.streams:
        return web.Response(body=first, headers=JSON)
    response = web.StreamResponse(headers=STREAM)
    with suppress(ConnectionResetError):  # the agent has gone
        await response.prepare(request)
        await response.write(first)
        async for piece in pieces:
            await response.write(piece)
        await response.write_eof()
    return response


def _refused(refusal: Refusal) -> web.Response:
    return web.Response(status=refusal.status, body=refusal.body, headers=JSON)


@asynccontextmanager
async def serving(trial: TrialGateway, listening: socket.socket) -> AsyncIterator[None]:
    """Accept at a listening socket, which is closed at the end together with all connections."""
    listening.setblocking(False)
    door = BoxServer(trial)
    server = Connections(door)
    accepting = asyncio.create_task(_accept(server, door, listening))
    try:
        yield
    finally:
        accepting.cancel()
        with suppress(asyncio.CancelledError):
            await accepting
        listening.close()
        await server.shutdown(0.1)


async def _accept(server: Connections, door: BoxServer, listening: socket.socket) -> None:
    """Who comes when all places are taken waits in the kernel's line."""
    loop = asyncio.get_running_loop()
    while True:
        await server.places.acquire()
        await door.breath.take()
        try:
            connection, _ = await loop.sock_accept(listening)
        except OSError:  # gone before it was accepted, or no descriptor is free
            server.places.release()
            await asyncio.sleep(0.05)
            continue
        try:
            await loop.connect_accepted_socket(server, connection)
        except OSError:
            server.places.release()
            connection.close()
