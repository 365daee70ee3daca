"""A server of the OpenAI protocol for tests: it keeps what it was sent, and holds requests until it is told."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from aiohttp import web

from loops import loop_in_thread
from proctor.simulator.app import listen

REFUSAL = b'{"error": {"message": "too odd", "type": "invalid_request_error", "param": null, "code": "odd"}}'


@dataclass
class Models:
    """`sent` is the body of each request as it came; `known` maps a prompt to the body of its reply.

    A prompt with "odd" in it is refused; one with "later" waits until `release`.
    """

    url: str = ""
    sent: list[bytes] = field(default_factory=list)
    known: dict[str, bytes] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)  # by prompt
    _loop: asyncio.AbstractEventLoop | None = None
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    def hold(self) -> None:
        self._tell(self._released.clear)

    def release(self) -> None:
        self._tell(self._released.set)

    def _tell(self, what: object) -> None:
        assert self._loop is not None
        self._loop.call_soon_threadsafe(what)  # type: ignore[arg-type]  # a bound method

    async def list(self, _request: web.Request) -> web.Response:
        rows = [{"id": name, "object": "model", "created": 1_700_000_000} for name in self.names]
        return web.json_response({"object": "list", "data": rows})

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.sent.append(body)
        asked = json.loads(body)
        prompt = asked["messages"][-1]["content"]
        if "odd" in prompt:
            return web.Response(body=REFUSAL, status=400, content_type="application/json")
        if "later" in prompt:
            await self._released.wait()
        self.answered[prompt] += 1
        reply = self.known.get(prompt) or said(prompt, asked["model"])
        return web.Response(body=reply, content_type="application/json")


def said(prompt: str, model: str) -> bytes:
    message = {"role": "assistant", "content": f"You said: {prompt}"}
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 3,
        "total_tokens": 12,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps(
        {"id": "c1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage}
    ).encode()


@contextmanager
def model_server(*names: str) -> Iterator[Models]:
    models = Models(names=list(names))
    app = web.Application(client_max_size=2**26)
    app.router.add_get("/v1/models", models.list)
    app.router.add_post("/v1/chat/completions", models.chat)
    with loop_in_thread() as loop:
        models._loop = loop
        listening = asyncio.run_coroutine_threadsafe(listen(app), loop).result()
        models.url = f"{listening.url}/v1"
        yield models
        asyncio.run_coroutine_threadsafe(listening.close(), loop).result()
