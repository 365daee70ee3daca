"""Which models an Ollama server has in memory: loaded when they are asked for, unloaded when idle or in the way."""

from __future__ import annotations

import asyncio
import math
import re
import time
from dataclasses import dataclass, field
from typing import Any

FOR_EVER = math.inf

_UNITS_S = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s|m|h)")


@dataclass(frozen=True, slots=True)
class Room:
    """How many models fit, for how long an idle one is kept, and how long loading takes.

    Other than Ollama's own (3, 5 minutes), the defaults forget nothing, so that only who asks for it meets a load.
    """

    models: int | None = None
    keep_alive_s: float = FOR_EVER
    load_s: float = 0.0


@dataclass(slots=True)
class Resident:
    """A model in memory. A request with other `options` than these has it loaded anew."""

    options: tuple[object, ...]
    context_tokens: int
    keep_alive_s: float
    users: int = 0
    expires_at: float = FOR_EVER  # Unix time


@dataclass(slots=True)
class Memory:
    """Loads one model at a time, and makes everybody else wait while it does."""

    room: Room
    residents: dict[str, Resident] = field(default_factory=dict)
    loads: int = 0
    _loading: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def take(
        self, name: str, options: tuple[object, ...], context_tokens: int, keep_alive_s: float | None
    ) -> float:
        """Have the model in memory and use it; says for how many seconds that took. `leave` must follow."""
        began = time.monotonic()
        async with self._loading:
            self._expire()
            resident = self.residents.get(name)
            loads = resident is None or resident.options != options
            if loads:
                await self._load(name)
                resident = Resident(options, context_tokens, self.room.keep_alive_s)
                self.residents[name] = resident
            assert resident is not None
            if keep_alive_s is not None:
                resident.keep_alive_s = keep_alive_s
            resident.users += 1
            resident.expires_at = FOR_EVER
        return time.monotonic() - began if loads or self.room.load_s else 0.0

    def leave(self, name: str) -> None:
        resident = self.residents.get(name)
        if resident is None:
            return  # loaded anew or unloaded meanwhile
        resident.users = max(0, resident.users - 1)
        if not resident.users:
            resident.expires_at = time.time() + resident.keep_alive_s
            self._expire()

    def now(self) -> dict[str, Resident]:
        """What is in memory now, in the order of loading."""
        self._expire()
        return self.residents

    async def _load(self, name: str) -> None:
        self.residents.pop(name, None)
        if self.room.models is not None:
            while len(self.residents) >= self.room.models:
                del self.residents[self._next_to_go()]
        self.loads += 1
        if self.room.load_s:
            await asyncio.sleep(self.room.load_s)

    def _next_to_go(self) -> str:
        """As in Ollama: an idle one first, then the one that is kept for the shortest time, then by name."""
        return min(self.residents, key=lambda n: (self.residents[n].users, self.residents[n].keep_alive_s, n))

    def _expire(self) -> None:
        now = time.time()
        for name in [n for n, resident in self.residents.items() if resident.expires_at <= now]:
            del self.residents[name]


def keep_alive(value: Any) -> float | None:
    """Seconds, from what a request says: a number of seconds, or 5m; below 0 is for ever, nothing is None.

    >>> keep_alive("1h30m"), keep_alive(300), keep_alive("-1"), keep_alive(None)
    (5400.0, 300.0, inf, None)

    Raises: ValueError.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = _seconds(value.strip())
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"invalid keep_alive: {value!r}")
    return float(value) if value >= 0 else FOR_EVER


def _seconds(text: str) -> float:
    sign, rest = (-1.0, text[1:]) if text.startswith("-") else (1.0, text)
    if rest.isdigit():
        return sign * float(rest)
    parts = _PART.findall(rest)
    if not parts or "".join(number + unit for number, unit in parts) != rest:
        raise ValueError(f"invalid keep_alive: time: invalid duration {text!r}")
    return sign * sum(float(number) * _UNITS_S[unit] for number, unit in parts)
