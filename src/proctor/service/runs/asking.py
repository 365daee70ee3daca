"""Asking what is missing of one run: attempts are kept as they end, within the run's limits, beside others or alone."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib import import_module

from proctor.engine.attempts import Terms, attempts
from proctor.engine.outage import once_ready
from proctor.engine.retry import Retry
from proctor.errors import AttemptError, ErrorBudget, ProctorError, RunTimeout, StoreError
from proctor.findings.looks import Decision
from proctor.offered import ListedModel
from proctor.protocols import Source
from proctor.providers.contract import Pacing, Provider
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.wire.http import Http
from proctor.references import SourceRef
from proctor.service.abreast.asked import Abreast
from proctor.service.context import LEASE_S, Context
from proctor.service.kinds import kind_of
from proctor.service.kinds.contract import Beside, Method, Sends
from proctor.service.runs.missing import missing
from proctor.service.runs.pace.budget import Budget
from proctor.service.runs.pace.progress import Meter, Watch, asked_of, keep_showing, keep_telling
from proctor.service.runs.pace.quota import in_fleet
from proctor.service.sharing.accounts import BenchmarkAccounts
from proctor.service.sharing.company import Company
from proctor.service.sharing.helpers import Helpers
from proctor.service.sharing.parts import Portion
from proctor.settings import Settings
from proctor.store import AttemptWriter, Store
from proctor.store.queue import shards
from proctor.store.queue.endings import Spent, Verdict
from proctor.types import Attempt, Cell, Limits, Run, Status

LOG = logging.getLogger(__name__)
MOST_PARALLEL = 256
WITHOUT_SERVER = 4  # workers of a solver that never waits
IMPORT_AFTER_S = 0.05  # when the first requests are on their way
BACKLOG = 4096  # attempts waiting for the disk before asking pauses


def as_it_ended(status: Status, stopped: str | None, error: BaseException | None) -> Verdict:
    """What a run's row says of its end where nobody will try again by himself."""
    slug = error.slug if isinstance(error, ProctorError) else "internal" if error else None
    text = None if error is None else str(error) or type(error).__name__
    return Verdict(status, stopped, text, slug)


@dataclass(slots=True)
class RunContext:
    """One process working on runs: what its runs share."""

    settings: Settings
    store: Store
    watch: Watch | None = None
    retry: Retry = field(default_factory=Retry)
    limiters: dict[tuple[str, ...], Limiter] = field(default_factory=dict)
    owner: str = field(default_factory=lambda: f"{socket.gethostname()}:{os.getpid()}")
    lease_s: float = LEASE_S
    strict: bool = False  # a budget that is used up is an error, not a reason to stop early
    spent: Spent = field(default_factory=Spent)  # of the budget, in earlier tries
    ends_as: Callable[[Status, str | None, BaseException | None], Verdict] = as_it_ended
    besides: Mapping[SourceRef, Beside] = field(default_factory=dict)  # files that grow with the runs
    workers: int = 1  # processes at work on each run: this one, and helpers that it starts
    fleet: Callable[[], int] | None = (
        None  # how many workers take runs of the queue; None: it is none of theirs
    )
    helps: bool = False  # the run is another's, and this process asks shards of it
    accounts: BenchmarkAccounts = field(default_factory=BenchmarkAccounts)
    abreast: Abreast | None = None  # the runs are asked at the same time, as long as a verdict needs

    def decided(self) -> Decision | None:
        """What the rows that this process has kept and found decide; None where nothing was to be decided."""
        return self.abreast.decided() if self.abreast else None

    def most_workers(self) -> int:
        """How many processes could be at work on a run."""
        return max(self.workers, 1 if self.fleet is None else self.fleet())


@dataclass(frozen=True, slots=True)
class Ready:
    """A cell whose model has been found: everything it takes to fill it."""

    cell: Cell
    source: Source
    method: Method
    provider: Provider
    listed: ListedModel
    http: Http


