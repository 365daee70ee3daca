"""How the simulator sends what it has to say: whole, as a stream, or as a fault after which no reply comes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import orjson
from aiohttp import web

from proctor.simulator.behaviour import Behaviour
from proctor.simulator.protocols.wire import Ask, Denied, Paced, Wire
from proctor.simulator.replies import GARBAGE

# An endless reply sends this often: slow enough to cost nothing, quick enough that no read times out.
ENDLESS_GAP_S = 0.05

JSON = {"Content-Type": "application/json"}


def in_json(body: bytes, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.Response(body=body, headers={**JSON, **headers} if headers else JSON)


def denial(denied: Denied) -> web.Response:
    return web.Response(status=denied.status, body=denied.body, headers={**JSON, **denied.headers})


async def _broken(request: web.Request, wire: Wire, ask: Ask) -> web.StreamResponse:
    raise wire.broken()


async def _crashed(request: web.Request, wire: Wire, ask: Ask) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.close()
    return web.Response()  # nobody gets to see it


async def _garbage(request: web.Request, wire: Wire, ask: Ask) -> web.StreamResponse:
    return web.Response(body=GARBAGE, headers={"Content-Type": "text/html"})


async def _endless(request: web.Request, wire: Wire, ask: Ask) -> web.StreamResponse:
    """Bytes for ever, until the client goes away and the writing fails."""
    kind = wire.STREAM_TYPE if ask.stream else "application/json"
    response = web.StreamResponse(headers={"Content-Type": kind})
    try:
        await response.prepare(request)
        while True:
            await response.write(b"\n")  # may stand between JSON values, lines and events alike
            await asyncio.sleep(ENDLESS_GAP_S)
    except ConnectionResetError:
        return response


# The faults after which no reply comes.
UNANSWERED: Mapping[str | None, Callable[[web.Request, Wire, Ask], Awaitable[web.StreamResponse]]] = {
    "error": _broken,
    "crash": _crashed,
    "garbage": _garbage,
    "endless": _endless,
    "break": _broken,
    "cut": _crashed,
}


def timed(pieces: Sequence[bytes], latency_s: float, behaviour: Behaviour) -> list[tuple[bytes, float]]:
    """The pieces with the seconds before each: spread evenly over the latency, or by the times of tokens."""
    if not behaviour.paced or not any(isinstance(piece, Paced) for piece in pieces):
        return [(piece, latency_s / len(pieces)) for piece in pieces]
    found, next_s = [], latency_s + behaviour.first_token_s
    for piece in pieces:
        paced = isinstance(piece, Paced)
        found.append((piece, next_s if paced else 0.0))
        next_s = behaviour.per_token_s if paced else next_s
    return found


# Fields of all the protocols' replies, and what each of them never holds.
_ODD = {
    "content": 5,
    "text": {"value": "Answer: A"},
    "finish_reason": 3,
    "finishReason": 3,
    "stop_reason": 3,
    "done_reason": 3,
    "prompt_tokens": "12",
    "completion_tokens": [7],
    "input_tokens": "12",
    "output_tokens": -1,
    "promptTokenCount": "12",
    "candidatesTokenCount": 10**15,
    "prompt_eval_count": "12",
    "eval_count": 7.5,
    "load_duration": "1.2s",
    "total_duration": "1.2s",
}


def with_odd_field(body: bytes, luck: float) -> bytes:
    """A reply with one of its fields, drawn by `luck` in [0, 1), of a type that it never has."""
    reply = orjson.loads(body)
    places = [(table, name) for table in _tables(reply) for name in table if name in _ODD]
    table, name = places[int(luck * len(places))]
    table[name] = _ODD[name]
    return orjson.dumps(reply)


def _tables(value: object) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value, from the outside in."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in inner:
        yield from _tables(each)


async def stream(
    request: web.Request,
    kind: str,
    pieces: Sequence[tuple[bytes, float]],
    headers: Mapping[str, str],
    sent: Callable[[Sequence[bytes]], None] = lambda _pieces: None,
) -> web.StreamResponse:
    """Send each piece so many seconds after the one before it; at once where that is none at all.

    `sent` hears which have been sent.
    """
    response = web.StreamResponse(headers={"Content-Type": kind, "Cache-Control": "no-cache", **headers})
    together = not any(gap_s for _, gap_s in pieces)
    loop = asyncio.get_running_loop()
    due = loop.time()
    try:
        await response.prepare(request)
        if together:
            await response.write(b"".join(piece for piece, _ in pieces))
            sent([piece for piece, _ in pieces])
            pieces = ()
        for piece, gap_s in pieces:
            due += gap_s  # by the clock, so that late turns do not add up
            if gap_s:
                await asyncio.sleep(due - loop.time())
            await response.write(piece)
            sent([piece])
        await response.write_eof()
    except ConnectionResetError:
        pass  # the client left in the middle: its right
    return response
