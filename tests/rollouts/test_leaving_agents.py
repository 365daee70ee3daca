"""An agent that leaves: what it had read of its model's reply decides whether the call was answered or broken off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from gateways import Served, gateway_to, trial_of, upstream

from proctor.engine.gateway.outlet import MOST_WAITING_BYTES, Outlet
from proctor.trial_record import AgentCall
from proctor.types import Usage

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
END = b"data: [DONE]\n\n"
FIRST, LAST, TOLD = b'data: {"n": 1}\n\n', b'data: {"n": 2}\n\n', b'data: {"usage": 3}\n\n'
Step = Callable[[Outlet, AsyncIterator[bytes]], Awaitable[None]]


def events(*told: dict[str, Any]) -> bytes:
    return b"".join(b"data: %b\n\n" % orjson.dumps(each) for each in told)


WORD = {"choices": [{"index": 0, "delta": {"content": "word"}}]}
STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
USED = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
WHOLE = {"id": "r", "status": "completed", "output": [], "usage": {"input_tokens": 7, "output_tokens": 2}}
DELTA = {"type": "response.output_text.delta", "delta": "word"}
COMPLETED = {"type": "response.completed", "response": WHOLE}


def puts(*pieces: bytes) -> Step:
    async def step(outlet: Outlet, _: AsyncIterator[bytes]) -> None:
        for piece in pieces:
            outlet.put(piece)

    return step


async def reads(_: Outlet, pieces: AsyncIterator[bytes]) -> None:
    """Takes all that waits. What it took before has been passed on."""
    await anext(pieces)


async def asks_for_more(_: Outlet, pieces: AsyncIterator[bytes]) -> None:
    """Has passed on what it took, and is called away while it waits."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await anext(pieces)


async def leaves(outlet: Outlet, _: AsyncIterator[bytes]) -> None:
    outlet.leave()


@pytest.mark.parametrize(
    ("steps", "missed"),
    [
        ([puts(FIRST, LAST), reads, asks_for_more, leaves, puts(END)], False),
        ([puts(FIRST, LAST), reads, asks_for_more, puts(b"", END), leaves], False),  # both at once
        ([puts(FIRST, LAST), reads, puts(END), reads, leaves], False),  # in the midst of writing it
        ([puts(FIRST), reads, asks_for_more, leaves, puts(LAST)], True),
        ([puts(FIRST), reads, asks_for_more, puts(LAST), leaves], True),
        ([puts(FIRST), reads, puts(LAST), reads, leaves], True),  # in the midst of writing it
        ([puts(FIRST), reads, asks_for_more, leaves, puts(TOLD, END)], True),
        ([leaves, puts(FIRST)], True),
        ([leaves], False),
        ([puts(b"x" * (MOST_WAITING_BYTES + 1))], True),  # nobody reads, and it is let go
    ],
)  # fmt: skip
def test_an_outlet_knows_whether_its_reader_has_missed_anything(steps: list[Step], missed: bool) -> None:
    async def run() -> Outlet:
        outlet = Outlet()
        pieces = outlet.pieces()
        for step in steps:
            await step(outlet, pieces)
        return outlet

    assert asyncio.run(run()).missed is missed


@asynccontextmanager
async def agent(
    served: Served, path: str
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection of an agent that has asked for a stream."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rpartition(":")[2]))
    said = {"messages": [{"role": "user", "content": "hello"}]} if path == CHAT else {"input": "hello"}
    body = orjson.dumps({"model": "mine", "stream": True, **said})
    writer.write(b"POST %b HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)))
    writer.write(body)
    try:
        yield reader, writer
    finally:
        writer.close()


async def left(home: Path, path: str, before: bytes, after: bytes, until: bytes) -> AgentCall:
    """The call of an agent that reads up to `until` and closes before its model's server has said the rest."""
    closed = asyncio.Event()

    async def slow(request: web.Request, _asked: Any) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(before)
        await closed.wait()
        await response.write(after)
        return response

    async with upstream(slow) as up, gateway_to(up.url, home) as gateway, trial_of(gateway) as served:
        async with agent(served, path) as (reader, writer):
            await reader.readuntil(until)
            writer.write_eof()
            await (
                reader.read()
            )  # until the gateway has closed it as well: it knows that nobody reads any more
        closed.set()
    (call,) = served.calls
    return call


@pytest.mark.parametrize(
    ("path", "before", "after", "until"),
    [
        (CHAT, events(WORD, STOP), events(USED) + END, b'"stop"'),
        (CHAT, events(WORD, STOP, USED), END, b'"stop"'),
        (RESPONSES, events(DELTA, COMPLETED), b"", b'"response.completed"'),
        (RESPONSES, events(DELTA, COMPLETED), END, b'"response.completed"'),
    ],
)
def test_an_agent_that_leaves_once_it_has_read_all_was_answered(
    tmp_path: Path, path: str, before: bytes, after: bytes, until: bytes
) -> None:
    """However long its server takes to end what it has said."""
    call = asyncio.run(left(tmp_path, path, before, after, until))
    assert (call.ended, call.counted, call.usage) == ("answered", True, Usage(7, 2))


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [(CHAT, events(WORD), events(STOP, USED) + END), (RESPONSES, events(DELTA), events(COMPLETED))],
)
def test_an_agent_that_leaves_before_the_end_has_broken_off_and_its_tokens_are_counted(
    tmp_path: Path, path: str, before: bytes, after: bytes
) -> None:
    call = asyncio.run(left(tmp_path, path, before, after, b'"word"'))
    assert (call.ended, call.counted, call.usage) == ("cancelled", True, Usage(7, 2))
