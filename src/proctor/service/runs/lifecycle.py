"""The life of runs: start a plan, resume, rerun, look."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import NoReturn

from proctor.engine.retry import Retry
from proctor.errors import Conflict, ProctorError, StoreError
from proctor.findings import Evaluation, RunResult
from proctor.findings.looks import Decision
from proctor.plan import check
from proctor.protocols import Grader, Source
from proctor.references import SourceRef
from proctor.service.abreast.checks import check_decidable, going_on_together
from proctor.service.admin.addresses import settings_to_ask_again
from proctor.service.checked.evaluated import as_checked
from proctor.service.context import Context, dead_owner, find
from proctor.service.evidence.evaluation import evaluation, of_plan
from proctor.service.grades.view import GradedView
from proctor.service.kinds import kind_of
from proctor.service.kinds.contract import Beside, Tell
from proctor.service.kinds.planned import planned
from proctor.service.looks.beforehand import ledger_of
from proctor.service.looks.peeks import looked
from proctor.service.opening.needs import bring_cells
from proctor.service.opening.sources import open_source, with_servers
from proctor.service.results.causes import failed_whole
from proctor.service.results.comparable import comparability, exam
from proctor.service.results.diagnosis import diagnose
from proctor.service.results.outcome import PlanOutcome
from proctor.service.results.results import scored_rows, shown
from proctor.service.results.wordings import by_wording, spread_note
from proctor.service.runs.asking import Ready, RunContext
from proctor.service.runs.manifest import new_manifest
from proctor.service.runs.pace.progress import Watch
from proctor.service.runs.parts import begun
from proctor.service.runs.resuming import going_on, graded_as_it_began, same_rows
from proctor.service.runs.running import Interrupted, run_cells
from proctor.settings import Settings
from proctor.store import Store
from proctor.types import Cell, Limits, Model, Plan, Run, Status

KILLED = "its process was killed"


def open_sources(
    plan: Plan, settings: Settings, *, tell: Tell | None = None, fetch: bool = True
) -> list[Source]:
    """One source a cell; cells that ask the same share one. `tell` and `fetch` as in `open_source`."""
    opened: dict[object, Source] = {}
    for cell in plan.cells:
        if cell.source not in opened:
            opened[cell.source] = open_source(cell.source, settings, tell=tell, fetch=fetch)
    return [
        kind_of(cell.source).replayed(source) if cell.model.provider == "replay" else source
        for cell in plan.cells
        if (source := opened[cell.source])
    ]


def resolved(plan: Plan, settings: Settings) -> Plan:
    """The plan with what the environment decides written into it, so that a resume decides the same."""
    return replace(
        plan,
        cells=tuple(replace(c, source=kind_of(c.source).resolved(c.source, settings)) for c in plan.cells),
        replies=str(Path(plan.replies).absolute()) if plan.replies else None,
    )


@dataclass(frozen=True, slots=True)
class After:
    """The runs that those of a plan follow, and what each takes over before its first item is asked."""

    parents: Sequence[str] = ()
    take_over: Callable[[Run, Source], None] = lambda _run, _source: None


def start(
    context: Context,
    plan: Plan,
    *,
    watch: Watch | None = None,
    sources: Sequence[Source] | None = None,
    after: After = After(),
    retry: Retry = Retry(),
    grader: Grader | None = None,
) -> PlanOutcome:
    """Run a new plan to its end; `grader` grades all replies in place of the sources' own.

    Raises ProctorError while nothing is stored yet (bad plan, rows missing, model not found). From
    then on what stops the runs is in the Outcome, with what they show so far.
    """
    plan = resolved(check(plan), context.settings)
    sources = sources or open_sources(plan, context.settings)
    if grader is not None:
        sources = [kind_of(c.source).graded_with(s, grader) for c, s in zip(plan.cells, sources, strict=True)]
    pairs = zip(plan.cells, sources, strict=True)
    plan = replace(
        plan, cells=tuple(replace(c, source=kind_of(c.source).found(c.source, s)) for c, s in pairs)
    )
    check_decidable(plan, sources)
    store = context.store
    if before := begun(store, plan):
        return _on_with_part(context, before, plan, watch)
    made: list[Run] = []

    def submit(ready: Sequence[Ready]) -> Sequence[Run]:
        _add_runs(store, plan, after.parents, made, ready)
        for run, each in zip(made, ready, strict=True):
            after.take_over(run, each.source)
        return made

    with (
        beside(plan.cells, context.settings) as besides,
        with_servers(plan.cells, sources, context.settings) as cells,
    ):
        working = RunContext(context.settings, store, watch, retry, besides=besides, workers=plan.workers)
        try:
            run_cells(cells, sources, submit, working, replies=plan.replies)
        except (ProctorError, Interrupted) as error:
            if made:
                return _stopped(context, made, error)
            if isinstance(error, Interrupted):
                raise KeyboardInterrupt from None  # before anything was stored there is nothing to resume
            raise
    return _ended(context, made, besides, decided=working.decided())


def _on_with_part(context: Context, before: Sequence[Run], plan: Plan, watch: Watch | None) -> PlanOutcome:
    """The part that the same words began here before, with what it lacks; of one that lacks nothing, what it shows."""
    if not any(run.partial or run.finished_at is None for run in before):
        return as_they_are(context, before) or _ended(context, before)
    one = plan.cells[0]
    at = one.model if len(plan.cells) == 1 else None
    return resume(context, [run.id for run in before], limits=one.limits, watch=watch, at=at)


def _add_runs(
    store: Store, plan: Plan, parents: Sequence[str], made: list[Run], ready: Sequence[Ready]
) -> None:
    """The plan and a pending run for each of its cells, all of them before the first item is asked."""
    now = time.time()
    plan_id = store.add_plan(plan, now=now)
    for index, (cell, each) in enumerate(zip(plan.cells, ready, strict=True)):
        manifest = new_manifest(each, plan.replies)
        run = store.add_run(
            plan_id,
            cell,
            source_title=each.source.title,
            planned=planned(cell, each.source),
            manifest=manifest,
            comparability=comparability(manifest),
            exam=exam(manifest),
            sample=manifest.facts.sample,
            now=now,
            parent_id=parents[index] if parents else None,
        )
        made.append(run)


@contextmanager
def beside(cells: Sequence[Cell], settings: Settings) -> Iterator[Mapping[SourceRef, Beside]]:
    """The files that grow beside the runs of these cells, opened and locked. Raises: ConfigError, Conflict."""
    with ExitStack() as opened:
        files = {c.source: opened.enter_context(kind_of(c.source).beside(c.source, settings)) for c in cells}
        yield {source: file for source, file in files.items() if file is not None}


def resume(
    context: Context,
    ids: Sequence[str],
    *,
    limits: Limits | None = None,
    watch: Watch | None = None,
    at: Model | None = None,
    workers: int = 1,
    whole: bool = False,
) -> PlanOutcome:
    """Continue runs (or all runs of a plan) with what is missing or ended in an error, `workers` processes at each.

    `at` is the model where its server has another address by now. Of runs that lack nothing, a file that grows beside
    them is put right. Of runs that are asked until it is decided, all of their plan go on, unless the `whole` of them
    is to be asked.
    """
    store = context.store
    runs = [run for ident in ids for run in find(store, ident)]
    todo = [run for run in runs if run.partial or run.finished_at is None]
    if not whole and any(run.cell.limits.until_decided for run in todo):
        runs, todo = going_on_together(store, runs, workers)
        if not todo:
            return _ended(context, runs)
    if not todo:
        return as_they_are(context, runs) or _nothing_to_resume(ids)
    context = replace(context, settings=settings_to_ask_again(context, todo))
    plan = Plan(tuple(going_on(run, limits, at, whole=whole) for run in todo))
    replies = todo[0].manifest.replies
    bring_cells(context, [run.cell for run in todo])
    pairs = zip(todo, open_sources(plan, context.settings), strict=True)
    sources = [graded_as_it_began(run, source) for run, source in pairs]

    def submit(ready: Sequence[Ready]) -> Sequence[Run]:
        return todo

    for run, source in zip(todo, sources, strict=True):
        same_rows(run, source)
    with (
        beside(plan.cells, context.settings) as besides,
        with_servers(plan.cells, sources, context.settings) as cells,
    ):
        working = RunContext(context.settings, store, watch, besides=besides, workers=workers)
        try:
            run_cells(cells, sources, submit, working, replies=replies)
        except (ProctorError, Interrupted) as error:
            return _stopped(context, runs, error)
    return _ended(context, runs, besides, decided=working.decided())


def _nothing_to_resume(ids: Sequence[str]) -> NoReturn:
    raise Conflict(f"Nothing to resume: every item of {', '.join(ids)} has its outcome")


def as_they_are(context: Context, runs: Sequence[Run]) -> PlanOutcome | None:
    """What ended runs show, once the files beside them are put right; None where there are none, and nothing to do."""
    with beside([run.cell for run in runs], context.settings) as besides:
        for run in runs:
            if (file := besides.get(run.cell.source)) is not None:
                file.begin(context.store, run, asks=False)
                file.end()
    return _ended(context, runs, besides) if besides else None


def rerun(
    context: Context, ident: str, *, watch: Watch | None = None, wait_for_server_s: float | None = None
) -> PlanOutcome:
    """A new run (or plan) from the same words, with the old one as parent."""
    store = context.store
    runs = find(store, ident)
    if runs[0].cell.limits.until_decided:  # one alone decides nothing
        runs = store.plan_runs(runs[0].plan_id)
    context = replace(context, settings=settings_to_ask_again(context, runs))
    bring_cells(context, [run.cell for run in runs])
    fresh = _afresh([run.cell.source for run in runs], context)
    cells = tuple(replace(run.cell, source=fresh[run.cell.source]) for run in runs)
    if wait_for_server_s is not None:
        cells = tuple(
            replace(cell, limits=replace(cell.limits, wait_for_server_s=wait_for_server_s)) for cell in cells
        )
    plan = Plan(cells, replies=runs[0].manifest.replies)
    return start(context, plan, watch=watch, after=After([run.id for run in runs]))


def _afresh(refs: Sequence[SourceRef], context: Context) -> Mapping[SourceRef, SourceRef]:
    """By each reference that of another run; those of one kind are asked for together."""
    kinds = {
        kind: [ref for ref in dict.fromkeys(refs) if kind_of(ref) == kind] for kind in map(kind_of, refs)
    }
    return {
        old: new for kind, of in kinds.items() for old, new in zip(of, kind.afresh(of, context), strict=True)
    }


def look(context: Context, ids: Sequence[str], *, grader: str | None = None) -> Evaluation:
    """Runs as they stand, side by side; an id may be a plan's. `grader` as in `GradedView`."""
    runs = [run for ident in ids for run in find(context.store, ident)]
    view = GradedView(context.store, grader)
    results = [view.shown(_as_it_is(context.store, run)) for run in runs]
    one_plan = len({run.plan_id for run in runs}) == 1
    ledger = ledger_of(context.store, runs, grader=grader)
    found = (of_plan if one_plan else evaluation)(view, results, ledger=ledger)
    looked(context, runs)
    return as_checked(context, found, grader)


