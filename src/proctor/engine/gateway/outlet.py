"""What goes to the agent while it comes from the model's server: pieces in their order, and how it ends."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from proctor.engine.gateway.refusals import Refusal

NOTHING_SAID = (b"", b"data: [DONE]")  # what may follow the last event of a stream
MOST_WAITING_BYTES = 8 * 2**20  # that an agent leaves unread


def _says(piece: bytes) -> bool:
    return piece.strip() not in NOTHING_SAID


@dataclass(slots=True)
class Outlet:
    """One writes and one reads, in one event loop. `left`: nobody reads any more, and nothing is kept.

    `missed`: something came that its reader had not taken when it left. One that has read the last event of a reply
    leaves before the reply's end is known here, and has missed nothing.
    """

    left: bool = False
    missed: bool = False
    _pieces: deque[bytes] = field(default_factory=deque)
    _bytes: int = 0
    _on_its_way: bool = False  # something that the reader took and has not passed on
    _refusal: Refusal | None = None
    _ended: bool = False
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, piece: bytes) -> None:
        if self.left or not piece:
            self.missed = self.missed or _says(piece)
            return
        self._pieces.append(piece)
        self._bytes += len(piece)
        if self._bytes > MOST_WAITING_BYTES:
            self.leave()
        self._news.set()

    def end(self, refusal: Refusal | None = None) -> None:
        """All is said; with a refusal where nothing was."""
        self._ended, self._refusal = True, refusal
        self._news.set()

    def leave(self) -> None:
        self.missed = self.missed or self._on_its_way or any(map(_says, self._pieces))
        self.left = self._ended = True
        self._pieces.clear()
        self._news.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Raises: Refusal in place of the first piece."""
        while True:
            while self._pieces:
                waiting = b"".join(self._pieces)
                self._pieces.clear()
                self._bytes = 0
                self._on_its_way = _says(waiting)
                yield waiting
                self._on_its_way = False
            if self._ended:
                break
            self._news.clear()
            await self._news.wait()
        if self._refusal is not None:
            raise self._refusal
