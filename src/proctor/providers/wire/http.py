"""HTTP for all providers: sends bytes, times the wire, turns broken connections into typed errors."""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from proctor.errors import BadReply, NetworkError, RequestTimeout, in_one_line
from proctor.providers.wire.connection import BrokenReply, TooLong
from proctor.providers.wire.pool import NoConnection, Pool, Site, place_of, request_of
from proctor.providers.wire.reach import need_public_literal

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

    from proctor.providers.wire.library import Library

MAX_REPLY_BYTES = 32 * 2**20
MAX_STREAM_BYTES = 512 * 2**20  # each token comes with some hundred bytes around it
CONNECT_S = 30.0
LEAST_SECRET_CHARACTERS = 8
SAID_CHARACTERS = 300  # of what a server says in words that are no answer


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A whole HTTP answer. `elapsed_s` runs from the first byte sent to the last byte read."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a request may take, and of that a connection, so that a server that lets nobody in is told from one
    that is slow.
    """

    total_s: float
    told: str

    @property
    def connect_s(self) -> float:
        return min(CONNECT_S, self.total_s / 2)


# Is given each piece of a stream, and when it was read (seconds since the request); True once all has been said.
TakePiece = Callable[[bytes, float], bool]
# Is given the headers of an answer to a POST, and the seconds since its request began.
HearHeaders = Callable[[Mapping[str, str], float], None]


class Http:
    """Opened inside a running event loop; `close` it there. Keys in `secrets` never come out in a body.

    `public_only`: every request is for an address that somebody else named, so nothing but public ones is asked.
    `resolver` looks names up; None: the system's. Redirects are not followed. Plain requests go over connections of
    our own, the rest through an HTTP library.
    `heard`, where somebody sets it, is given the headers of every answer to a question.
    """

    heard: HearHeaders | None = None

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
        self._resolver = resolver
        # Placeholders such as EMPTY are no secrets, and cutting them out would change what models said.
        self._secrets = [s.encode() for s in secrets if len(s) >= LEAST_SECRET_CHARACTERS]
        self._patience = Patience(timeout_s, f"{timeout_s:g} s")
        self._most = parallel + 8  # the limiter keeps below this
        self._plain = Pool(most=self._most, most_bytes=MAX_REPLY_BYTES)
        self._library: Library | None = None

    async def get(
        self, url: str, headers: Mapping[str, str], *, timeout_s: float | None = None
    ) -> HttpResponse:
        patience = self._patience if timeout_s is None else Patience(timeout_s, "the time allowed for a look")
        return await self._send("GET", url, headers, None, patience)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpResponse:
        """Raises: NetworkError, RequestTimeout, BadReply (a reply without end), Forbidden (not public)."""
        return await self._send("POST", url, headers, body, self._patience)

    async def stream(
        self, url: str, headers: Mapping[str, str], body: bytes, take: TakePiece
    ) -> HttpResponse:
        """A reply that comes in pieces: each goes to `take`, and the body stays empty.

        What is refused, or comes as JSON all the same, is in the body, and `take` hears nothing. Raises: as `post`, and
        what `take` raises.
        """
        return await self._by_library("POST", url, headers, body, self._patience, take)

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None, patience: Patience
    ) -> HttpResponse:
        place = None if self._public_only or self._resolver else place_of(url)
        if place is None:
            return await self._by_library(method, url, headers, body, patience)
        site, target = place
        # Looks have connections of their own: a server that closes one after a 500 unsaid would lose the next question.
        keep = method != "GET"
        request = request_of(method, site, target, headers, body, keep=keep)
        return await self._asked(url, site, request, patience, keep=keep)

    async def _asked(
        self, url: str, site: Site, request: bytes, patience: Patience, *, keep: bool
    ) -> HttpResponse:
        start = time.perf_counter()
        try:
            status, headers, content = await self._plain.ask(
                site, request, timeout_s=patience.total_s, connect_s=patience.connect_s, keep=keep
            )
        except NoConnection as none:
            raise NetworkError(f"{url}: cannot connect ({_why(none.__cause__)})", away=True) from none
        except TooLong:
            raise endless(url) from None
        except TimeoutError as error:
            raise RequestTimeout(f"{url}: no complete reply within {patience.told}") from error
        except (BrokenReply, OSError) as error:
            raise NetworkError(f"{url}: the connection broke ({said_of(error)})") from error
        if self.heard is not None and keep:
            self.heard(headers, time.perf_counter() - start)
        return HttpResponse(status, headers, self.scrub(content), time.perf_counter() - start)

    async def _by_library(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        patience: Patience,
        take: TakePiece | None = None,
    ) -> HttpResponse:
        from proctor.providers.wire.library import Library, Sent

        if self._public_only:
            need_public_literal(urlsplit(url).hostname or "")
        if self._library is None:
            self._library = Library(most=self._most, public_only=self._public_only, resolver=self._resolver)
        answer = await self._library.send(Sent(method, url, headers, body, patience, self.heard), take)
        return HttpResponse(answer.status, answer.headers, self.scrub(answer.body), answer.elapsed_s)

    def scrub(self, body: bytes) -> bytes:
        """The body without any key of ours: servers have been seen to quote the key they refuse."""
        for secret in self._secrets:
            if secret in body:
                body = body.replace(secret, b"[key]")
        return body

    async def close(self) -> None:
        await self._plain.close()
        if self._library is not None:
            await self._library.close()


def said_of(error: BaseException) -> str:
    """What broke, in words that are not as long as what a server may send."""
    return in_one_line(str(error))[:SAID_CHARACTERS] or type(error).__name__


def endless(url: str) -> BadReply:
    return BadReply(f"{url}: the reply goes on beyond {MAX_REPLY_BYTES >> 20} MiB; stopped reading")


def _why(error: BaseException | None) -> str:
    """Why there is no connection, in the system's words."""
    if isinstance(error, ssl.SSLError):
        return str(error)
    number = getattr(error, "errno", None) or 0  # below 0 it is the name server's
    if number > 0:
        return os.strerror(number)
    return getattr(error, "strerror", None) or str(error) or "no answer"
