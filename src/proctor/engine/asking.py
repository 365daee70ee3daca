"""The model behind agents: one for all trials of a run, asked from this machine, so that no key enters a sandbox."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from proctor.engine.clock import StandingClock, WorkClock
from proctor.engine.outage import Outage
from proctor.engine.paced import paced
from proctor.engine.retry import Retry
from proctor.errors import AgentModelError, AttemptError, ContextOverflow, ErrorBudget
from proctor.offered import ListedModel
from proctor.providers.contract import Provider
from proctor.providers.pacing.limiter import Limiter
from proctor.types import NOTHING_USED, Chat, Item, Message, Reply, Usage


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model said. `unused` is what the server told of requests whose replies were of no use."""

    reply: Reply
    retries: int = 0
    unused: Usage = NOTHING_USED


@dataclass(slots=True)
class _Tried:
    """What one call has come to so far: requests that are sent `again` stand before all others in line."""

    again: bool = False
    retries: int = 0
    unused: Usage = NOTHING_USED
    began: float = 0.0  # when the last one was sent


@dataclass(slots=True)
class AskedModel:
    """Requests of agents have places of their own, apart from those of trials: as many as the server has room for."""

    provider: Provider
    outage: Outage
    retry: Retry = field(default_factory=Retry)
    _limiter: Limiter | None = None

    async def check(self) -> ListedModel:
        """Raises: what the provider's own check does."""
        listed = await self.provider.check()
        # How many it may be asked at once is known once it has said what it is.
        if self.provider.pacing is not None:
            self._limiter = Limiter(self.provider.pacing)
        return listed

    async def ask(
        self, messages: Sequence[Message], clock: WorkClock, *, most: int | None = None, rollout: int = 0
    ) -> ModelAnswer:
        """The reply to a conversation, of at most `most` tokens, while the agent has time. Raises: as `sent`;
        TimeoutError where the agent's own time is over before the reply is there.
        """
        item = Item("", "", Chat(tuple(messages), most))

        async def send() -> Reply:
            async with asyncio.timeout(clock.left_s):
                return await self.provider(item, rollout)

        return await self.sent(send, clock)

    async def sent(self, send: Callable[[], Awaitable[Reply]], clock: StandingClock) -> ModelAnswer:
        """What `send` gives in a place at the server.

        What may pass is sent again and a server that is away is waited for, while the clock stands. Raises:
        ContextOverflow; AgentModelError; ErrorBudget where the server does not come back; AuthError and its like, which
        stop the run. The `usage` of these is of requests that this call made in vain.
        """
        tried = _Tried()
        while True:
            try:
                reply = await self._asked(send, clock, tried)
            except AttemptError as error:
                clock.in_vain(tried.began)
                tried.unused += error.usage or NOTHING_USED
                with clock.standing():
                    await self._pause(error, tried)
            else:
                return ModelAnswer(reply, tried.retries, tried.unused)

    async def _asked(
        self, send: Callable[[], Awaitable[Reply]], clock: StandingClock, tried: _Tried
    ) -> Reply:
        company = 0
        if self._limiter is not None:
            with clock.standing():
                company = await self._place(self._limiter, tried)
        tried.began = time.monotonic()
        if self._limiter is None:
            return await send()
        reply, _ = await paced(send, self._limiter, company, self.outage)
        return reply

    async def _place(self, limiter: Limiter, tried: _Tried) -> int:
        while True:
            company = await limiter.acquire(again=tried.again)
            if self.outage.away is None or tried.again:
                return company
            limiter.release()
            await self.outage.over()

    async def _pause(self, error: AttemptError, tried: _Tried) -> None:
        """Wait until the same may be asked again. Raises: the error, or what it means for the trial, if it may not."""
        error.usage = tried.unused
        if error.stops_run or isinstance(error, ContextOverflow):
            raise error
        tried.again = True
        if not self.outage.takes(error):
            wait_s = self.retry.wait_s(tried.retries + 1, error)
            if wait_s is None:
                raise AgentModelError(_told(error, tried), status=error.status, usage=tried.unused) from error
            tried.retries += 1
            await asyncio.sleep(wait_s)
            if self.outage.away is None:
                return
        elif self.outage.lost:
            raise ErrorBudget(
                f"The server of the agents' model does not come back, so the run stopped: {error}"
            ) from error
        if not await self.outage.turn():
            raise AgentModelError(f"{error}{self.outage.told}", usage=tried.unused) from error


def _told(error: AttemptError, tried: _Tried) -> str:
    return f"{error} (asked {tried.retries + 1} times)" if tried.retries else str(error)
