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
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from proctor import __version__
from proctor.engine.attempts import Asking, Terms, attempts
from proctor.engine.retry import Retry
from proctor.errors import Conflict, ProctorError, RunTimeout, StoreError
from proctor.findings import RunResult
from proctor.plan import share_limits
from proctor.providers import open_provider
from proctor.providers.contract import Labels, Opening, Pacing, Provider
from proctor.providers.http import Http
from proctor.providers.limiter import Limiter
from proctor.providers.prices import read_prices
from proctor.service.budget import Budget
from proctor.service.progress import Meter, Watch, asked_of, keep_showing
from proctor.service.pulse import keep_pulse
from proctor.service.results import close
from proctor.settings import Settings
from proctor.store import Keeper, Store, runlog
from proctor.store.endings import Spent, Verdict
from proctor.store.runs import Ending
from proctor.types import Cell, Limits, ListedModel, Run, Sampling, Source, Status

LOG = logging.getLogger(__name__)
LEASE_S = 60.0
MOST_PARALLEL = 256
WITHOUT_SERVER = 4  # workers of a solver that never waits
BACKLOG = 4096  # attempts waiting for the disk before asking pauses


class Interrupted(Exception):
    """The user pressed Ctrl-C. What was measured is kept."""


def as_it_ended(status: Status, stopped: str | None, error: BaseException | None) -> Verdict:
    """What a run's row says of its end where nobody will try again by himself."""
    slug = error.slug if isinstance(error, ProctorError) else "internal" if error else None
    text = None if error is None else str(error) or type(error).__name__
    return Verdict(status, stopped, text, slug)


@dataclass(slots=True)
class Sitting:
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


@dataclass(frozen=True, slots=True)
class Ready:
    """A cell whose model has been found: everything it takes to fill it."""

    cell: Cell
    source: Source
    provider: Provider
    listed: ListedModel


class Submit(Protocol):
    """Turns the checked cells into runs in the store: new ones, or those to be resumed."""

    def __call__(self, ready: Sequence[Ready]) -> Sequence[Run]: ...


def run_cells(
    cells: Sequence[Cell],
    sources: Sequence[Source],
    submit: Submit,
    sitting: Sitting,
    *,
    replies: str | None = None,
) -> list[RunResult]:
    """Check all models, then run the cells one after the other.

    Nothing is stored and nothing asked before every model has been found. Raises ProctorError when a
    run stops early, with its attempts kept and the run resumable; Interrupted on Ctrl-C.
    """
    work = _run_cells(cells, sources, submit, sitting, replies)
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
    sitting: Sitting,
    replies: str | None,
) -> list[RunResult]:
    most = max(cell.limits.parallel or MOST_PARALLEL for cell in cells)
    timeout_s = max(cell.limits.request_timeout_s for cell in cells)
    settings = sitting.settings
    http = Http(
        parallel=most, timeout_s=timeout_s, secrets=settings.secrets, public_only=settings.public_only
    )
    results: list[RunResult] = []
    _end_on_sigterm()
    try:
        ready = [
            await _check(cell, source, http, sitting, replies)
            for cell, source in zip(cells, sources, strict=True)
        ]
        runs = submit(ready)
        spent_s = spent_usd = 0.0
        for index, (run, each) in enumerate(zip(runs, ready, strict=True)):
            limits = share_limits(
                each.cell.limits, spent_s=spent_s, spent_usd=spent_usd, runs_left=len(runs) - index
            )
            began = time.monotonic()
            results.append(await _fill(run, each, limits, sitting))
            spent_s += time.monotonic() - began
            spent_usd += results[-1].tally.cost_usd or 0.0
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