def list_runs(
    context: Context,
    *,
    limit: int = 20,
    model: str | None = None,
    source: str | None = None,
    status: str | None = None,
) -> list[RunResult]:
    """The newest runs first."""
    wanted = Status(status) if status else None
    store = context.store
    runs = store.runs(limit=limit, model=model, source=source, status=wanted)
    looked(context, runs)
    return [shown(store, _as_it_is(store, run)) for run in runs]


def _as_it_is(store: Store, run: Run) -> Run:
    """A run whose process was killed is kept as running until somebody resumes it: here it is said."""
    killed = run.status is Status.RUNNING and dead_owner(store, run.id) is not None
    return replace(run, stopped=KILLED) if killed else run


def _ended(
    context: Context,
    runs: Sequence[Run],
    besides: Mapping[SourceRef, Beside] = MappingProxyType({}),
    *,
    decided: Decision | None = None,
) -> PlanOutcome:
    results = [shown(context.store, context.store.run(run.id)) for run in runs]
    unfinished = tuple(r.run.id for r in results if r.run.partial)
    notes = {r.run.id: _notes(context, r) for r in results}
    # Raised by none of them: the other runs of the plan were still to be asked.
    failed = (failed_whole(r) for r in results if r.run.status is Status.FAILED)
    troubles = (each.trouble for each in besides.values())
    error = next((each for each in (*failed, *troubles) if each is not None), None)
    ledger = replace(ledger_of(context.store, runs), decided=decided)
    found = of_plan(context.store, results, ledger)
    looked(context, [result.run for result in results])
    return PlanOutcome(found, unfinished, error, notes=notes)


def _notes(context: Context, result: RunResult) -> tuple[str, ...]:
    """Sentences about a run that has ended."""
    run, store = result.run, context.store
    return (*_spread(store, run), *diagnose(context, result), *kind_of(run.cell.source).said(run, store))


def _spread(store: Store, run: Run) -> tuple[str, ...]:
    if not run.manifest.facts.worded:
        return ()
    note = spread_note(by_wording(scored_rows(store, run)))
    return (note,) if note else ()


def _stopped(context: Context, runs: Sequence[Run], error: ProctorError | Interrupted) -> PlanOutcome:
    """What the runs show although something stopped them. A dead database shows nothing more."""
    known = error if isinstance(error, ProctorError) else None
    ids = tuple(run.id for run in runs)
    if isinstance(known, StoreError):
        return PlanOutcome(None, ids, known)
    ended = _ended(context, runs)
    return replace(ended, unfinished=ended.unfinished or ids, error=known, interrupted=known is None)
