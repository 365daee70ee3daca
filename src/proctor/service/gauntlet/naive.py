"""A gateway that hands on whatever it gets and puts the key into it: the control of exploits against gateways.

It bounds nothing, looks at its budget once for each connection, counts a reply once it was handed over whole, takes
replies of one x-request-id for one, and believes what the agent's log says of tokens.
"""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

MOST_AT_ONCE = 1 << 21
TOKENS = re.compile(rb'"total_tokens": ?(\d+)')
SAID = re.compile(r'^\{"type": "turn\.completed", "usage": (\{[^}]*\})', re.MULTILINE)


@dataclass(slots=True)
class OpenGateway:
    """In front of the server at `upstream`, with its key; `budget` in tokens."""

    upstream: str
    key: str
    budget: float
    counts: dict[str, int] = field(default_factory=dict)
    _server: asyncio.Server | None = None
    _open: set[asyncio.StreamWriter] = field(default_factory=set)

    async def begin(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=MOST_AT_ONCE)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for each in self._open:
            each.close()

    def counted(self, log: Path) -> int:
        """The tokens of the log, where it tells of any."""
        said = SAID.findall(log.read_text(errors="replace")) if log.is_file() else []
        if said:
            return sum(int(value) for each in said for value in json.loads(each).values())
        return sum(self.counts.values())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        with suppress(OSError, ValueError):
            await self._handed_on(reader, writer)
        writer.close()
        self._open.discard(writer)

    async def _handed_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await _head(reader)
        method, target, _ = head.split(b"\r\n")[0].decode("latin-1").split(" ", 2)
        if sum(self.counts.values()) >= self.budget:
            return
        there = urlsplit(
            f"//{target}" if method == "CONNECT" else target if "://" in target else self.upstream
        )
        other, to = await asyncio.open_connection(there.hostname, there.port)
        if method != "CONNECT":
            to.write(self._with_key(head, target))
        ident = next((line for line in head.split(b"\r\n") if line.lower().startswith(b"x-request-id")), b"")
        sending = asyncio.create_task(_pumped(reader, to))
        self._open.add(to)
        said = await _pumped(other, writer)
        sending.cancel()
        to.close()
        self._open.discard(to)
        tokens = TOKENS.findall(said)
        if tokens and not reader.at_eof():
            self.counts[ident.decode("latin-1") or str(len(self.counts))] = sum(map(int, tokens))

    def _with_key(self, head: bytes, target: str) -> bytes:
        path = "/" + target.split("/", 3)[3] if "://" in target else target
        lines, _, body = head.partition(b"\r\n\r\n")
        first, *rest = lines.split(b"\r\n")
        kept = [line for line in rest if not line.lower().startswith(b"authorization:")]
        line = first.replace(target.encode("latin-1"), path.encode("latin-1"))
        return b"\r\n".join([line, b"Authorization: Bearer " + self.key.encode(), *kept, b"", body])


async def _head(reader: asyncio.StreamReader) -> bytes:
    """However long it is; with the beginning of the body."""
    found = bytearray()
    while b"\r\n\r\n" not in found[-MOST_AT_ONCE:]:
        piece = await reader.read(MOST_AT_ONCE // 2)
        if not piece:
            raise ConnectionResetError
        found += piece
    return bytes(found)


async def _pumped(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> bytes:
    """All of it, also once nobody takes it any more."""
    found = bytearray()
    while piece := await source.read(1 << 20):
        found += piece
        to.write(piece)
        await to.drain()
    return bytes(found)
