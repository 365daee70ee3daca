"""One call under way: a request of the agent, what comes of its reply, and where that goes."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from proctor.engine.gateway.outlet import Outlet
from proctor.engine.gateway.requests import AgentRequest
from proctor.engine.gateway.upstream import Came
from proctor.trial_record import AgentCall, CallEnd
from proctor.types import NOTHING_USED, Usage


@dataclass(eq=False, slots=True)
class CallUnderWay:
    """`reads` is how many tokens its request has, as far as is known."""

    number: int
    path: str
    body: bytes
    at: float
    outlet: Outlet = field(default_factory=Outlet)
    request: AgentRequest | None = None
    key: bytes = b""
    reads: int = 0
    came: Came | None = None
    sending: bool = False
    retries: int = 0
    note: str = ""
    task: asyncio.Task[None] | None = None
    _began: float = field(default_factory=time.monotonic)

    @property
    def streams(self) -> bool:
        return self.request is not None and self.request.stream

    def begin_sending(self) -> Came:
        assert self.request is not None
        self.came = Came(self.request, self.outlet.put)
        self.sending = True
        return self.came

    def break_off(self) -> None:
        """The agent is told, in the midst of a stream, that there will be no end."""
        if self.came is not None:
            self.came.break_off()
        self.outlet.end()

    def leave(self) -> None:
        """The agent has gone: a request that is at the server is read to its end, and no other is sent."""
        self.outlet.leave()
        if not self.sending and self.task is not None:
            self.task.cancel()

    def record(
        self,
        ended: CallEnd,
        *,
        usage: Usage = NOTHING_USED,
        unused: Usage = NOTHING_USED,
        counted: bool = True,
    ) -> AgentCall:
        came = self.came
        first_at = None if came is None else came.first_at
        return AgentCall(
            number=self.number,
            at=self.at,
            path=self.path,
            ended=ended,
            request=self.body,
            response=b"" if came is None else came.body,
            usage=usage,
            unused=unused,
            retries=self.retries,
            first_token_s=None if first_at is None else first_at - self._began,
            seconds=time.monotonic() - self._began,
            counted=counted,
            note=self.note,
        )
