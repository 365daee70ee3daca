"""Fetching over HTTPS from a hub of data sets: listings by commit, and files that are checked on arrival."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import quote, urlsplit

import aiohttp
import orjson

from proctor.errors import DataError
from proctor.sources.exams.official.archives import FILE_LIMIT_BYTES

TRIES = 3
LONGEST_PAUSE_S = 30.0
CONNECT_S = 30.0
SILENCE_S = 60.0
PARALLEL = 4
SHA256 = re.compile(r"[0-9a-f]{64}")
COMMIT = re.compile(r"[0-9a-f]{40}")
REFUSED: Mapping[int, str] = {
    401: "access was refused (401): the data set needs an account, or HF_TOKEN is wrong",
    403: "access was refused (403): accept the data set's terms on the hub, or set HF_TOKEN",
    404: "not found (404)",
    429: "the hub asks to wait (429): too many requests",
}

Progress = Callable[[int, int], None]  # bytes done, bytes of all files begun so far
Pause = Callable[[float], Awaitable[None]]


class Unsettled(Exception):
    """A request that may succeed when it is sent again; `after_s` is the server's own delay."""

    def __init__(self, reason: str, after_s: float | None = None) -> None:
        super().__init__(reason)
        self.after_s = after_s


class Refused(Exception):
    """A request that would be refused again."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A whole answer and the headers of every answer on the way to it, the first one's winning."""

    body: bytes
    headers: Mapping[str, str]


@dataclass(slots=True)
class DownloadMeter:
    """Bytes done and expected, told to whoever shows them."""

    tell: Progress | None
    done_bytes: int = 0
    total_bytes: int = 0

    def add(self, *, done: int = 0, total: int = 0) -> None:
        self.done_bytes += done
        self.total_bytes += total
        if self.tell is not None:
            self.tell(self.done_bytes, self.total_bytes)


@dataclass(frozen=True, slots=True)
class Hub:
    """An open session with a hub. `token` goes to the endpoint's own host and nowhere else."""

    session: aiohttp.ClientSession
    endpoint: str
    token: str | None = field(repr=False)
    meter: DownloadMeter
    pause: Pause
    slots: asyncio.Semaphore

    async def listing(self, dataset: str, revision: str) -> tuple[str, list[str]]:
        """The commit that a revision names, and the files in it. Raises: DataError."""
        url = f"{self.endpoint}/api/datasets/{quote(dataset)}/revision/{quote(revision, safe='')}"
        answer = await self.fetch(url, metered=False)
        try:
            parsed = orjson.loads(answer.body)
            commit, files = parsed["sha"], [sibling["rfilename"] for sibling in parsed["siblings"]]
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise DataError(f"{url}: not the hub's description of a data set") from None
        if not isinstance(commit, str) or not COMMIT.fullmatch(commit):
            raise DataError(f"{url}: the hub names no commit (sha is {commit!r})")
        return commit, files

    async def file(self, dataset: str, commit: str, path: str) -> bytes:
        """A file of a commit, as long and with the hash that the hub says. Raises: DataError."""
        url = f"{self.endpoint}/datasets/{quote(dataset)}/resolve/{commit}/{quote(path)}"
        answer = await self.fetch(url)
        check(answer, url, commit)
        return answer.body

    async def fetch(self, url: str, *, metered: bool = True) -> Fetched:
        """A whole answer, asked for up to three times. Raises: DataError naming the address."""
        for attempt in range(1, TRIES + 1):
            try:
                async with self.slots:
                    return await self._once(url, metered)
            except Refused as refusal:
                raise DataError(f"{url}: {refusal}") from None
            except Unsettled as trouble:
                if attempt == TRIES:
                    raise DataError(f"{url}: {trouble} (tried {TRIES} times)") from None
                await self.pause(min(trouble.after_s or 2.0**attempt, LONGEST_PAUSE_S))
        raise AssertionError("unreachable: the last try returns or raises")

    async def _once(self, url: str, metered: bool) -> Fetched:
        meter = self.meter if metered else DownloadMeter(None)
        body = bytearray()
        total_bytes = 0
        try:
            async with self.session.get(url, headers=self._headers(url)) as response:
                settle(response)
                headers = merged(response)
                total_bytes = number(headers, "x-linked-size") or response.content_length or 0
                meter.add(total=total_bytes)
                async for chunk in response.content.iter_any():
                    body += chunk
                    meter.add(done=len(chunk))
                    if len(body) > FILE_LIMIT_BYTES:
                        raise DataError(f"{url}: larger than {FILE_LIMIT_BYTES // 2**20} MB; no known set is")
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            # Nobody there, no name or no way out: asking again would only make a machine without a net wait.
            raise Refused(f"cannot connect ({error})") from None
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            meter.add(done=-len(body), total=-total_bytes)  # it will be fetched from its beginning
            raise Unsettled(f"the connection broke ({error or type(error).__name__})") from None
        return Fetched(bytes(body), headers)

    def _headers(self, url: str) -> dict[str, str]:
        if self.token and urlsplit(url).netloc == urlsplit(self.endpoint).netloc:
            return {"Authorization": f"Bearer {self.token}"}
        return {}


def settle(response: aiohttp.ClientResponse) -> None:
    """Nothing for 200. Raises: Refused, or Unsettled where it is worth asking again."""
    status = response.status
    if status == 200:
        return
    reason = REFUSED.get(status, f"the hub answered {status}")
    if status == 429 or status >= 500:
        raise Unsettled(reason, number(response.headers, "retry-after"))
    raise Refused(reason)


def merged(response: aiohttp.ClientResponse) -> dict[str, str]:
    """The headers of the answer and of the redirects to it; the hub's own, which came first, win."""
    headers: dict[str, str] = {}
    for each in (*response.history, response):
        for name, value in each.headers.items():
            headers.setdefault(name.lower(), value)
    return headers


def number(headers: Mapping[str, str], name: str) -> int | None:
    value = headers.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() else None


def check(answer: Fetched, url: str, commit: str) -> None:
    """Raises: DataError unless the file has the size, the hash and the commit that the hub stated."""
    size = number(answer.headers, "x-linked-size")
    if size is not None and size != len(answer.body):
        raise DataError(f"{url}: {len(answer.body):,} bytes came, the hub says {size:,}; try again")
    stated = answer.headers.get("x-linked-etag", "").removeprefix("W/").strip('"')
    if SHA256.fullmatch(stated) and hashlib.sha256(answer.body).hexdigest() != stated:
        raise DataError(f"{url}: what came has another SHA-256 than the hub says; try again")
    served = answer.headers.get("x-repo-commit", commit)
    if served != commit:
        raise DataError(f"{url}: the hub served commit {served[:12]}, not {commit[:12]}")


@asynccontextmanager
async def open_hub(
    endpoint: str, token: str | None, tell: Progress | None, pause: Pause = asyncio.sleep
) -> AsyncIterator[Hub]:
    """A hub to fetch from while the context lasts. HTTPS_PROXY and its kin are honoured."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S, sock_read=SILENCE_S)
    async with aiohttp.ClientSession(
        timeout=timeout, trust_env=True, cookie_jar=aiohttp.DummyCookieJar()
    ) as session:
        yield Hub(session, endpoint, token, DownloadMeter(tell), pause, asyncio.Semaphore(PARALLEL))
