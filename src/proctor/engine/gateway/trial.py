"""The gateway of one trial: its calls, what they took, and how they ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from proctor.engine.gateway.call import CallUnderWay
from proctor.engine.gateway.clock import CallsClock
from proctor.engine.gateway.gateway import Gateway
from proctor.engine.gateway.refusals import Refusal, failed, passed_on, used_up
from proctor.engine.gateway.requests import AgentRequest, read_request
from proctor.engine.spending import AgentSpending, held
from proctor.errors import AttemptError, ConfigError, ContextOverflow, ErrorBudget, ProctorError
from proctor.providers.ledger import Demand, UsedUp
from proctor.references import TrialLimits
from proctor.sandbox.contract import Loopback
from proctor.trial_record import AgentCall, CallEnd
from proctor.types import NOTHING_USED, Reply, Usage

DRAIN_S = 20.0  # for calls that are under way when the agent has ended: for so long their count is waited for
Sink = Callable[[AgentCall], None]


@dataclass(slots=True)
class _Cut:
    """A call whose tokens are not told yet: it is handed over once they are, or at the trial's end."""

    call: AgentCall
    key: bytes
    guessed: int


@dataclass(eq=False, slots=True)
class TrialGateway:
    """Serves one box. `fault`: its model's server failed it, so that it shows nothing; `stop`: what ends the run."""

    gateway: Gateway
    limits: TrialLimits
    sink: Sink = lambda _call: None
    spending: AgentSpending = field(init=False)
    clock: CallsClock = field(default_factory=CallsClock)
    met: list[str] = field(default_factory=list)
    overflow: str | None = None
    fault: AttemptError | None = None
    stop: ProctorError | None = None
    refused: int = 0  # calls beyond a limit
    notes: list[str] = field(default_factory=list)
    _ids: set[str] = field(default_factory=set)
    _cut: list[_Cut] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _number: int = 0
    _began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        gateway = self.gateway
        self.spending = AgentSpending(self.limits, str(gateway.model), gateway.price, gateway.budget)

    @asynccontextmanager
    async def serving(
        self, loopback: Loopback, drain_s: Callable[[], float] = lambda: DRAIN_S
    ) -> AsyncIterator[None]:
        """Answer at the socket, and close it; calls that are under way at the end are waited for, to be counted."""
        from proctor.engine.gateway.serving import serving  # aiohttp takes a tenth of a second

        self._began = time.monotonic()
        try:
            async with serving(self, loopback.socket):
                yield
        finally:
            await self._finish(drain_s())

    @property
    def limits_met(self) -> tuple[str, ...]:
        full = () if self.overflow is None else (f"its model's context was full: {self.overflow}",)
        return (*self.met, *full)

    def begin(self, path: str, body: bytes) -> CallUnderWay:
        """A request came. Its answer comes out of the call's outlet, also where it is an error."""
        call = CallUnderWay(self._number, path, body, time.monotonic() - self._began)
        self._number += 1
        call.task = asyncio.create_task(self._answered(call))
        self._tasks.add(call.task)
        call.task.add_done_callback(self._tasks.discard)
        return call

    async def _answered(self, call: CallUnderWay) -> None:
        """Border: one call. However it ends, it is counted, handed over, and its agent told."""
        try:
            request = read_request(call.path, call.body, self._ids)
            self._remark(call, request.remarks)
            await self._asked(call, request)
        except Refusal as refusal:
            self._ended(call, "refused", refusal=refusal)
        except UsedUp as over:
            self.refused += 1
            if str(over) not in self.met:
                self.met.append(str(over))
            self._ended(call, "refused", refusal=used_up(str(over)))
        except asyncio.CancelledError:
            self._broke_off(call, "cancelled", NOTHING_USED)
            raise
        except (AttemptError, ConfigError) as error:
            self._failed(call, error)

    async def _asked(self, call: CallUnderWay, request: AgentRequest) -> None:
        call.key = request.key
        known = self.gateway.told(call.key)
        reads = request.reads if known is None else known
        bounded = self.gateway.upstream.bounded(request.path)
        at_worst = max(reads, len(request.given))
        demand = Demand(reads, at_worst, request.most, self.spending.price, alone=not bounded)
        call.request, call.reads = request, reads
        with held(self.spending, await self.spending.admitted(demand)) as hold:
            answer = await self.gateway.asked.sent(lambda: self._sent(call, hold.most), self.clock)
            self.clock.served()
            call.retries = answer.retries
            self.spending.wasted(answer.unused)
            self._count(call, answer.reply, answer.unused)

    async def _sent(self, call: CallUnderWay, most: int | None) -> Reply:
        came = call.begin_sending()
        try:
            with self.clock.serving():
                return await self.gateway.upstream.ask(came.request, most, came)
        except AttemptError as error:
            if came.stream is not None or call.outlet.left:
                # The agent has seen the beginning, or does not wait: the same is not sent again.
                error.retryable = error.away = error.unreached = False
            if came.stream is None:
                call.came = None
            raise
        finally:
            call.sending = False

    def _count(self, call: CallUnderWay, reply: Reply, unused: Usage) -> None:
        self.gateway.learn(call.key, reply.input_tokens)
        if reply.request_id:
            self._ids.add(reply.request_id)
        self._remark(call, call.came.remarks if call.came is not None else ())
        call.outlet.end()
        self.fault = self.overflow = None
        used = Usage(reply.input_tokens, reply.output_tokens, reply.cost_usd)
        counted = reply.input_tokens is not None and reply.output_tokens is not None
        ended: CallEnd = "cancelled" if call.outlet.missed else "answered"
        told = call.record(ended, usage=used, unused=unused, counted=counted)
        self._hand_over(replace(told, response_id=reply.request_id))
        self._resolve()
        self.spending.asked(reply, call.reads)

    def _failed(self, call: CallUnderWay, error: AttemptError | ConfigError) -> None:
        if isinstance(error, ConfigError):  # told when its reply had come
            self.stop = self.stop or error
            return
        unused = error.usage or NOTHING_USED
        error.usage = None
        self.spending.wasted(unused)
        refusal = passed_on(error.__cause__ if isinstance(error.__cause__, AttemptError) else error)
        if isinstance(error, ContextOverflow):
            self.overflow = str(error)
        elif error.stops_run or isinstance(error, ErrorBudget):
            self.stop = self.stop or error
        elif refusal is None and not call.outlet.left:  # an agent that left it did without it
            self.fault = error
        if call.came is not None and call.came.stream is not None:
            self._broke_off(call, "cancelled" if call.outlet.left else "cut", unused)
        else:
            self._ended(call, "failed", refusal=refusal or failed(), unused=unused, note=str(error))

    def _broke_off(self, call: CallUnderWay, ended: CallEnd, unused: Usage) -> None:
        """Its reply has no end: what it wrote is what came, what it read is told elsewhere or guessed."""
        if call.request is None or call.came is None:  # it was never sent
            self._ended(call, ended, refusal=failed(), unused=unused)
            return
        stream = call.came.stream
        wrote = 0 if stream is None else stream.tokens
        call.break_off()
        self.spending.count(call.reads + wrote, self._cost(call.reads, wrote), 1)
        used = Usage(call.reads, wrote, self._cost(call.reads, wrote))
        told = call.record(ended, usage=used, unused=unused, counted=False)
        self._cut.append(_Cut(told, call.key, call.reads))
        self._resolve()

    def _resolve(self, *, last: bool = False) -> None:
        """Hand over the broken calls whose tokens have been told since; the last time all of them."""
        for cut in list(self._cut):
            told = self.gateway.told(cut.key)
            if told is None and not last:
                continue
            self._cut.remove(cut)
            call = cut.call
            if told is not None:
                cost = self._cost(told, call.usage.output_tokens or 0)
                self.spending.count(told - cut.guessed, (cost or 0.0) - (call.usage.cost_usd or 0.0), 0)
                call = replace(call, usage=Usage(told, call.usage.output_tokens, cost), counted=True)
            self.spending.counted = self.spending.counted and call.counted
            self.spending.usage += call.usage
            self._hand_over(call)

    def _cost(self, read: int, wrote: int) -> float | None:
        return None if self.spending.price is None else self.spending.price.cost_usd(read, wrote)

    def _ended(
        self,
        call: CallUnderWay,
        ended: CallEnd,
        *,
        refusal: Refusal,
        unused: Usage = NOTHING_USED,
        note: str = "",
    ) -> None:
        call.outlet.end(refusal)
        told = call.record(ended, unused=unused)
        told = replace(told, response=refusal.body, status=refusal.status)
        self._hand_over(replace(told, note=note or refusal.message))

    def _hand_over(self, call: AgentCall) -> None:
        try:
            self.sink(call)
        except ProctorError as error:  # it cannot be kept: what the agent does further would be lost as well
            self.stop = self.stop or error

    def _remark(self, call: CallUnderWay, remarks: Sequence[str]) -> None:
        call.note = "; ".join(filter(None, [call.note, *remarks]))
        self.notes += [each for each in remarks if each not in self.notes]

    async def _finish(self, drain_s: float) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=drain_s)
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._resolve(last=True)
