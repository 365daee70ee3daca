"""A server that is gone or loads its model: the whole run waits for it, and one request at a time looks for it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from proctor.errors import AttemptError, NetworkError, RequestTimeout

LOG = logging.getLogger(__name__)
FIRST_S, MOST_S = 0.5, 5.0  # before a request that looks whether the server is back
LOOK_S = 0.5  # between two looks whether it is still worth waiting
IN_A_ROW = 3  # words of a gateway with no reply between: one alone may be chance, or the item's own fault
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Away:
    """The server has not been there since `began` (monotonic), `said` is how it showed; waited for `most_s` at most."""

    said: str
    slug: str
    began: float
    most_s: float


@dataclass(slots=True)
class Outage:
    """Whether the run's server is there, and who may ask while it is not.

    It is away once nobody can connect to it, or it says that it loads its model; behind a gateway, once
    that says so several times in a row. Items that meet this keep their retries and wait for their `turn`. It is
    back with the first reply of any kind. After `wait_s`, or when the run may draw no more, it is given up: who
    waits has failed, and when one more item finds it away it is `lost`.
    """

    wait_s: float
    drawing: Callable[[], bool]
    away: Away | None = None
    troubled: bool = False  # there is something to forget at the next reply
    lost: bool = False
    _given_up: bool = False
    _waited_s: float = 0.0
    _suspected: int = 0
    _probing: bool = False
    _pause_s: float = FIRST_S
    _probe_at: float = 0.0
    _began: float = 0.0
    _turns: deque[asyncio.Future[bool]] = field(default_factory=deque)
    _timer: asyncio.TimerHandle | None = None
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def told(self) -> str:
        """What an item that had to be given up says besides its own failure."""
        return _waited(self._waited_s)

    def takes(self, error: AttemptError) -> bool:
        """Whether a failure is the server's absence, which costs the item no retry."""
        if not self._shows_absence(error):
            if isinstance(error, NetworkError | RequestTimeout):
                self._tried_in_vain()
            elif self.troubled and not error.unreached:
                self.answered()
            return False
        if self._given_up:
            self.lost = self.drawing()  # a run that has drawn all it may ends by itself
        elif self.away is None:
            self._begin(error)
        elif self.away.slug != error.slug:
            # Where nobody could connect there is now somebody who loads the model: it will not be long.
            self.away = replace(self.away, said=str(error), slug=error.slug)
            self._pause_s = FIRST_S
        elif self._probing:
            self._pause_s = min(2.0 * self._pause_s, MOST_S)
        self._probing = False
        self._pause_s = max(self._pause_s, error.retry_after_s or 0.0)
        return True

    def answered(self) -> None:
        """The server is there."""
        if self.away is not None:
            LOG.info("the server is back after %.1f s", time.monotonic() - self.away.began)
        self.troubled = self._given_up = self.lost = False
        self._suspected = 0
        self._end(back=True)

    async def turn(self) -> bool:
        """Wait until a request may be sent; False: the server was given up."""
        if self.away is None:
            return not self._given_up
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        self._arm()
        return await turn

    async def over(self) -> None:
        """Wait until the server is back or given up."""
        if self.away is not None:
            await self._over.wait()

    def _shows_absence(self, error: AttemptError) -> bool:
        if not self.wait_s:
            return False
        if error.unreached:
            self.troubled = True
            self._suspected += 1
        return error.away or (
            error.unreached and (self._suspected >= IN_A_ROW or self._given_up or self.away is not None)
        )

    def _begin(self, error: AttemptError) -> None:
        LOG.info("%s; waiting for the server, at most %.0f s", error, self.wait_s)
        self.troubled = True
        self.away = Away(str(error), error.slug, time.monotonic(), self.wait_s)
        self._began = asyncio.get_running_loop().time()
        self._pause_s = FIRST_S
        self._over.clear()

    def _tried_in_vain(self) -> None:
        """A connection that broke, or a request without an end, tells neither: the next one in line looks."""
        if self.away is None:
            return
        self._probing = False
        if self._turns:
            self._arm()
        else:  # nobody is left to look but those who have not asked yet
            self._end(back=True)

    def _end(self, *, back: bool) -> None:
        self.away = None
        self._probing = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                turn.set_result(back)
        self._over.set()

    def _arm(self) -> None:
        if self._timer is None and not self._probing:
            loop = asyncio.get_running_loop()
            self._probe_at = loop.time() + self._pause_s
            self._timer = loop.call_later(min(self._pause_s, LOOK_S), self._look)

    def _look(self) -> None:
        """Give the server up if it is time, else let the first in line ask when it is time for that."""
        loop = asyncio.get_running_loop()
        self._timer = None
        now = loop.time()
        if now - self._began >= self.wait_s or not self.drawing():
            self._given_up, self._waited_s = True, now - self._began
            self._end(back=False)
            return
        while now >= self._probe_at and self._turns:
            turn = self._turns.popleft()
            if not turn.done():
                self._probing = True
                turn.set_result(True)
                return
        rest_s = max(0.0, self._probe_at - now)
        self._timer = loop.call_later(min(rest_s, LOOK_S) or LOOK_S, self._look)


def _waited(seconds: float) -> str:
    return f"; the server was waited for, {seconds:.0f} s (--wait-for-server)"


async def once_ready(ask: Callable[[], Awaitable[T]], wait_s: float) -> T:
    """What `ask` gives, asked again for so long while the server says that it loads its model.

    Raises: what `ask` raises; a server that is not there at all is not waited for, its address may be wrong.
    """
    loop = asyncio.get_running_loop()
    began, pause_s = loop.time(), FIRST_S
    while True:
        try:
            return await ask()
        except AttemptError as error:
            waited_s = loop.time() - began
            if not error.away or isinstance(error, NetworkError) or not wait_s:
                raise
            if waited_s >= wait_s:
                raise type(error)(f"{error}{_waited(waited_s)}", status=error.status) from error
            if pause_s == FIRST_S:
                LOG.warning("%s; waiting for it, at most %.0f s", error, wait_s)
        await asyncio.sleep(min(pause_s, max(0.0, wait_s - waited_s)))
        pause_s = min(2.0 * pause_s, MOST_S)
