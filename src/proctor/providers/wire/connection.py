"""One HTTP/1.1 connection of our own: one request at a time, and a reply that is read whole (RFC 9112).

It takes what model servers send, and nothing doubtful: what two readers could understand differently ends the
connection. After a reply that ends with the connection, or has bytes behind it, it is not used again.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import cast

MAX_HEAD_BYTES = (
    64 * 2**10
)  # status line and headers; also the trailers of a chunked body, and a chunk's size line
MAX_INTERIM = 8  # 1xx answers before the one that counts
_END = b"\r\n\r\n"
_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HEX = frozenset(b"0123456789abcdefABCDEF")
_CODINGS = ("gzip", "x-gzip", "deflate")


class BrokenReply(Exception):
    """What came is no whole HTTP reply: cut off, or not to be understood in one way alone."""


class TooLong(Exception):
    """A body beyond what is read."""


class Headers(Mapping[str, str]):
    """Headers of a reply by name in any case; of several with one name the first."""

    __slots__ = ("_by_name",)

    def __init__(self, by_name: dict[str, str]) -> None:
        self._by_name = by_name  # names in lower case

    def __getitem__(self, name: str) -> str:
        return self._by_name[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._by_name)


Whole = tuple[int, Headers, bytes]  # status, headers, body


class Connection(asyncio.Protocol):
    """Made by the event loop. `ask` sends one request; `idle` says whether it may be used for another one."""

    def __init__(self, most_bytes: int, gone: Callable[[Connection], None]) -> None:
        self._most_bytes = most_bytes
        self._gone = gone
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[Whole] | None = None
        self._loop = asyncio.get_running_loop()
        self.since = 0.0  # when it became idle, by the loop's clock
        self._begin()

    def _begin(self) -> None:
        """Nothing of a reply is here yet."""
        self._buffer = bytearray()
        self._status = 0
        self._headers = Headers({})
        self._read: Callable[[], bool] = (
            self._read_head
        )  # reads what it can; True while there may be more to read
        self._length = 0  # of the body, or of the chunk that is being read
        self._body = bytearray()
        self._interim = 0
        self._reusable = True

    # Asking -------------------------------------------------------------------------------------

    @property
    def idle(self) -> bool:
        return self._waiter is None and self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: bytes, timeout_s: float) -> Whole:
        """Send a whole request and wait for the whole reply.

        Raises: BrokenReply, TooLong, TimeoutError, OSError of the connection. However it ends but by a reply, the
        connection is closed: what might still come would be taken for the answer to another question.
        """
        if not self.idle:
            raise BrokenReply("Server disconnected")
        assert self._transport is not None
        self._waiter = self._loop.create_future()
        timer = self._loop.call_later(timeout_s, self._fail, TimeoutError())
        try:
            self._transport.write(request)
            return await self._waiter
        finally:
            timer.cancel()
            if not self._waiter.done() or self._waiter.cancelled() or self._waiter.exception() is not None:
                self.abort()
            self._waiter = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _fail(self, error: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    # What the loop tells ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        if self._waiter is None or self._waiter.done():
            self.abort()  # nobody asked
            return
        self._buffer += data
        try:
            while self._read():
                pass
        except (BrokenReply, TooLong) as error:
            self._fail(error)

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._gone(self)
        if self._waiter is None or self._waiter.done():
            return
        if error is not None:
            self._fail(error)
        elif self._read == self._read_to_end:
            self._finish()
        else:
            began = self._status or self._buffer
            self._fail(BrokenReply("the reply is cut off" if began else "Server disconnected"))

    # Reading ------------------------------------------------------------------------------------

    def _read_head(self) -> bool:
        end = self._buffer.find(_END)
        if end < 0 or end > MAX_HEAD_BYTES:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise BrokenReply("the headers have no end")
            return False
        status_line, *lines = bytes(self._buffer[:end]).split(b"\r\n")
        del self._buffer[: end + 4]
        version, self._status = status_of(status_line)
        if 100 <= self._status < 200:
            self._interim += 1
            if self._status == 101 or self._interim > MAX_INTERIM:
                raise BrokenReply(f"status {self._status}, which nobody asked for")
            return True
        self._headers = Headers(headers_of(lines))
        told = self._headers.get("connection", "").lower()
        self._reusable = "close" not in told and (version != b"HTTP/1.0" or "keep-alive" in told)
        self._frame()
        return True

    def _frame(self) -> None:
        """How the body ends (RFC 9112, 6.3)."""
        coding, length = self._headers.get("transfer-encoding"), self._headers.get("content-length")
        if self._status in (204, 304):
            self._length, self._read = 0, self._read_length
        elif coding is not None:
            if coding.strip().lower() != "chunked":
                raise BrokenReply(f"transfer coding {coding[:40]!r}")
            if length is not None:
                self._reusable = False  # one of the two is a lie
            self._read = self._read_size
        elif length is not None:
            if not (length.isascii() and length.isdigit()) or len(length) > 18:
                raise BrokenReply(f"content length {length[:40]!r}")
            self._length, self._read = int(length), self._read_length
            if self._length > self._most_bytes:
                raise TooLong
        else:
            self._reusable, self._read = False, self._read_to_end

    def _read_length(self) -> bool:
        if len(self._buffer) < self._length:
            return False
        self._body = self._buffer
        self._buffer = self._body[self._length :]
        del self._body[self._length :]
        return self._finish()

    def _read_to_end(self) -> bool:
        self._take(len(self._buffer))
        return False

    def _read_size(self) -> bool:
        line = self._line()
        if line is None:
            return False
        size = line.partition(b";")[0].strip(b" \t")
        if not size or len(size) > 16 or not _HEX.issuperset(size):
            raise BrokenReply("the size of a chunk is no number")
        self._length = int(size, 16)
        self._read = self._read_chunk if self._length else self._read_trailers
        return True

    def _read_chunk(self) -> bool:
        if self._length > self._most_bytes:
            raise TooLong
        if len(self._buffer) < self._length + 2:
            return False
        if self._buffer[self._length : self._length + 2] != b"\r\n":
            raise BrokenReply("a chunk is longer than it says")
        self._take(self._length)
        del self._buffer[:2]
        self._read = self._read_size
        return True

    def _read_trailers(self) -> bool:
        while (line := self._line()) is not None:
            if not line:
                return self._finish()
            self._interim += len(line) + 2
            if self._interim > MAX_HEAD_BYTES:
                raise BrokenReply("the trailers have no end")
        return False

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0 or end > MAX_HEAD_BYTES:
            if len(self._buffer) > MAX_HEAD_BYTES:
                raise BrokenReply("a line of a chunked body has no end")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _take(self, count: int) -> None:
        if len(self._body) + count > self._most_bytes:
            raise TooLong
        self._body += self._buffer[:count]
        del self._buffer[:count]

    def _finish(self) -> bool:
        """Hand the reply over, and be ready for another request, or end."""
        body = bytes(self._body)
        if (coding := self._headers.get("content-encoding", "identity").lower()) not in ("identity", ""):
            body = decoded(body, coding, self._most_bytes)
        told = self._status, self._headers, body
        transport, left = self._transport, self._buffer
        if transport is not None and (not self._reusable or left or transport.get_write_buffer_size()):
            transport.close()
        self._begin()
        self.since = self._loop.time()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(told)
        return False


def status_of(line: bytes) -> tuple[bytes, int]:
    """The version and the status of a reply's first line.

    >>> status_of(b"HTTP/1.1 200 OK")
    (b'HTTP/1.1', 200)
    """
    version, _, rest = line.partition(b" ")
    code = rest[:3]
    if (
        version not in (b"HTTP/1.1", b"HTTP/1.0")
        or not (len(code) == 3 and code.isdigit())
        or rest[3:4].strip()
    ):
        raise BrokenReply(f"no HTTP reply but {line[:40].decode('latin-1')!r}")
    return version, int(code)


def headers_of(lines: list[bytes]) -> dict[str, str]:
    """The headers by name in lower case; the first of each name. Two content lengths must be one.

    >>> headers_of([b"Content-Length: 5", b"X-A: b"])
    {'content-length': '5', 'x-a': 'b'}
    """
    found: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        # A name with a space behind it, and a line that goes on, are read differently by different programs.
        if (
            not colon
            or not name
            or not _TOKEN.issuperset(name)
            or b"\r" in value
            or b"\n" in value
            or b"\0" in value
        ):
            raise BrokenReply(f"no header but {line[:40].decode('latin-1')!r}")
        key, text = name.decode("ascii").lower(), value.strip(b" \t").decode("utf-8", "surrogateescape")
        if found.setdefault(key, text) != text and key in ("content-length", "transfer-encoding"):
            raise BrokenReply(f"two headers {key} that differ")
    return found


def decoded(body: bytes, coding: str, most_bytes: int) -> bytes:
    """A body that came packed although nobody asked for that. Raises: BrokenReply, TooLong."""
    if coding not in _CODINGS:
        raise BrokenReply(f"content encoding {coding[:40]!r}")
    raw = coding == "deflate" and body[:1] and body[0] & 0x0F != 8  # some leave zlib's header out
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS if raw else zlib.MAX_WBITS | 32)
    try:
        found = unpacker.decompress(body, most_bytes + 1)
    except zlib.error as error:
        raise BrokenReply(f"the body is no {coding}: {error}") from None
    if len(found) > most_bytes:
        raise TooLong
    if not unpacker.eof:
        raise BrokenReply("the packed body is cut off")
    return found
