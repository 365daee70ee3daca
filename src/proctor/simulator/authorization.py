"""The door of the simulator: whether a request carries the key, in the header of its protocol."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Middleware

from proctor.simulator.protocols import anthropic, gemini, grok, openai
from proctor.simulator.protocols.wire import Denied

_OPEN_PATHS = "/__"  # counters need no key
GOOGLE = "/v1beta/openai"  # where Gemini is asked in OpenAI's shapes, with a key of OpenAI's kind
XAI = "/xai"  # xAI's pages have OpenAI's paths, so they stand under a prefix


@dataclass(frozen=True, slots=True)
class _Door:
    """Where a protocol carries its key, and its words for a wrong one."""

    header: str
    wrong: Callable[[str | None], Denied]


_OPENAI = _Door("Authorization", openai.wrong_key)
_GROK = _Door("Authorization", grok.wrong_key)
_GEMINI = _Door("x-goog-api-key", gemini.wrong_key)
_ANTHROPIC = _Door("x-api-key", anthropic.wrong_key)


def is_anthropic(request: web.Request) -> bool:
    """Its pages about models have OpenAI's paths too; the version's header tells them apart."""
    return request.path == "/v1/messages" or "anthropic-version" in request.headers


def _door(request: web.Request) -> _Door:
    if request.path.startswith(f"{GOOGLE}/"):
        return _OPENAI
    if request.path.startswith("/v1beta/"):
        return _GEMINI
    if request.path.startswith(f"{XAI}/"):
        return _GROK
    return _ANTHROPIC if is_anthropic(request) else _OPENAI


def _given(request: web.Request, header: str) -> str:
    value = request.headers.get(header, "")
    if header != "Authorization":
        return value
    kind, _, key = value.partition(" ")
    return key.strip() if kind == "Bearer" else ""


def gate(key: str, turned_away: Callable[[web.Request, Denied], web.StreamResponse]) -> Middleware:
    """Lets those in who carry the key; the others get their protocol's error."""

    @web.middleware
    async def check(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        door = _door(request)
        given = _given(request, door.header)
        if request.path.startswith(_OPEN_PATHS) or hmac.compare_digest(given.encode(), key.encode()):
            return await handler(request)
        return turned_away(request, door.wrong(given or None))

    return check
