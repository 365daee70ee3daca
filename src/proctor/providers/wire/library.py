"""Requests that take a whole HTTP library: streams, odd addresses, and addresses that somebody else named.

Imported by whoever needs it: a plain run does not, and it takes a tenth of a second.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from proctor.errors import BadReply, NetworkError, RequestTimeout
from proctor.providers.wire.http import (
    MAX_REPLY_BYTES,
    MAX_STREAM_BYTES,
    HearHeaders,
    HttpResponse,
    Patience,
    TakePiece,
    endless,
    said_of,
)
from proctor.providers.wire.reach import need_public

LINGER_S = 0.5  # for the end of a stream whose last word has come
# aiohttp's default of 64 KiB makes long replies crawl.
READ_BUFFER_BYTES = 4 * 2**20
WHOLE = ("application/json", "text/html")  # what comes so is no stream


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as its sender words it."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    patience: Patience
    heard: HearHeaders | None = None


class Library:
    """aiohttp's sessions, opened inside a running event loop; `resolver` looks names up, None: the system's."""

    def __init__(self, *, most: int, public_only: bool, resolver: AbstractResolver | None) -> None:
        if public_only:
            resolver = PublicResolver(resolver or aiohttp.ThreadedResolver())
        # An unbounded pool runs out of ports under load; the limiter keeps below this anyway.
        self._session = _on(aiohttp.TCPConnector(limit=most, ttl_dns_cache=300, resolver=resolver))
        # Looks have connections of their own: a server that closes one after a 500 unsaid would lose the next question.
        self._looks = _on(aiohttp.TCPConnector(force_close=True, ttl_dns_cache=300, resolver=resolver))

    async def send(self, sent: Sent, take: TakePiece | None) -> HttpResponse:
        """Raises: as `Http.post` and `Http.stream`."""
        url, start = sent.url, time.perf_counter()
        try:
            session = self._looks if sent.method == "GET" else self._session
            async with session.request(
                sent.method,
                url,
                data=sent.body,
                headers=sent.headers,
                allow_redirects=False,
                timeout=_timeout(sent.patience),
            ) as response:
                if sent.heard is not None and sent.method == "POST":
                    sent.heard(response.headers, time.perf_counter() - start)
                if take is not None and response.status == 200 and response.content_type not in WHOLE:
                    content = await _pieces(response, url, start, take)
                else:
                    content = await _read(response, url)
                elapsed_s = time.perf_counter() - start
                return HttpResponse(response.status, response.headers, content, elapsed_s)
        except aiohttp.ConnectionTimeoutError as error:
            raise NetworkError(f"{url}: cannot connect (no answer)", away=True) from error
        except TimeoutError as error:
            raise RequestTimeout(f"{url}: no complete reply within {sent.patience.told}") from error
        except aiohttp.ClientConnectorError as error:
            number = error.errno or 0  # below 0 it is the name server's
            why = os.strerror(number) if number > 0 else error.strerror or error.os_error
            raise NetworkError(f"{url}: cannot connect ({why})", away=True) from error
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError) as error:
            raise NetworkError(f"{url}: the connection broke ({said_of(error)})") from error

    async def close(self) -> None:
        await self._looks.close()
        await self._session.close()


class PublicResolver(AbstractResolver):
    """Looks names up by another resolver, and raises Forbidden unless everything found is public."""

    def __init__(self, resolver: AbstractResolver) -> None:
        self._resolver = resolver

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        need_public(host, (each["host"] for each in found))
        return found

    async def close(self) -> None:
        await self._resolver.close()


def _on(connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=connector,
        read_bufsize=READ_BUFFER_BYTES,
        auto_decompress=True,
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _timeout(patience: Patience) -> aiohttp.ClientTimeout:
    return aiohttp.ClientTimeout(total=patience.total_s, sock_connect=patience.connect_s)


async def _read(response: aiohttp.ClientResponse, url: str) -> bytes:
    length = response.content_length
    if length is not None and length <= MAX_REPLY_BYTES:
        return await response.read()
    chunks = bytearray()
    async for chunk in response.content.iter_any():
        chunks += chunk
        if len(chunks) > MAX_REPLY_BYTES:
            raise endless(url)
    return bytes(chunks)


async def _pieces(response: aiohttp.ClientResponse, url: str, start: float, take: TakePiece) -> bytes:
    """Hand on what is read, with the moment of the reading: decoding it must not count as the server's time."""
    size, done = 0, False
    try:
        async with asyncio.timeout(None) as rest:
            async for piece in response.content.iter_any():
                size += len(piece)
                if not done and take(piece, time.perf_counter() - start):
                    done = True
                    rest.reschedule(asyncio.get_running_loop().time() + LINGER_S)
                if size > MAX_STREAM_BYTES:
                    raise BadReply(
                        f"{url}: the stream goes on beyond {MAX_STREAM_BYTES >> 20} MiB; stopped reading"
                    )
    except TimeoutError:
        if not done:
            raise
    return b""
