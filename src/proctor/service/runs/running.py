"""Running a plan: check every model, then fill one cell after the other, keep each attempt, end with scores."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import socket
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Protocol

from proctor.engine.attempts import Terms, attempts
from proctor.engine.outage import once_ready
from proctor.engine.retry import Retry
from proctor.errors import Conflict, ProctorError, RunTimeout, StoreError
from proctor.findings import RunResult
from proctor.offered import ListedModel
from proctor.plan import share_limits
from proctor.protocols import Source
from proctor.providers.contract import Opening, Pacing, Provider
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.references import SourceRef
from proctor.service.context import LEASE_S, dead_owner
from proctor.service.kinds import kind_of
from proctor.service.kinds.contract import Beside, Method
from proctor.service.results.causes import causes_of, failed_whole
from proctor.service.results.results import close
from proctor.service.runs import server_time
from proctor.service.runs.budget import Budget
from proctor.service.runs.missing import missing
from proctor.service.runs.progress import Meter, Watch, asked_of, keep_showing, keep_telling
from proctor.settings import Settings
from proctor.store import AttemptWriter, Store
from proctor.store.core.runs import Ending
from proctor.store.queue import endings, runlog
from proctor.store.queue.endings import Spent, Verdict
from proctor.types import Attempt, Cell, Limits, Run, Status

LOG = logging.getLogger(__name__)
MOST_PARALLEL = 256
WITHOUT_SERVER = 4  # workers of a solver that never waits
IMPORT_AFTER_S = 0.05  # when the first requests are on their way
BACKLOG = 4096  # attempts waiting for the disk before asking pauses


class Interrupted(Exception):
    """The user pressed Ctrl-C. What was measured is kept."""


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


@dataclass(frozen=True, slots=True)
class Ready:
    """A cell whose model has been found: everything it takes to fill it."""

    cell: Cell
    source: Source
    method: Method
    provider: Provider
    listed: ListedModel
    http: Http


class Submit(Protocol):
    """Turns the checked cells into runs in the store: new ones, or those to be resumed."""

    def __call__(self, ready: Sequence[Ready]) -> Sequence[Run]: ...


def run_cells(
    cells: Sequence[Cell],
    sources: Sequence[Source],
    submit: Submit,
    context: RunContext,
    *,
    replies: str | None = None,
) -> list[RunResult]:
    """Check all models, then run the cells one after the other.

    Nothing is stored and nothing asked before every model has been found. Raises ProctorError when a
    run stops early, with its attempts kept and the run resumable; Interrupted on Ctrl-C.
    """
    work = _run_cells(cells, sources, submit, context, replies)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:  # a platform without it
        return None
    return uvloop.new_event_loop


async def _run_cells(
    cells: Sequence[Cell],
    sources: Sequence[Source],
    submit: Submit,
    context: RunContext,
    replies: str | None,
) -> list[RunResult]:
    most = max(cell.limits.parallel or MOST_PARALLEL for cell in cells)
    timeout_s = max(cell.limits.request_timeout_s for cell in cells)
    settings = context.settings
    http = Http(
        parallel=most, timeout_s=timeout_s, secrets=settings.secrets, public_only=settings.public_only
    )
    results: list[RunResult] = []
    _end_on_sigterm()
    try:
        ready = [
            await _check(cell, source, http, context, replies)
            for cell, source in zip(cells, sources, strict=True)
        ]
        runs = submit(ready)
        spent_s, spent = 0.0, Spent()
        for index, (run, each) in enumerate(zip(runs, ready, strict=True)):
            limits = share_limits(
                each.cell.limits,
                spent_s=spent_s,
                spent_usd=spent.usd,
                spent_tokens=spent.tokens,
                runs_left=len(runs) - index,
            )
            began = time.monotonic()
            results.append(await _fill(run, each, limits, context))
            spent_s += time.monotonic() - began
            spent += endings.spent(context.store, run.id)
    except asyncio.CancelledError:
        raise Interrupted from None
    finally:
        await http.close()
    return results


def _end_on_sigterm() -> None:
    """Have SIGTERM end the runs as Ctrl-C does; only a process's main thread may ask for signals."""
    task = asyncio.current_task()
    if task is not None and threading.current_thread() is threading.main_thread():
        # Once: a second SIGTERM must not interrupt the writing down of the first.
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGTERM, lambda: task.cancelling() or task.cancel()
        )


