"""What the process of a job does: opens the rows, asks what is missing, and says how it ended."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from types import FrameType

from proctor.errors import (
    AttemptError,
    Conflict,
    DiskFull,
    EndpointNotFound,
    ErrorBudget,
    ProctorError,
    SharedError,
    StoreError,
)
from proctor.protocols import Source
from proctor.service.admin.addresses import settings_for, settings_to_ask_again
from proctor.service.context import LEASE_S, Context
from proctor.service.evidence import changes
from proctor.service.kinds import kind_of
from proctor.service.opening.needs import bring_cells
from proctor.service.opening.sources import open_source, with_servers
from proctor.service.results.advice import goes_on
from proctor.service.results.causes import causes_of
from proctor.service.results.comparable import comparability, exam
from proctor.service.runs.asking import Ready, RunContext, as_it_ended
from proctor.service.runs.lease import Lease
from proctor.service.runs.lifecycle import beside
from proctor.service.runs.manifest import new_manifest
from proctor.service.runs.queue import workers_there
from proctor.service.runs.resuming import as_it_began, graded_as_it_began, same_rows
from proctor.service.runs.running import Interrupted, help_cell, run_cells
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.queue import endings, entries, shards
from proctor.store.queue.endings import Try, Verdict
from proctor.types import Cell, Run, Status


def end_on_sigterm() -> None:
    """Have the first SIGTERM raise Interrupted in this process's main thread, and further ones do nothing."""

    def ended(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Interrupted

    signal.signal(signal.SIGTERM, ended)


def work_on(
    context: Context,
    run_id: str,
    owner: str,
    *,
    lease_s: float = LEASE_S,
    say: Callable[[str], None] = lambda _text: None,
) -> None:
    """Do the work of a run that a worker took under the name `owner`, or go on with it.

    However it ends, its row says so, and `say` hears of it for the run's log. Raises StoreError if not even
    that could be written.
    """
    store = context.store
    begins = entries.job(store, run_id)
    say(_begins(begins))
    closing = JobEnding(store, run_id, owner, context.settings.first_retry_s, begins.run.settled)
    try:
        with Lease(store, run_id, owner, lease_s):
            _ask(closing, context.settings, lease_s)
    except Interrupted:
        closing.close(Status.CANCELLED, None)
    except ProctorError as error:
        closing.close(Status.FAILED, error)
    say(_ended(entries.job(store, run_id)))
    changes.count(store, run_id)


def _begins(job: entries.Job) -> str:
    run = job.run
    return f"try {job.tries} of {entries.MOST_TRIES}, {run.settled} of {run.planned} items settled before"


def _ended(job: entries.Job) -> str:
    run = job.run
    told = f"{run.status}, {run.settled} of {run.planned} items settled"
    if run.status is Status.RUNNING:
        return "ended; another process has the run by now"
    if run.status is not Status.PENDING:
        return f"{told}: {run.error}" if run.error else told
    if not run.error:
        return f"{told}: the worker was stopped, the next one goes on"
    return f"{told}, {endings.next_try(job.run_after, job.tries)}: {run.error}"


def _ask(closing: JobEnding, settings: Settings, lease_s: float) -> None:
    store, owner = closing.store, closing.owner
    run = store.run(closing.run_id)
    settings = settings_for(run.cell, entries.job(store, run.id).user, settings)
    bring_cells(Context(settings, store), [run.cell])
    source = open_source(as_it_began(run), settings)
    began_before = run.manifest.opened
    if began_before:
        source = graded_as_it_began(run, source)
        same_rows(run, source)
    cell = replace(run.cell, source=kind_of(run.cell.source).found(run.cell.source, source))

    def submit(ready: Sequence[Ready]) -> Sequence[Run]:
        if began_before:
            return [run]
        manifest = new_manifest(ready[0], None)
        facts = entries.OpenedFacts(
            cell=cell,
            source_title=source.title,
            planned=kind_of(cell.source).planned(source, cell),
            manifest=manifest,
            comparability=comparability(manifest),
            exam=exam(manifest),
            sample=source.facts.sample,
        )
        return [entries.prepare(store, run.id, owner=owner, facts=facts)]

    with beside([cell], settings) as besides, with_servers([cell], [source], settings) as cells:
        context = RunContext(
            settings,
            store,
            owner=owner,
            lease_s=lease_s,
            strict=True,
            spent=endings.spent(store, run.id),
            ends_as=closing.ends_as,
            besides=besides,
            fleet=partial(workers_there, Context(settings, store)),
        )
        run_cells(cells, [source], submit, context)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Under which name and lease a helper works; `parent` is the process that it ends with.

    `cell` is what its parent asks, with the model at the address where it is; None: it is found as the run has it.
    """

    owner: str
    lease_s: float = LEASE_S
    parent: int | None = None
    cell: Cell | None = None


def help_on(
    context: Context, run_id: str, terms: Assignment, *, say: Callable[[str], None] = lambda _text: None
) -> None:
    """Ask shards of a run until none is free, or its owner asks no more.

    Raises: ProctorError for what this machine lacks, and for what stops the run, which its owner is told.
    """
    store = context.store
    run = store.run(run_id)
    try:
        with Lease(store, run_id, terms.owner, terms.lease_s, helps=True, parent=terms.parent):
            _help(context, run, terms)
    except Conflict as error:  # it has ended, or is too slow for its lease: others have the work
        say(str(error))
    finally:
        shards.put_back(store, owner=terms.owner)
    say(f"helped, {store.run(run_id).settled} of {run.planned} items settled")


def _help(context: Context, run: Run, terms: Assignment) -> None:
    store, settings = context.store, settings_to_ask_again(context, [run])
    if not shards.look(store, run.id).running:
        raise Conflict(f"Run {run.id} is at work no more: there is nothing to help with")
    bring_cells(replace(context, settings=settings), [run.cell])
    source: Source = graded_as_it_began(run, open_source(as_it_began(run), settings))
    same_rows(run, source)
    if run.cell.model.provider == "replay":
        source = kind_of(run.cell.source).replayed(source)
    cell = terms.cell or run.cell
    # Limits of the whole run are its owner's to hold.
    whole = {"for_s": None, "max_cost_usd": None, "max_total_tokens": None}
    cell = replace(cell, limits=replace(cell.limits, **whole))  # type: ignore[arg-type]  # all may be None
    servers = nullcontext([cell]) if terms.cell else with_servers([cell], [source], settings)
    with servers as cells:
        working = RunContext(
            settings,
            store,
            owner=terms.owner,
            lease_s=terms.lease_s,
            helps=True,
            fleet=None if terms.cell else partial(workers_there, context),
        )
        help_cell(run, cells[0], source, working)


@dataclass(frozen=True, slots=True)
class JobEnding:
    """Decides what a job's row says when its process ends: ended, or waiting for another try."""

    store: Store
    run_id: str
    owner: str
    first_retry_s: float
    settled_before: int

    def ends_as(self, status: Status, stopped: str | None, error: BaseException | None) -> Verdict:
        """What `running` is to write; a run that waits is told until when beforehand."""
        verdict = self._verdict(status, stopped, error)
        if verdict.status is Status.PENDING:
            endings.put_off(self.store, self.run_id, verdict, owner=self.owner)
        return verdict

    def close(self, status: Status, error: ProctorError | None) -> None:
        """Say how the run ended, if that happened before it was begun; later its row says so already."""
        verdict = self._verdict(status, None, error)
        endings.end(self.store, self.run_id, verdict, owner=self.owner, now=time.time())

    def _verdict(self, status: Status, stopped: str | None, error: BaseException | None) -> Verdict:
        job = entries.job(self.store, self.run_id)
        now = time.time()
        ended = as_it_ended(status, stopped, error)
        if status is Status.CANCELLED and job.cancel_at is None:
            # A signal that nobody's wish to cancel explains: its worker is being stopped.
            return Verdict(Status.PENDING, run_after=now, counted=False)
        if status is Status.CANCELLED:
            return Verdict(Status.CANCELLED, "cancelled")
        may_pass = ended.error_slug in TRANSIENT or _nobody_answers_yet(job, error)
        if isinstance(
            error, ErrorBudget
        ):  # what used it up may be nothing that passes, such as prompts too long
            tally = self.store.tally(self.run_id)
            may_pass = goes_on(job.run, causes_of(self.store, job.run, tally))
        if not may_pass:
            return ended
        # To a full disk, or a bucket out of reach, every run comes to grief, and none is to blame.
        tried = Try(self.settled_before, blameless=isinstance(error, DiskFull | SharedError))
        return endings.after(ended, job, tried, now=now, first_retry_s=self.first_retry_s)


def _nobody_answers_yet(job: entries.Job, error: BaseException | None) -> bool:
    """Nobody answers at an address that was right before, or that a schedule will ask again: an outage.

    For a new job it is more likely a wrong address, which its user is to hear of at once. An error with
    a status is a server's own word, and final.
    """
    known = job.run.manifest.opened or job.schedule_id is not None
    return known and isinstance(error, EndpointNotFound) and error.status is None


def _retryable(error: type[ProctorError]) -> frozenset[str]:
    found = {error.slug} if issubclass(error, AttemptError) and error.retryable else set()
    return frozenset(found).union(*(_retryable(kind) for kind in error.__subclasses__()))


# Failures that may pass by themselves: what a provider's error calls retryable, too many of those, a lost
# database, a shard that somebody else took because a busy machine let its lease run out. A process that died is the
# worker's to judge.
TRANSIENT = _retryable(ProctorError) | {
    kind.slug for kind in (ErrorBudget, StoreError, SharedError, DiskFull, Conflict)
}