async def _check(cell: Cell, source: Source, http: Http, sitting: Sitting, replies: str | None) -> Ready:
    opening = Opening(
        settings=sitting.settings,
        http=http,
        prices=read_prices(sitting.settings.home),
        labels=lambda: Labels(*source.labels()),
        row_ids=source.row_ids,
        replies=Path(replies) if replies else None,
    )
    # A style may say where the model is to stop; the user's own stops stay.
    cell = replace(cell, sampling=replace(cell.sampling, stop=(*cell.sampling.stop, *source.stop)))
    provider = open_provider(cell.model, cell.sampling, opening)
    return Ready(cell, source, provider, await provider.check())


async def _fill(run: Run, ready: Ready, limits: Limits, sitting: Sitting) -> RunResult:
    """Border: one run. However it ends, what was measured is kept and the run's row says how it ended."""
    store = sitting.store
    run = store.claim(
        run.id,
        owner=sitting.owner,
        now=time.time(),
        lease_s=sitting.lease_s,
        dead_owner=dead_owner(store, run.id),
    )
    began = time.monotonic()
    ending = _Ending(sitting, run, began)
    try:
        stopped = await _ask_all(run, ready, limits, sitting)
    except asyncio.CancelledError:
        ending.write(Status.CANCELLED, stopped="interrupted")
        raise
    except ProctorError as error:
        ending.write(Status.FAILED, error=error)
        raise
    except Exception as error:
        ending.write(Status.FAILED, error=error)
        raise
    store.set_manifest(run.id, {**run.manifest, "adjustments": list(ready.provider.adjustments)})
    return ending.write(Status.COMPLETED, stopped=stopped)


@dataclass(frozen=True, slots=True)
class _Ending:
    """Writes how a run ended."""

    sitting: Sitting
    run: Run
    began: float

    def write(
        self, status: Status, *, stopped: str | None = None, error: BaseException | None = None
    ) -> RunResult:
        store = self.sitting.store
        foreseen = error is None or isinstance(error, ProctorError)
        if not foreseen:
            # Where a foreseen error arose helps nobody, and its words are in the run's row.
            said = "".join(traceback.format_exception(error)).rstrip()
            runlog.say(self.sitting.settings.home, self.run.id, f"run ended early\n{said}")
        try:
            verdict = self.sitting.ends_as(status, stopped, error)
            ending = Ending(
                owner=self.sitting.owner,
                now=time.time(),
                elapsed_s=time.monotonic() - self.began,
                stopped=verdict.stopped,
                error=verdict.error,
                error_slug=verdict.error_slug,
            )
            if verdict.status is Status.PENDING or not foreseen:
                # One that waits shows nothing yet; what a defect ended may not be fit to be counted here.
                ended = store.finish(self.run.id, verdict.status, **ending)
                return RunResult(ended, (), store.tally(ended.id))
            # Nobody may take the run while its scores are being counted.
            store.renew(self.run.id, owner=self.sitting.owner, until=time.time() + self.sitting.lease_s)
            return close(store, self.run.id, verdict.status, **ending)
        except (StoreError, Conflict):
            if error is None:
                raise
            # The database has gone, or another process has the run: the first error is the one to tell. The
            # row still says "running", and resume sees that this process has ended.
            raise error from None


async def _ask_all(run: Run, ready: Ready, limits: Limits, sitting: Sitting) -> str | None:
    """Ask what is missing; returns why it stopped early, or None."""
    store = sitting.store
    asked = _missing(store, run, ready)
    parallel = _parallel(ready.provider, limits)
    settled = store.run(run.id).settled
    meter = Meter(run, settled, parallel)
    budget = Budget(limits, meter, ready.cell, sitting.strict, sitting.spent)
    terms = Terms(
        limiter=_limiter(ready, limits, sitting),
        parallel=parallel,
        retry=sitting.retry,
        drawing=budget.allows,
    )
    keeper = Keeper(store, run.id, owner=sitting.owner, lease_s=sitting.lease_s)
    showing = asyncio.create_task(keep_showing(meter, sitting.watch)) if sitting.watch else None
    beating = asyncio.create_task(keep_pulse(store, meter))
    thresholds = gc.get_threshold()
    try:
        LOG.info("run %s asks %s", run.id, asked_of(run, ready.provider.address, settled, limits))
        async with asyncio.timeout(limits.timeout_s):
            await ready.provider.warm()
            _relax_gc()
            async for attempt in attempts(asked, ready.provider, ready.source.read, terms, meter.traffic):
                keeper.keep(attempt)
                meter.count(attempt)
                meter.committed = keeper.committed
                budget.notice(attempt.reply is not None)
                if keeper.backlog > BACKLOG:
                    await _until_kept(keeper)
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
        keeper.close()
        meter.committed = keeper.committed
        if sitting.watch:
            sitting.watch(meter.look(ended=True))
    return budget.outcome()