async def _check(cell: Cell, source: Source, http: Http, context: RunContext, replies: str | None) -> Ready:
    method = kind_of(cell.source).method(source)
    opening = Opening(
        settings=context.settings,
        http=http,
        prices=read_prices(context.settings.home),
        labels=method.labels,
        row_ids=method.row_ids,
        replies=Path(replies) if replies else None,
    )
    # A style may say where the model is to stop; the user's own stops stay.
    cell = replace(cell, sampling=replace(cell.sampling, stop=(*cell.sampling.stop, *method.stop)))
    provider = method.opener(cell, opening)
    limits = cell.limits
    wait_s = min(limits.wait_for_server_s, limits.timeout_s, limits.for_s or limits.timeout_s)
    listed = await once_ready(provider.check, wait_s)
    return Ready(cell, source, method, provider, listed, http)


async def _fill(run: Run, ready: Ready, limits: Limits, context: RunContext) -> RunResult:
    """Border: one run. However it ends, what was measured is kept and the run's row says how it ended."""
    store = context.store
    run = store.claim(
        run.id,
        owner=context.owner,
        now=time.time(),
        lease_s=context.lease_s,
        dead_owner=dead_owner(store, run.id),
    )
    began = time.monotonic()
    ending = _Ending(context, run, began)
    try:
        clock = await server_time.begin(ready.http, ready.provider.address, ready.listed)
        stopped = await _ask_all(run, ready, limits, context)
        replies = store.run(run.id).settled - run.settled
        told = await clock.told(run.manifest.server_clock, replies)
    except asyncio.CancelledError:
        ending.write(Status.CANCELLED, stopped="interrupted")
        raise
    except ProctorError as error:
        ending.write(Status.FAILED, error=error)
        raise
    except Exception as error:
        ending.write(Status.FAILED, error=error)
        raise
    adjusted = replace(run.manifest, adjustments=tuple(ready.provider.adjustments), server_clock=told)
    store.set_manifest(run.id, adjusted)
    if failure := _nothing_measured(store, run.id):
        # Not raised: what ails this model need not ail the next one of the plan.
        return ending.write(Status.FAILED, stopped=stopped, error=failure)
    return ending.write(Status.COMPLETED, stopped=stopped)


def _nothing_measured(store: Store, run_id: str) -> ProctorError | None:
    """A run in which every item failed has failed, however few they were."""
    run = store.run(run_id)
    if run.settled:
        return None
    tally = store.tally(run_id)
    return failed_whole(RunResult(run, (), tally, causes_of(store, run, tally)))


@dataclass(frozen=True, slots=True)
class _Ending:
    """Writes how a run ended."""

    context: RunContext
    run: Run
    began: float

    def write(
        self, status: Status, *, stopped: str | None = None, error: BaseException | None = None
    ) -> RunResult:
        store = self.context.store
        foreseen = error is None or isinstance(error, ProctorError)
        if not foreseen:
            # Where a foreseen error arose helps nobody, and its words are in the run's row.
            said = "".join(traceback.format_exception(error)).rstrip()
            runlog.say(self.context.settings.home, self.run.id, f"run ended early\n{said}")
        try:
            verdict = self.context.ends_as(status, stopped, error)
            counted_s = store.run(self.run.id).elapsed_s - self.run.elapsed_s  # with each commit
            ending = Ending(
                owner=self.context.owner,
                now=time.time(),
                elapsed_s=max(0.0, time.monotonic() - self.began - counted_s),
                stopped=verdict.stopped,
                error=verdict.error,
                error_slug=verdict.error_slug,
            )
            if verdict.status is Status.PENDING or not foreseen:
                # One that waits shows nothing yet; what a defect ended may not be fit to be counted here.
                ended = store.finish(self.run.id, verdict.status, **ending)
                return RunResult(ended, (), store.tally(ended.id))
            # Nobody may take the run while its scores are being counted.
            store.renew(self.run.id, owner=self.context.owner, until=time.time() + self.context.lease_s)
            return close(store, self.run.id, verdict.status, **ending)
        except (StoreError, Conflict):
            if error is None:
                raise
            # The database has gone, or another process has the run: the first error is the one to tell. The
            # row still says "running", and resume sees that this process has ended.
            raise error from None


