"""Running a plan: check every model, fill the cells one by one or side by side, keep each attempt, end with scores."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from proctor.engine.outage import once_ready
from proctor.errors import Conflict, ProctorError, StoreError
from proctor.findings import RunResult
from proctor.plan import share_limits
from proctor.protocols import Source
from proctor.providers.contract import Opening
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.service.abreast.asked import Abreast, side_by_side
from proctor.service.context import dead_owner
from proctor.service.kinds import kind_of
from proctor.service.results.causes import causes_of, failed_whole
from proctor.service.results.results import close
from proctor.service.runs import parts
from proctor.service.runs.asking import MOST_PARALLEL, Ready, RunContext, ask_all
from proctor.service.runs.pace import server_time
from proctor.store import Store
from proctor.store.core.runs import Ending
from proctor.store.queue import endings, runlog
from proctor.store.queue.endings import Spent
from proctor.types import Cell, Limits, Run, Status

LOG = logging.getLogger(__name__)


class Interrupted(Exception):
    """The user pressed Ctrl-C. What was measured is kept."""


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
    """Check all models, then run the cells one after the other, or those `until_decided` side by side.

    Nothing is stored and nothing asked before every model has been found. Raises ProctorError when a
    run stops early, with its attempts kept and the run resumable; Interrupted on Ctrl-C.
    """
    work = _run_cells(cells, sources, submit, context, replies)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(work)


def help_cell(run: Run, cell: Cell, source: Source, context: RunContext) -> None:
    """Ask shards of a run that another process owns, until none is left to take. Raises as `run_cells` does."""
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_help_cell(run, cell, source, context))


async def _help_cell(run: Run, cell: Cell, source: Source, context: RunContext) -> None:
    http = _client([cell], context)
    _end_on_sigterm()
    try:
        try:
            ready = await _check(cell, source, http, context, run.manifest.replies)
            with _seldom_collected():
                await ask_all(run, ready, cell.limits, context)
        finally:
            await http.close()
    except asyncio.CancelledError:  # its owner may have ended the run before this process has ended
        raise Interrupted from None


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
    abreast = all(cell.limits.until_decided for cell in cells)
    _end_on_sigterm()
    try:
        async with AsyncExitStack() as opened:
            # Runs at the same time have connections of their own.
            clients = [_client([cell], context) for cell in cells] if abreast else [_client(cells, context)]
            for http in clients:
                opened.push_async_callback(http.close)
            ready = [
                await _check(cell, source, clients[index if abreast else 0], context, replies)
                for index, (cell, source) in enumerate(zip(cells, sources, strict=True))
            ]
            runs = submit(ready)
            with _seldom_collected():
                return await (_side_by_side if abreast else _one_by_one)(runs, ready, context)
    except asyncio.CancelledError:
        raise Interrupted from None


async def _one_by_one(runs: Sequence[Run], ready: Sequence[Ready], context: RunContext) -> list[RunResult]:
    results: list[RunResult] = []
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
    return results


async def _side_by_side(runs: Sequence[Run], ready: Sequence[Ready], context: RunContext) -> list[RunResult]:
    """All at the same time. What ends one of them early ends the others in good order, and is raised then."""
    beside = context.abreast = side_by_side(context.store, runs, len(ready[0].source))
    lanes = (_in_lane(run, each, context, beside) for run, each in zip(runs, ready, strict=True))
    ended = await asyncio.gather(*lanes, return_exceptions=True)
    for each in ended:
        if isinstance(each, BaseException):
            raise each
    return [each for each in ended if isinstance(each, RunResult)]


async def _in_lane(run: Run, ready: Ready, context: RunContext, beside: Abreast) -> RunResult:
    why: str | None = f"{ready.cell.model} could be asked no further"
    try:
        result = await _fill(run, ready, ready.cell.limits, context)
        why = result.run.stopped
        return result
    finally:
        beside.left(run, why)


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """The modules and the sources live as long as the runs, and attempts hold no cycles: look at both seldom."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*thresholds)


def _client(cells: Sequence[Cell], context: RunContext) -> Http:
    # Of agents it says how many trials are under way, each of which may ask its model several times at once.
    most = max((None if cell.agent else cell.limits.parallel) or MOST_PARALLEL for cell in cells)
    timeout_s = max(cell.limits.request_timeout_s for cell in cells)
    settings = context.settings
    return Http(
        parallel=most, timeout_s=timeout_s, secrets=settings.secrets, public_only=settings.public_only
    )


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
        budget=context.accounts.ledger(cell),
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
        stopped = parts.as_part(run, await ask_all(run, ready, limits, context))
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
            closed = close(store, self.run.id, verdict.status, **ending)
            kind_of(closed.run.cell.source).ended(closed.run, store)
            return closed
        except (StoreError, Conflict):
            if error is None:
                raise
            # The database has gone, or another process has the run: the first error is the one to tell. The
            # row still says "running", and resume sees that this process has ended.
            raise error from None