async def ask_all(run: Run, ready: Ready, limits: Limits, context: RunContext) -> str | None:
    """Ask what is missing; returns why it stopped early, or None.

    Raises: what stops the run (RunTimeout, AuthError, ErrorBudget, ...), met here or by a helper; Conflict, StoreError.
    """
    work = _begun(run, ready, limits, context)
    try:
        async with work.showing():
            LOG.info(
                "run %s asks %s", run.id, asked_of(run, ready.provider.address, work.meter.before, limits)
            )
            async with asyncio.timeout(None if context.helps else limits.timeout_s):
                await once_ready(ready.provider.warm, limits.wait_for_server_s)
                asyncio.get_running_loop().call_later(IMPORT_AFTER_S, _import_statistics)
                await work.ask()
    except TimeoutError as error:
        raise RunTimeout(
            f"Run {run.id[:8]} took longer than {limits.timeout_s:g} s (--timeout); what was asked is kept. "
            f"`proctor resume {run.id[:8]} --timeout 6h` goes on"
        ) from error
    except ProctorError as error:
        work.tell(error)
        raise
    finally:
        work.end()
    beside = context.abreast
    return work.budget.outcome() or (beside.stopped(run.id) if beside else None)


def _begun(run: Run, ready: Ready, limits: Limits, context: RunContext) -> _Asking:
    """Divides the run, where others may be at work on it."""
    store = context.store
    parts = Portion(
        store,
        run,
        ready.cell,
        ready.source,
        owner=context.owner,
        lease_s=context.lease_s,
        helps=context.helps,
        whole=partial(missing, store, run, ready.cell, ready.source),
    )
    parts.begin(_workers(limits, context))
    meter = Meter(run, store.run(run.id).settled, _parallel(ready.provider, limits))
    context.accounts.add_up(store, run)
    account = context.accounts.ledger(run.cell)
    budget = Budget(limits, meter, ready.cell, context.strict, context.spent, account=account)
    if (beside := context.abreast) is not None:
        meter.decision = beside.seen
        budget.others = beside.spends(run.id, lambda: Spent(meter.tokens, meter.spending()))
    helpers = Helpers(store, run, context.settings.home, context.lease_s)
    company = Company(parts, meter, budget, helpers, lambda: _workers(limits, context))
    company.begin()
    work = _Asking(run, ready, limits, context, parts, company)
    if context.workers > 1 and parts.divided:
        cell = replace(run.cell, model=ready.cell.model, agent=ready.cell.agent)
        helpers.start(_workers(limits, context) - 1, cell, work.own_limits())
    return work


def _workers(limits: Limits, context: RunContext) -> int:
    """How many processes may be at work on the run: no more than requests may be under way."""
    workers = context.most_workers()
    return min(workers, limits.parallel) if limits.parallel else workers


