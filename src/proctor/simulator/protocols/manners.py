"""How a server with quirks behaves at its door: its headers, its page for what it does not have, a key, loading."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from aiohttp import web
from aiohttp.typedefs import Middleware

from proctor.simulator.protocols.openai_servers import Kin
from proctor.simulator.protocols.quirks import Quirks
from proctor.simulator.protocols.wire import Ask, Denied, ServerTerms, Stamp
from proctor.simulator.sending import JSON

_OWN = "/__"  # the simulator's counters have no manners
_KEYED = "/v1/"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def manners(
    kin: Kin, terms: ServerTerms, turned_away: Callable[[web.Request, Denied], web.StreamResponse]
) -> Middleware:
    """The middleware of a server that was started now."""
    ready_at = time.monotonic() + terms.loading_s
    quirks = terms.quirks

    @web.middleware
    async def behave(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path.startswith(_OWN):
            return await handler(request)
        if time.monotonic() < ready_at:
            return turned_away(request, kin.loading())
        if quirks.any_key and request.path.startswith(_KEYED) and "Authorization" not in request.headers:
            return turned_away(request, kin.no_key())
        try:
            return await handler(request)
        except web.HTTPNotFound:
            if quirks.plain:
                raise
            return web.Response(status=404, body=kin.missing().body, headers=JSON)

    return behave


def dresser(quirks: Quirks) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Puts the headers of the server on every answer."""

    async def dress(request: web.Request, response: web.StreamResponse) -> None:
        response.headers.update(quirks.headers)

    return dress


def reply_headers(quirks: Quirks, ask: Ask, stamp: Stamp) -> dict[str, str]:
    """The headers that a reply has beside those of every answer."""
    places = {"number": stamp.number, "ms": f"{stamp.latency_s * 1e3:.3f}", "model": ask.model}
    return {name: value.format(**places) for name, value in quirks.chat_headers.items()}
