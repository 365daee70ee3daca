"""The HTTP server: the address it takes, who may be let in there, and an end that nobody holds up."""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import signal
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from proctor.errors import ConfigError
from proctor.settings import Settings

LONGEST_END_S = 3  # for requests that are being answered when the server is told to end
BACKLOG = 2048
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]


def is_loopback(host: str) -> bool:
    """True if only this machine reaches the address.

    >>> [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "0.0.0.0", "box.example")]
    [True, True, True, False, False]
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_address(host: str, settings: Settings) -> None:
    """Raises ConfigError for an address that others reach while no key is wanted."""
    if not is_loopback(host) and not settings.auth:
        raise ConfigError(
            f"--host {host}: others could reach the server there, and it wants no key. Create one with "
            "`proctor keys create`, set PROCTOR_AUTH=keys, and start it again; or stay on 127.0.0.1"
        )


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises ConfigError if the address cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listening.close()
        raise ConfigError(_why_not(host, port, error)) from None
    return listening


def _why_not(host: str, port: int, error: OSError | OverflowError) -> str:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.EADDRINUSE:
        return (
            f"--port {port}: another program listens there on {host}, perhaps another `proctor serve`. "
            "Choose another port, or 0 for a free one"
        )
    if number == errno.EACCES:
        return f"--port {port}: ports below 1024 are the system's; choose a higher one"
    return f"--host {host} --port {port}: cannot listen there: {error}"


def url_of(listening: socket.socket) -> str:
    """Where to find the server, for people on this machine."""
    host, port = listening.getsockname()[:2]
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)
    return f"http://{shown}:{port}"


@dataclass(eq=False, slots=True)
class Closing:
    """An ASGI app whose open requests hear, once the server ends, that their client has gone.

    Streams of events and long polls then end by themselves; a request that is being answered is
    answered all the same.
    """

    app: Any
    ending: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Message, receive: Receive, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        more = True

        async def received() -> Message:
            nonlocal more
            if not more:  # the whole body has been read: what may come now is the end
                return await self._end(receive)
            message = await receive()
            more = bool(message.get("more_body", False))
            return message

        await self.app(scope, received, send)

    async def _end(self, receive: Receive) -> Message:
        if self.ending.is_set():
            return {"type": "http.disconnect"}
        gone = asyncio.ensure_future(receive())
        ending = asyncio.ensure_future(self.ending.wait())
        try:
            await asyncio.wait((gone, ending), return_when=asyncio.FIRST_COMPLETED)
            return gone.result() if gone.done() else {"type": "http.disconnect"}
        finally:
            gone.cancel()
            ending.cancel()


def run(app: Any, listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve an ASGI app until SIGTERM or Ctrl-C; call `ready` when it answers.

    An app that cannot start raises SystemExit, after uvicorn has said why.
    """
    import uvicorn

    closing = Closing(app)

    class Server(uvicorn.Server):
        """uvicorn's, which says when it is ready and tells its requests when it ends."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            if self.started:
                ready()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            closing.ending.set()
            await super().shutdown(sockets)

    config = uvicorn.Config(
        closing,
        log_level="warning",
        access_log=False,
        lifespan="on",
        server_header=False,
        # An X-Forwarded-For that anybody on this machine may write must not lift a limit.
        proxy_headers=False,
        timeout_graceful_shutdown=LONGEST_END_S,
    )
    server = Server(config)

    def end(_number: int, _frame: object) -> None:
        server.should_exit = True

    # uvicorn sends itself the signal again once it has ended; by default that would end the process
    # before its workers.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    server.run(sockets=[listening])
