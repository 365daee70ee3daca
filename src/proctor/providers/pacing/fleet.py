"""One quota for a fleet: each process takes its part of it from Redis a little ahead, and tells how requests went.

A process exchanges one message for its part some ten times a second while it asks, whatever the number of requests.
Every quarter of a second whoever comes first judges for all (`learned.py`). Members that are killed are forgotten with
their lease. Without Redis each goes on with its part of what was known last, and tries to come back.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import math
import random
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import orjson

from proctor.errors import ConfigError
from proctor.providers.pacing.learned import FleetLook, judge, read_known
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.pacing.share import Share

LOG = logging.getLogger(__name__)
EXCHANGE_S = 0.08  # between two exchanges while requests wait
IDLE_S = 0.5
LEASE_S = 3.0
AHEAD_S = 0.2  # for which moments are taken
TOLERANCE_S = 0.02  # moments that nobody took are lost after so long
TICK_S, SOON_S = 0.25, 0.05  # between two judgements, and where something was refused
KEPT_S = 600.0  # what was learned of a quota that nobody uses
ANSWER_S = 3.0  # that Redis may take
APART_S = 2.0  # moments that a process alone gives itself ahead
ALONE_S = 1.0  # between two attempts to reach Redis again


def quota_key(*parts: str, secret: str | None) -> str:
    """The name of a quota in Redis: nobody can tell from it what the key is, even by trying likely ones quickly."""
    salt = hashlib.sha256("\0".join(parts).encode()).digest()
    fingerprint = hashlib.scrypt((secret or "").encode(), salt=salt, n=2**12, r=8, p=1, dklen=16)
    return hashlib.sha256(salt + fingerprint).hexdigest()[:32]


@asynccontextmanager
async def sharing(
    redis_url: str, limiter: Limiter, key: str, *, slots: int | None = None
) -> AsyncIterator[Share]:
    """While it lasts the limiter's requests are part of the fleet's. `slots`: places that the server says it has.

    Raises: ConfigError where the client of Redis is not installed, or the address is none.
    """
    member = _Member(_client(redis_url), limiter, key, slots)
    share = limiter.share = member.share
    task = asyncio.create_task(member.stay())
    task.add_done_callback(member.ended)
    try:
        yield share
    finally:
        limiter.share = None
        member.left = True
        while not task.done():  # the client of Redis has been seen to swallow a cancellation
            task.cancel()
            await asyncio.wait({task}, timeout=ANSWER_S)
        await member.leave()


def _client(redis_url: str) -> Any:
    try:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
    except ImportError as error:
        raise ConfigError(
            "PROCTOR_REDIS_URL is set, and the client of Redis is not installed: pip install 'proctor[redis]'"
        ) from error
    try:
        return Redis.from_url(
            redis_url,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            retry=Retry(NoBackoff(), 0),
            decode_responses=True,
        )
    except ValueError as error:
        raise ConfigError(f"PROCTOR_REDIS_URL is no address of a Redis: {error}") from error


@dataclass(slots=True)
class _Member:
    """One limiter's membership."""

    client: Any
    limiter: Limiter
    key: str
    slots: int | None
    share: Share = field(init=False)
    known: dict[str, Any] = field(default_factory=dict)  # as Redis had it last
    members: int = 1
    left: bool = False
    alone_at: float = 0.0  # when the next moment is, while alone
    _name: str = field(default_factory=lambda: secrets.token_hex(8))
    _woken: asyncio.Event = field(default_factory=asyncio.Event)
    _exchange: Any = None
    _settle: Any = None

    def __post_init__(self) -> None:
        self.share = Share(self.limiter.clock, wake=self._woken.set)
        self._exchange = self.client.register_script(_lua("exchange"))
        self._settle = self.client.register_script(_lua("settle"))

    async def stay(self) -> None:
        """Exchange until cancelled. Losing Redis ends nothing and blocks nobody."""
        from redis.exceptions import RedisError

        while not self.left:
            try:
                answer = await self._tell_and_judge()
                pause_s = min(IDLE_S, max(EXCHANGE_S, answer["again"] / 1e3))
            except (RedisError, OSError, TimeoutError) as error:
                self._go_alone(error)
                pause_s = ALONE_S
            self.limiter.look()
            await self._pause(pause_s)

    def ended(self, task: asyncio.Task[None]) -> None:
        """However it ended, nobody is left waiting for a share that does not come."""
        if not self.left:
            why = None if task.cancelled() else task.exception()
            LOG.error("the fleet's quota is no longer shared: %r", why)
            self.limiter.share = None
            self.limiter.look()

    async def leave(self) -> None:
        from redis.exceptions import RedisError

        with suppress(RedisError, OSError, TimeoutError):
            if not self.share.alone:
                await self._tell_and_judge(leaves=True)
        with suppress(RedisError, OSError, TimeoutError):
            await self.client.aclose()

    @property
    def _keys(self) -> list[str]:
        return [f"proctor:quota:{{{self.key}}}:{part}" for part in ("state", "leases", "held")]

    async def _pause(self, seconds: float) -> None:
        busy = self.limiter.wanted or self.limiter.in_flight
        # Not all at the same moments.
        seconds *= random.uniform(0.8, 1.2)
        if busy:
            await asyncio.sleep(seconds)
            return
        self._woken.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                await self._woken.wait()

    async def _tell_and_judge(self, *, leaves: bool = False) -> dict[str, Any]:
        told = orjson.dumps(self._said(leaves=leaves))
        answer: dict[str, Any] = orjson.loads(await self._exchange(keys=self._keys, args=[told]))
        self._take(answer)
        if "look" in answer:
            await self._judge(answer["look"])
        return answer

    def _said(self, *, leaves: bool = False) -> dict[str, Any]:
        limiter, share = self.limiter, self.share
        told, now = share.tell(), limiter.clock()
        need = 0 if leaves else self._need()
        unused = 0
        while len(share.moments) > need and share.moments[-1] > now:
            share.moments.pop()
            unused += 1
        rates = {
            unit: {
                "age": 1e3 * (now - began),
                "limit": rate.limit,
                "remaining": rate.remaining,
                **({} if rate.reset_s is None else {"reset": 1e3 * rate.reset_s}),
            }
            for unit, (began, rate) in told.rates.items()
        }
        return {
            "member": self._name,
            "leaves": leaves,
            "in_flight": 0 if leaves else limiter.in_flight,
            "places": 0 if leaves else min(limiter.limit, limiter.in_flight + limiter.wanted),
            "moments": max(0, need - len(share.moments)),
            "unused": unused,
            "first": self.slots or limiter.pacing.start,
            "luck": random.random(),
            "version": self.known.get("version", ""),
            **({"known": self.known} if self.known else {}),  # null would be something to Lua
            "started": told.started,
            "completed": told.completed,
            "tokens": told.tokens,
            "refused": told.refused,
            "full": told.full,
            "retry": 1e3 * told.retry_after_s,
            "told": rates,
            "lease": 1e3 * LEASE_S,
            "ahead": 1e3 * AHEAD_S,
            "tolerance": 1e3 * TOLERANCE_S,
            "tick": 1e3 * TICK_S,
            "soon": 1e3 * SOON_S,
            "kept": 1e3 * KEPT_S,
        }

    def _need(self) -> int:
        """How many requests could begin until the exchange after the next."""
        limiter = self.limiter
        places = limiter.limit if self.share.places is None else min(limiter.limit, self.share.places)
        ending = math.ceil(limiter.in_flight * AHEAD_S / max(AHEAD_S, limiter.latency_s))
        return min(limiter.wanted, max(0, places - limiter.in_flight) + ending)

    def _take(self, answer: dict[str, Any]) -> None:
        share, now = self.share, self.limiter.clock()
        if share.alone:
            LOG.warning("the fleet's quota is shared again")
            share.moments.clear()
        share.ready, share.alone = True, False
        share.paced = answer.get("rate") is not None
        share.places = answer.get("places")
        share.gate = now + answer["gate"] / 1e3
        self.members = answer["members"]
        if "known" in answer:
            self.known = answer["known"]
        first, spacing = answer["first"] / 1e3, answer["spacing"] / 1e3
        share.moments.extend(now + first + n * spacing for n in range(answer["count"]))

    async def _judge(self, record: dict[str, Any]) -> None:
        """What has happened in the fleet came to this process: it concludes for all."""
        version = self.known.get("version", "0")
        before = read_known(orjson.loads(record["memory"] or "null"))
        known, allowance = judge(before, _look(record), self.limiter.pacing.start, self.slots)
        bounds = ["" if bound is None else bound for bound in (allowance.rate, allowance.window)]
        memory = orjson.dumps(known).decode()
        await self._settle(keys=self._keys[:1], args=[version, memory, *bounds, 1e3 * allowance.gate_s])

    def _go_alone(self, error: Exception) -> None:
        """On with this process's part of what the fleet had, until Redis is back."""
        share, now = self.share, self.limiter.clock()
        if not share.alone:
            LOG.warning(
                "Redis cannot be asked for the fleet's quota (%s): going on with this process's part of it, 1 / %d",
                error or type(error).__name__,
                self.members,
            )
            self.alone_at = now
        share.ready = share.alone = True
        rate, window = self.known.get("rate"), self.known.get("window")
        share.places = None if window is None else max(1, int(window) // self.members)
        share.paced = rate is not None
        if rate is None:
            return
        spacing = self.members / float(rate)
        self.alone_at = max(self.alone_at, now)
        while self.alone_at < now + APART_S + ANSWER_S and len(share.moments) < 10_000:
            share.moments.append(self.alone_at)
            self.alone_at += spacing


def _look(record: dict[str, Any]) -> FleetLook:
    now = record["now"] / 1e3
    told = {
        unit: (seen["at"] / 1e3, seen["limit"], seen["remaining"], _seconds(seen.get("reset")))
        for unit, seen in (record["told"] or {}).items()
    }
    return FleetLook(
        now=now,
        span_s=record["span"] / 1e3,
        started=record["started"],
        completed=record["completed"],
        tokens=record["tokens"],
        refused=record["refused"],
        full=record["full"],
        retry_after_s=record["retry"] / 1e3,
        most_in_flight=record["most"],
        told=told,
    )


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1e3


def _lua(name: str) -> str:
    return resources.files(__package__).joinpath(f"{name}.lua").read_text(encoding="utf-8")