def _relax_gc() -> None:
    """The modules and the source live as long as the run, and attempts hold no cycles: look at both seldom."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


async def _until_kept(keeper: Keeper) -> None:
    # The keeper is a thread and cannot set an asyncio.Event; looking now and then is simpler than a bridge.
    while keeper.backlog > BACKLOG // 2:  # noqa: ASYNC110 - see above
        await asyncio.sleep(0.01)


def _missing(store: Store, run: Run, ready: Ready) -> Iterator[Asking]:
    """The askings of the run that have no outcome yet, in the run's order."""
    settled = store.settled(run.id)
    tries = store.next_attempts(run.id)
    for repeat in range(ready.cell.repeats):
        for position, item in enumerate(ready.source.items()):
            key = (item.id, repeat)
            if key not in settled:
                yield Asking(item, position, repeat, tries.get(key, 0))


def _parallel(provider: Provider, limits: Limits) -> int:
    if provider.pacing is None:
        return WITHOUT_SERVER
    return limits.parallel or provider.pacing.most


def _limiter(ready: Ready, limits: Limits, sitting: Sitting) -> Limiter | None:
    """The limiter of this provider, endpoint, key and model; runs of one process share it."""
    pacing = ready.provider.pacing
    if pacing is None:
        return None
    if limits.parallel:
        pacing = Pacing(limits.parallel, limits.parallel, fixed=True)
    model = ready.cell.model
    # The key itself need not stand here: a process has one key per provider.
    key = (model.provider, ready.provider.address, model.name, str(pacing))
    return sitting.limiters.setdefault(key, Limiter(pacing))


def new_manifest(each: Ready, replies: str | None) -> dict[str, Any]:
    """What the run's numbers rest on, as far as it is known before the first item."""
    cell = each.cell
    return {
        **each.source.manifest,
        "proctor": __version__,
        "model": {
            "name": str(cell.model),
            "address": each.provider.address or None,
            "digest": each.listed.digest,
            "quantization": each.listed.quantization,
            "parameters": each.listed.parameters,
            "note": each.listed.note,
            "server": str(each.listed.server) if each.listed.server else None,
        },
        # Only what reached the model: a manifest must not claim a setting that the protocol has no word for.
        "sampling": {k: v for k, v in asdict(cell.sampling).items() if k not in each.provider.unsent},
        "mode": cell.sampling.mode,
        "remarks": list(each.listed.remarks),
        "not_sent": _not_sent(cell.sampling, each.provider.unsent),
        "repeats": cell.repeats,
        "replies": replies,
    }


def _not_sent(sampling: Sampling, unsent: Collection[str]) -> list[str]:
    """What the user asked for although the model's protocol has no word for it."""
    usual = Sampling()
    return sorted(name for name in unsent if getattr(sampling, name) != getattr(usual, name))


def dead_owner(store: Store, run_id: str) -> str | None:
    """The run's owner, if it was a process of this machine that no longer lives."""
    owner = store.owner_of(run_id)
    host, _, pid = (owner or "").rpartition(":")
    if not owner or host != socket.gethostname() or not pid.isdigit():
        return None
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return owner
    except PermissionError:
        return None
    return None
