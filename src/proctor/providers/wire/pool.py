"""Connections of our own to the servers of a run: kept open between requests, and opened as they are needed.

For plain requests to `http` and `https` addresses. What is odd about an address is left to a whole HTTP library.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urlsplit

from proctor.providers.wire.connection import Connection, Whole

IDLE_S = 15.0  # what was longer out of use may have been given up by the server
NAMES_S = 300.0  # for so long an address that was looked up is good
STAGGER_S = 0.25  # the next address is tried beside one that does not answer (RFC 8305)
PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_TARGET = re.compile(r"(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?")
_UNFIT = re.compile(r"[\r\n\0]")


@dataclass(frozen=True, slots=True)
class Site:
    """A server: a host as it is looked up, in lower case, and its port."""

    scheme: str
    host: str
    port: int

    @property
    def told(self) -> str:
        """As the header Host names it."""
        host = f"[{self.host.partition('%')[0]}]" if ":" in self.host else self.host
        return host if PORTS[self.scheme] == self.port else f"{host}:{self.port}"


class NoConnection(Exception):
    """The server could not be reached; the cause is an OSError, or TimeoutError where nobody answered."""


@lru_cache(maxsize=256)
def place_of(url: str) -> tuple[Site, str] | None:
    """The server of a URL and what is asked of it; None where it is not plain.

    >>> place_of("http://LocalHost:11434/api/chat?x=1")
    (Site(scheme='http', host='localhost', port=11434), '/api/chat?x=1')
    >>> place_of("http://user:password@h/"), place_of("http://bücher.example/"), place_of("http://h/a b")
    (None, None, None)
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in PORTS or not parts.hostname or "@" in parts.netloc or "#" in url:
        return None
    target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
    if not (_HOST.fullmatch(parts.hostname) and _TARGET.fullmatch(target)) or "/." in parts.path:
        return None
    return Site(parts.scheme, parts.hostname, PORTS[parts.scheme] if port is None else port), target


class Pool:
    """At most `most` connections, each for one request at a time. Used inside one running event loop."""

    def __init__(self, *, most: int, most_bytes: int) -> None:
        self._places = asyncio.Semaphore(most)
        self._most_bytes = most_bytes
        self._idle: dict[Site, list[Connection]] = {}
        self._open: set[Connection] = set()
        self._names: dict[Site, tuple[float, asyncio.Future[list[Any]]]] = {}

    async def ask(
        self,
        site: Site,
        request: bytes,
        *,
        timeout_s: float,
        connect_s: float,
        keep: bool = True,
    ) -> Whole:
        """Raises: NoConnection, TimeoutError, and as `Connection.ask`. Without `keep` on a connection of its own."""
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        async with self._places:
            connection = self._take(site) if keep else None
            if connection is None:
                connection = await self._connected(site, min(connect_s, until - loop.time()))
            whole = await connection.ask(request, max(0.0, until - loop.time()))
            if keep and connection.idle:
                self._idle.setdefault(site, []).append(connection)
            else:
                connection.close()
            return whole

    def _take(self, site: Site) -> Connection | None:
        """The connection used last: those that are not needed grow old."""
        waiting = self._idle.get(site)
        while waiting:
            connection = waiting.pop()
            if connection.idle and asyncio.get_running_loop().time() - connection.since < IDLE_S:
                return connection
            connection.close()
        return None

    async def _connected(self, site: Site, within_s: float) -> Connection:
        try:
            async with asyncio.timeout(within_s):
                return await self._opened(site)
        except OSError as error:  # TimeoutError is one
            raise NoConnection from error

    async def _opened(self, site: Site) -> Connection:
        # Imported here, because it takes longer than a short command.
        from aiohappyeyeballs import start_connection

        socket = await start_connection(
            await self._addresses(site), happy_eyeballs_delay=STAGGER_S, interleave=1
        )
        loop = asyncio.get_running_loop()
        tls: dict[str, Any] = {"ssl": _tls(), "server_hostname": site.host} if site.scheme == "https" else {}
        connection = None
        try:
            _, connection = await loop.create_connection(
                lambda: Connection(self._most_bytes, self._open.discard), sock=socket, **tls
            )
        finally:
            if connection is None:
                socket.close()
        self._open.add(connection)
        return connection

    async def _addresses(self, site: Site) -> list[Any]:
        """Looked up once for all that want them, and kept for a while."""
        loop = asyncio.get_running_loop()
        known = self._names.get(site)
        if known is None or loop.time() > known[0] or (known[1].done() and _failed(known[1])):
            looking = asyncio.ensure_future(loop.getaddrinfo(site.host, site.port, type=1))
            known = self._names[site] = (loop.time() + NAMES_S, looking)
        # One that is cancelled must not cancel it for the others.
        return list(await asyncio.shield(known[1]))

    async def close(self) -> None:
        for connection in list(self._open):
            connection.close()
        self._idle.clear()
        for _, looking in self._names.values():
            looking.cancel()
            with suppress(asyncio.CancelledError, OSError):
                await looking
        await asyncio.sleep(0)  # the loop closes them in its next turn


def _failed(looked: asyncio.Future[list[Any]]) -> bool:
    return looked.cancelled() or looked.exception() is not None


@cache
def _tls() -> ssl.SSLContext:
    """The certificates that the system trusts, and names that must match. Made once, where it is needed."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context


def request_of(
    method: str, site: Site, target: str, headers: Mapping[str, str], body: bytes | None, *, keep: bool = True
) -> bytes:
    """A request in one piece. Raises: ValueError for headers that would be more than they are."""
    head = _head(method, site, target, tuple(headers.items()), keep)
    return head + b"\r\n" if body is None else b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)


@lru_cache(maxsize=256)
def _head(method: str, site: Site, target: str, headers: Sequence[tuple[str, str]], keep: bool) -> bytes:
    own = {"Host": site.told, "Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "proctor"}
    given = {name.lower() for name, _ in headers}
    lines = [f"{method} {target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in own.items() if name.lower() not in given]
    lines += [f"{name}: {value}" for name, value in headers]
    if not keep:
        lines.append("Connection: close")
    if any(map(_UNFIT.search, lines)):
        raise ValueError("a header holds the end of a line")
    return "".join(f"{line}\r\n" for line in lines).encode()
