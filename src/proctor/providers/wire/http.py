"""One HTTP session for all providers: sends bytes, times the wire, turns broken connections into typed errors."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver

from proctor.errors import BadReply, NetworkError, RequestTimeout, in_one_line
from proctor.providers.wire.reach import PublicResolver, need_public_literal

MAX_REPLY_BYTES = 32 * 2**20
MAX_STREAM_BYTES = 512 * 2**20  # each token comes with some hundred bytes around it
LINGER_S = 0.5  # for the end of a stream whose last word has come
# aiohttp's default of 64 KiB makes long replies crawl.
READ_BUFFER_BYTES = 4 * 2**20
LEAST_SECRET_CHARACTERS = 8
SAID_CHARACTERS = 300  # of what a server says in words that are no answer
WHOLE = ("application/json", "text/html")  # what comes so is no stream


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole HTTP answer. `elapsed_s` runs from the first byte sent to the last byte read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    elapsed_s: float


# Is given each piece of a stream, and when it was read (seconds since the request); True once all has been said.
TakePiece = Callable[[bytes, float], bool]


class Http:
    """Opened inside a running event loop; `close` it there. Keys in `secrets` never come out in a body.

    `public_only`: every request is for an address that somebody else named, so nothing but public ones is asked.
    `resolver` looks names up; None: the system's. Redirects are not followed.
    """

    def __init__(
        self,
        *,
        parallel: int,
        timeout_s: float,
        secrets: Sequence[str] = (),
        public_only: bool = False,
        resolver: AbstractResolver | None = None,
    ) -> None:
        self._public_only = public_only
        if public_only:
            resolver = PublicResolver(resolver or aiohttp.ThreadedResolver())
        # Placeholders such as EMPTY are no secrets, and cutting them out would change what models said.
        self._secrets = [s.encode() for s in secrets if len(s) >= LEAST_SECRET_CHARACTERS]
        self._timeout_s = timeout_s
        # An unbounded pool runs out of ports under load; the limiter keeps below this anyway.
        pool = aiohttp.TCPConnector(limit=parallel + 8, ttl_dns_cache=300, resolver=resolver)
        self._session = self._on(pool)
        # Looks have connections of their own: a server that closes one after a 500 unsaid would lose the next question.
        self._looks = self._on(aiohttp.TCPConnector(force_close=True, ttl_dns_cache=300, resolver=resolver))

    def _on(self, connector: aiohttp.TCPConnector) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=connector,
            timeout=_timeout(self._timeout_s),
            read_bufsize=READ_BUFFER_BYTES,
            auto_decompress=True,
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    async def get(
        self, url: str, headers: Mapping[str, str], *, timeout_s: float | None = None
    ) -> HttpResponse:
        extra = {} if timeout_s is None else {"timeout": _timeout(timeout_s)}
        return await self._send("GET", url, headers, None, extra)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Raises: NetworkError, RequestTimeout, BadReply (a reply without end), Forbidden (not public)."""
        return await self._send("POST", url, headers, body, {})

    async def stream(
        self, url: str, headers: Mapping[str, str], body: bytes, take: TakePiece
    ) -> HttpResponse:
        """A reply that comes in pieces: each goes to `take`, and the body stays empty.

        What is refused, or comes as JSON all the same, is in the body, and `take` hears nothing. Raises: as `post`, and
        what `take` raises.
        """
        return await self._send("POST", url, headers, body, {}, take)

    async def _send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        extra: dict[str, Any],
        take: TakePiece | None = None,
    ) -> HttpResponse:
        if self._public_only:
            need_public_literal(urlsplit(url).hostname or "")
        start = time.perf_counter()
        try:
            session = self._looks if method == "GET" else self._session
            async with session.request(
                method, url, data=body, headers=headers, allow_redirects=False, **extra
            ) as response:
                if take is not None and response.status == 200 and response.content_type not in WHOLE:
                    content = await _pieces(response, url, start, take)
                else:
                    content = await self._read(response, url)
                elapsed_s = time.perf_counter() - start
                return HttpResponse(response.status, response.headers, self.scrub(content), elapsed_s)
        except aiohttp.ConnectionTimeoutError as error:
            raise NetworkError(f"{url}: cannot connect (no answer)", away=True) from error
        except TimeoutError as error:
            limit = f"{self._timeout_s:g} s" if not extra else "the time allowed for a look"
            raise RequestTimeout(f"{url}: no complete reply within {limit}") from error
        except aiohttp.ClientConnectorError as error:
            number = error.errno or 0  # below 0 it is the name server's
            why = os.strerror(number) if number > 0 else error.strerror or error.os_error
            raise NetworkError(f"{url}: cannot connect ({why})", away=True) from error
        except (aiohttp.ClientError, asyncio.IncompleteReadError, OSError) as error:
            said = in_one_line(str(error))[:SAID_CHARACTERS] or type(error).__name__
            raise NetworkError(f"{url}: the connection broke ({said})") from error

    async def _read(self, response: aiohttp.ClientResponse, url: str) -> bytes:
        length = response.content_length
        if length is not None and length <= MAX_REPLY_BYTES:
            return await response.read()
        chunks = bytearray()
        async for chunk in response.content.iter_any():
            chunks += chunk
            if len(chunks) > MAX_REPLY_BYTES:
                raise BadReply(
                    f"{url}: the reply goes on beyond {MAX_REPLY_BYTES >> 20} MiB; stopped reading"
                )
        return bytes(chunks)

    def scrub(self, body: bytes) -> bytes:
        """The body without any key of ours: servers have been seen to quote the key they refuse."""
        for secret in self._secrets:
            if secret in body:
                body = body.replace(secret, b"[key]")
        return body

    async def close(self) -> None:
        await self._looks.close()
        await self._session.close()


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


def _timeout(total_s: float) -> aiohttp.ClientTimeout:
    """Less for the connection than for all, so that a server that lets nobody in is told from one that is slow."""
    return aiohttp.ClientTimeout(total=total_s, sock_connect=min(30.0, total_s / 2))