@dataclass(eq=False, slots=True)
class _Asking:
    """The asking of one process, from its first item to its last attempt that is safe."""

    run: Run
    ready: Ready
    limits: Limits
    context: RunContext
    parts: Portion
    company: Company
    meter: Meter = field(init=False)
    budget: Budget = field(init=False)
    beside: Beside | None = field(init=False)
    sends: Sends | None = field(init=False)
    writer: AttemptWriter = field(init=False)

    def __post_init__(self) -> None:
        self.meter, self.budget = self.company.meter, self.company.budget
        self.beside = self.context.besides.get(self.run.cell.source)
        if self.beside is not None:
            self.beside.begin(self.context.store, self.run)
        kind = kind_of(self.run.cell.source)
        self.sends = kind.sends(self.run, Context(self.context.settings, self.context.store))
        self.writer = AttemptWriter(
            self.context.store,
            self.run.id,
            owner=self.context.owner,
            lease_s=self.context.lease_s,
            on_commit=self.beside.kept if self.beside else None,
            helps=self.context.helps,
        )

    async def ask(self) -> None:
        """Round by round: the whole run is one, and so is what there is to take of a divided one."""
        while True:
            if self.parts.divided:
                self.writer.shard_of = self.parts.shard_of
                if self.beside is not None:
                    self.beside.shared()
            await self._ask_round()
            if not await self.company.another_round(self.writer):
                return

    async def _ask_round(self) -> None:
        ready, writer, meter, parts = self.ready, self.writer, self.meter, self.parts
        terms = self._terms()
        asked = attempts(parts.askings(), ready.provider, ready.method.grade, terms, meter.traffic)
        fleet = in_fleet(ready.cell.model, ready.provider, ready.http, terms.limiter, self.context.settings)
        async with fleet:
            async for attempt in asked:
                await self._keep(attempt)
                meter.count(attempt)
                self.context.accounts.ended(self.run.cell, attempt)
                _log(self.run.cell.source, attempt)
                meter.committed = writer.committed
                if self.context.abreast is not None:
                    self.context.abreast.kept(self.run.id, attempt)
                self.budget.notice(attempt.reply is not None)
                if parts.divided:
                    parts.ended(attempt)
                    parts.settle(writer.kept, writer.committed)
                if writer.backlog > BACKLOG:
                    await _until_kept(writer)

    async def _keep(self, attempt: Attempt) -> None:
        """Its row is kept when what it leaves besides lies where others find it; cancelled, it is kept at once."""
        try:
            if self.sends is not None:
                await asyncio.to_thread(self.sends.send, attempt)
        finally:
            self.writer.keep(attempt)

    def _terms(self) -> Terms:
        limits, drawing = self.own_limits(), self.company.drawing
        lane = self.context.abreast.lanes[self.run.id] if self.context.abreast else None
        return Terms(
            limiter=_limiter(self.ready, limits, self.context),
            parallel=_parallel(self.ready.provider, limits),
            retry=self.context.retry,
            errors=self.ready.method.errors,
            drawing=drawing if lane is None else lambda: not lane.stopped and drawing(),
            wait_for_server_s=limits.wait_for_server_s,
            lane=lane,
        )

    def own_limits(self) -> Limits:
        """How many requests may be under way is said of the whole run: this process has its share of them."""
        limits = self.limits
        if not (limits.parallel and self.parts.divided):
            return limits
        return replace(limits, parallel=max(1, limits.parallel // _workers(limits, self.context)))

    @asynccontextmanager
    async def showing(self) -> AsyncIterator[None]:
        """What goes on beside the asking: the run is shown, written down, and others are looked at."""
        context, meter = self.context, self.meter
        tasks = [asyncio.create_task(keep_showing(meter, context.watch))] if context.watch else []
        if not context.helps:
            tasks.append(asyncio.create_task(keep_telling(context.store, meter, context.settings.home)))
        tasks.append(asyncio.create_task(context.accounts.watch(context.store, self.run)))
        if self.parts.divided or context.fleet is not None:
            tasks.append(asyncio.create_task(self.company.watch()))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()

    def tell(self, error: ProctorError) -> None:
        """What stops a helper, and no other item of the run escapes, stops the run."""
        stops = isinstance(error, ErrorBudget) or (isinstance(error, AttemptError) and error.stops_run)
        if stops and self.context.helps:
            with suppress(StoreError):
                shards.say_failed(
                    self.context.store, self.run.id, str(error), error.slug, owner=self.context.owner
                )

    def end(self) -> None:
        """All that has ended is kept, and nobody else keeps anything more of a run that its owner ends."""
        parts, writer, store = self.parts, self.writer, self.context.store
        self.company.helpers.end()
        try:
            if parts.divided and not parts.helps:
                shards.revoke(store, self.run.id, owner=self.context.owner)
        finally:
            self._end_writing()
        self.meter.committed = writer.committed
        if self.parts.divided:
            self.parts.settle(writer.kept, writer.committed)
            self.parts.put_back()
            self.meter.count_others(store.run(self.run.id).settled)
        if self.context.watch:
            self.context.watch(self.run, self.meter.look(ended=True))

    def _end_writing(self) -> None:
        try:
            self.writer.close()
            if self.sends is not None:
                self.sends.end()
        finally:
            if self.beside is not None:
                self.beside.end()


def _log(source: SourceRef, attempt: Attempt) -> None:
    if (line := kind_of(source).logged(source, attempt)) is not None:
        LOG.info("%s", line)


def _import_statistics() -> None:
    """In a thread, while the first replies are waited for: at the end somebody would wait for it."""
    asyncio.get_running_loop().run_in_executor(None, import_module, "numpy.random")


async def _until_kept(writer: AttemptWriter) -> None:
    # The writer is a thread and cannot set an asyncio.Event; looking now and then is simpler than a bridge.
    while writer.backlog > BACKLOG // 2 and writer.alive:  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.01)


def _parallel(provider: Provider, limits: Limits) -> int:
    if provider.pacing is None:
        return WITHOUT_SERVER
    return limits.parallel or provider.pacing.most


def _limiter(ready: Ready, limits: Limits, context: RunContext) -> Limiter | None:
    """The limiter of this provider, endpoint, key and model; runs of one process share it."""
    pacing = ready.provider.pacing
    if pacing is None:
        return None
    if limits.parallel:
        pacing = Pacing(limits.parallel, limits.parallel, fixed=True)
    model = ready.cell.model
    # The key itself need not stand here: a process has one key per provider.
    key = (model.provider, ready.provider.address, model.name, str(pacing))
    return context.limiters.setdefault(key, Limiter(pacing))
