"""Connections of our own: replies are taken whole however they come, and what is doubtful ends the connection."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Awaitable, Callable, Sequence

import pytest

from proctor.errors import BadReply, NetworkError, ProctorError, RequestTimeout
from proctor.providers.wire.http import Http

OK = b"HTTP/1.1 200 OK\r\n"
LENGTH = OK + b"Content-Length: 5\r\n\r\nhello"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nTrailer: z\r\n\r\n"
NEXT = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Server:
    """Writes what it was given after each request, piece by piece, and counts."""

    def __init__(self, replies: Sequence[Sequence[bytes]], *, closes: bool = False) -> None:
        self.replies, self.closes = list(replies), closes
        self.connections = 0
        self.requests: list[bytes] = []
        self.asked, self.gone = asyncio.Event(), asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while self.replies:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0] or 0)
                self.requests.append(head + await reader.readexactly(length))
                self.asked.set()
                for piece in self.replies.pop(0):
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.001)
                if self.closes:
                    break
            if not self.closes:
                await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        finally:
            self.gone.set()
            writer.close()


def asked(
    server: Callable[[], Server], times: int = 1, timeout_s: float = 10.0
) -> tuple[Server, list[object]]:
    """What a client has of as many requests in turn: bodies, or the errors."""

    async def work() -> tuple[Server, list[object]]:
        made, told = server(), []
        listening = await asyncio.start_server(made, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        http = Http(parallel=2, timeout_s=timeout_s)
        try:
            for _ in range(times):
                try:
                    told.append((await http.post(url, {"X-A": "b"}, b"{}")).body)
                except ProctorError as error:
                    told.append(error)
        finally:
            await http.close()
            listening.close()
        return made, told

    return asyncio.run(work())


def bytewise(reply: bytes) -> list[bytes]:
    return [reply[place : place + 1] for place in range(len(reply))]


@pytest.mark.parametrize("reply", [LENGTH, CHUNKED, b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH])
@pytest.mark.parametrize("cut", [lambda reply: [reply], bytewise])
def test_a_reply_is_whole_however_its_bytes_come_and_its_connection_serves_the_next(reply, cut):
    server, told = asked(lambda: Server([cut(reply), [NEXT]]), times=2)
    assert told == [b"hello", b"next"] and server.connections == 1
    assert server.requests[0].startswith(b"POST /v1 HTTP/1.1\r\nHost: 127.0.0.1:")
    assert server.requests[0].endswith(b"X-A: b\r\nContent-Length: 2\r\n\r\n{}")


@pytest.mark.parametrize(
    "reply",
    [
        OK + b"Connection: close\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        LENGTH + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong",
        OK + b"Content-Length: 99\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    ],
)
def test_a_connection_that_may_hold_anything_else_is_not_used_again(reply):
    server, told = asked(lambda: Server([[reply], [NEXT]]), times=2)
    assert told == [b"hello", b"next"] and server.connections == 2


def test_a_body_without_a_length_ends_with_its_connection():
    assert asked(lambda: Server([[OK + b"\r\n", b"hel", b"lo"]], closes=True))[1] == [b"hello"]


def test_a_packed_body_is_unpacked():
    flat = zlib.compressobj(wbits=-15)
    bodies = {"gzip": gzip.compress(b"hello"), "deflate": zlib.compress(b"hello")}
    bodies["Deflate"] = flat.compress(b"hello") + flat.flush()
    for coding, body in bodies.items():
        reply = OK + f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
        assert asked(lambda reply=reply: Server([[reply]]))[1] == [b"hello"], coding


@pytest.mark.parametrize(
    "reply",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        OK + b"Content-Length: +5\r\n\r\nhello",
        OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
        OK + b"Content-Length : 5\r\n\r\nhello",
        OK + b"X: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n0\r\n\r\n",
        OK + b"Content-Encoding: br\r\nContent-Length: 5\r\n\r\nhello",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 20,
        OK + b"X: " + b"y" * 80_000,
    ],
)
def test_what_can_be_read_in_two_ways_ends_the_connection(reply):
    server, told = asked(lambda: Server([[reply], [NEXT]]), times=2)
    assert isinstance(told[0], NetworkError) and told[1] == b"next"
    assert server.connections == 2


@pytest.mark.parametrize("reply", [b"", OK, OK + b"Content-Length: 9\r\n\r\nhello", CHUNKED[:-9]])
def test_a_reply_that_is_cut_off_is_none(reply):
    (told,) = asked(lambda: Server([[reply]], closes=True))[1]
    assert isinstance(told, NetworkError) and "the connection broke" in str(told)


@pytest.mark.parametrize(
    "reply",
    [
        OK + b"Content-Length: 99999999999\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
        OK
        + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b"
        % (len(bomb := gzip.compress(bytes(40 * 2**20))), bomb),
    ],
)
def test_a_body_beyond_all_measure_is_not_read(reply):
    (told,) = asked(lambda: Server([[reply]]))[1]
    assert isinstance(told, BadReply) and "32 MiB" in str(told)


def test_a_server_that_says_nothing_is_left_and_its_late_reply_answers_no_other_request():
    server, told = asked(lambda: Server([[OK], [NEXT]]), times=2, timeout_s=1.0)
    assert isinstance(told[0], RequestTimeout) and told[1] == b"next"
    assert server.connections == 2


def test_a_request_that_is_given_up_closes_its_connection():
    async def work() -> None:
        server = Server([[OK], [NEXT]])
        listening = await asyncio.start_server(server, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        http = Http(parallel=2, timeout_s=30)
        asking = asyncio.create_task(http.post(url, {}, b"{}"))
        await asyncio.wait_for(server.asked.wait(), 10)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await asyncio.wait_for(server.gone.wait(), 10)
        assert (await http.post(url, {}, b"{}")).body == b"next"
        await http.close()
        listening.close()

    asyncio.run(work())


def test_a_header_cannot_smuggle_another_request():
    async def work() -> None:
        http = Http(parallel=1, timeout_s=5)
        try:
            with pytest.raises(ValueError, match="end of a line"):
                await http.post("http://127.0.0.1:9/", {"X": "a\r\nY: b"}, b"")
        finally:
            await http.close()

    asyncio.run(work())