async def _ask_all(run: Run, ready: Ready, limits: Limits, context: RunContext) -> str | None:
    """Ask what is missing; returns why it stopped early, or None."""
    store = context.store
    asked = missing(store, run, ready.cell, ready.source)
    parallel = _parallel(ready.provider, limits)
    settled = store.run(run.id).settled
    meter = Meter(run, settled, parallel)
    budget = Budget(limits, meter, ready.cell, context.strict, context.spent)
    terms = Terms(
        limiter=_limiter(ready, limits, context),
        parallel=parallel,
        retry=context.retry,
        errors=ready.method.errors,
        drawing=budget.allows,
        wait_for_server_s=limits.wait_for_server_s,
    )
    beside = context.besides.get(run.cell.source)
    writer = _begin_writing(run, context, beside)
    showing = asyncio.create_task(keep_showing(meter, context.watch)) if context.watch else None
    beating = asyncio.create_task(keep_telling(store, meter, context.settings.home))
    thresholds = gc.get_threshold()
    try:
        LOG.info("run %s asks %s", run.id, asked_of(run, ready.provider.address, settled, limits))
        async with asyncio.timeout(limits.timeout_s):
            await once_ready(ready.provider.warm, limits.wait_for_server_s)
            _relax_gc()
            asyncio.get_running_loop().call_later(IMPORT_AFTER_S, _import_statistics)
            async for attempt in attempts(asked, ready.provider, ready.method.grade, terms, meter.traffic):
                writer.keep(attempt)
                meter.count(attempt)
                _log(run.cell.source, attempt)
                meter.committed = writer.committed
                budget.notice(attempt.reply is not None)
                if writer.backlog > BACKLOG:
                    await _until_kept(writer)
    except TimeoutError as error:
        raise RunTimeout(
            f"Run {run.id[:8]} took longer than {limits.timeout_s:g} s (--timeout); what was asked is kept. "
            f"`proctor resume {run.id[:8]} --timeout 6h` goes on"
        ) from error
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)
        if showing:
            showing.cancel()
        beating.cancel()
        _end_writing(writer, beside)
        meter.committed = writer.committed
        if context.watch:
            context.watch(run, meter.look(ended=True))
    return budget.outcome()


def _log(source: SourceRef, attempt: Attempt) -> None:
    if (line := kind_of(source).logged(source, attempt)) is not None:
        LOG.info("%s", line)


def _begin_writing(run: Run, context: RunContext, beside: Beside | None) -> AttemptWriter:
    if beside is not None:
        beside.begin(context.store, run)
    return AttemptWriter(
        context.store,
        run.id,
        owner=context.owner,
        lease_s=context.lease_s,
        on_commit=beside.kept if beside else None,
    )


def _end_writing(writer: AttemptWriter, beside: Beside | None) -> None:
    try:
        writer.close()
    finally:
        if beside is not None:
            beside.end()


def _relax_gc() -> None:
    """The modules and the source live as long as the run, and attempts hold no cycles: look at both seldom."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def _import_statistics() -> None:
    """In a thread, while the first replies are waited for: at the end somebody would wait for it."""
    asyncio.get_running_loop().run_in_executor(None, import_module, "numpy.random")


async def _until_kept(writer: AttemptWriter) -> None:
    # The writer is a thread and cannot set an asyncio.Event; looking now and then is simpler than a bridge.
    while writer.backlog > BACKLOG // 2:  # noqa: ASYNC110 - see above
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
