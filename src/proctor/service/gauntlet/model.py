"""A model's server for the gauntlet: it notes what it is asked, does what a request's words say, and counts by itself.

ECHO     the reply quotes the headers of the request      ENDLESS  a stream that never ends, as fast as it is read
DENY     an error that quotes the key                     SLOW     the reply takes half a second
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

NAME = "exam-model"
PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/models")
READ, WRITTEN = 10, 20  # tokens of every reply
MOST_HEAD = 1 << 24
SLOW_S, ENDLESS_S, ENDLESS_STEP_S = 0.5, 40.0, 0.001


@dataclass(slots=True)
class ModelServer:
    """At a free port of this machine's loopback until it is closed. `foreign` is what nobody should have asked."""

    tokens: int = 0
    watches: bool = False  # before, nothing is noted: proctor looks around when it begins
    endless: bool = False
    foreign: list[str] = field(default_factory=list)
    _server: asyncio.Server | None = None

    async def begin(self) -> str:
        """Its address."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=MOST_HEAD)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                first, *lines = head.strip().split("\r\n")
                named = {
                    name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
                }
                await self._answer(first, named, await _body(reader, named), writer)
                if named.get("connection", "").lower() == "close":
                    break
        writer.close()

    async def _answer(
        self, first: str, named: Mapping[str, str], body: bytes, writer: asyncio.StreamWriter
    ) -> None:
        path = first.split()[1]
        if path == PATHS[-1]:
            await _say(writer, {"object": "list", "data": [{"id": NAME, "object": "model"}]})
            return
        model = _model(body)
        if self.watches:
            self.tokens += 0 if b"DENY" in body else READ + WRITTEN
            if path not in PATHS or model != NAME:
                self.foreign.append(f"{first[:80]} for {model}")
        if b"DENY" in body:
            error = {
                "message": f"This key may not ask that: {named.get('authorization')}",
                "type": "invalid_request_error",
            }
            await _say(writer, {"error": error}, "400 Bad Request")
            return
        if b"SLOW" in body:
            await asyncio.sleep(SLOW_S)
        if b"ENDLESS" in body:
            self.endless = True
            await _endlessly(writer)
            return
        said = json.dumps(dict(named)) if b"ECHO" in body else "done"
        await (
            _stream(writer, said)
            if b'"stream":true' in body.replace(b" ", b"")
            else _say(writer, _reply(said))
        )


def _model(body: bytes) -> str | None:
    try:
        told = json.loads(body)
    except ValueError:
        return None
    return str(told.get("model")) if isinstance(told, dict) else None


def _reply(said: str) -> Mapping[str, object]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
    usage = {"prompt_tokens": READ, "completion_tokens": WRITTEN, "total_tokens": READ + WRITTEN}
    return {
        "id": f"c-{time.monotonic_ns()}",
        "object": "chat.completion",
        "model": NAME,
        "choices": [choice],
        "usage": usage,
    }


async def _body(reader: asyncio.StreamReader, named: Mapping[str, str]) -> bytes:
    if "chunked" not in named.get("transfer-encoding", ""):
        return await reader.readexactly(int(named.get("content-length") or 0))
    found = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        found += await reader.readexactly(size)
        await reader.readline()
    await reader.readline()
    return found


async def _say(writer: asyncio.StreamWriter, told: Mapping[str, object], status: str = "200 OK") -> None:
    body = json.dumps(told).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


def _piece(delta: Mapping[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    told = {"id": "c-1", "object": "chat.completion.chunk", "model": NAME, "choices": [choice]}
    return f"data: {json.dumps(told)}\n\n".encode()


async def _stream(writer: asyncio.StreamWriter, said: str) -> None:
    usage = json.dumps({**_reply(""), "object": "chat.completion.chunk", "choices": []}).encode()
    parts = [_piece({"role": "assistant", "content": said}), _piece({}, "stop"), b"data: " + usage + b"\n\n"]
    body = b"".join([*parts, b"data: [DONE]\n\n"])
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


async def _endlessly(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    until, piece = time.monotonic() + ENDLESS_S, _piece({"content": "and on " * 9000})
    while time.monotonic() < until:
        writer.write(piece)
        await writer.drain()
        await asyncio.sleep(ENDLESS_STEP_S)
    raise ConnectionResetError
