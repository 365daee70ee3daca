"""Whose turn it is at a simulated server: slots with a line before them, and a quota a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

SlotsPolicy = Literal["queue", "refuse"]


class Slots:
    """How many requests are served at once; None is any number."""

    def __init__(self, count: int | None, policy: SlotsPolicy, queue: int | None = None) -> None:
        if count is not None and count < 1:
            raise ValueError(f"slots is {count}; a server needs at least 1, or no limit at all")
        if policy not in ("queue", "refuse"):
            raise ValueError(f"slots_policy is {policy!r}; it is 'queue' or 'refuse'")
        self.count = count
        self._turns = None if count is None else asyncio.Semaphore(count)
        self.in_line = 0
        # A server that refuses is one with no room for anybody who waits.
        self._room = 0 if policy == "refuse" else queue

    @property
    def crowded(self) -> bool:
        """True when one more request must be refused."""
        return self._room is not None and self.full and self.in_line >= self._room

    @property
    def full(self) -> bool:
        """True when one more request must wait, or be refused."""
        return self._turns is not None and self._turns.locked()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Wait in line for a slot and hold it: first come, first served."""
        if self._turns is None:
            yield
            return
        self.in_line += 1
        try:
            await self._turns.acquire()
        finally:
            self.in_line -= 1
        try:
            yield
        finally:
            self._turns.release()


class Quota:
    """So many requests a second: a bucket of tokens that holds a tenth of a second's, and at least one."""

    def __init__(self, per_second: float | None) -> None:
        self._per_second = per_second
        self._most = self._tokens = max(1.0, (per_second or 0.0) / 10.0)
        self._at = 0.0

    def takes(self, now: float) -> bool:
        if self._per_second is None:
            return True
        self._tokens = min(self._most, self._tokens + (now - self._at) * self._per_second)
        self._at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True
