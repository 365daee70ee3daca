"""What of a judging was done before: nothing is asked twice because a command is given twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from proctor.errors import Conflict
from proctor.protocols import Source
from proctor.references import JudgingRef
from proctor.service.context import Context, dead_owner
from proctor.service.judges.wanted import JudgingWanted, judging_plan
from proctor.service.judging.judged import considered
from proctor.service.judging.names import grader_of, judge_name
from proctor.service.judging.panel import settle_together
from proctor.service.results.outcome import PlanOutcome
from proctor.service.runs.lifecycle import open_sources, resume, start
from proctor.service.runs.pace.progress import Watch
from proctor.store import Store
from proctor.store.write.grades import Place
from proctor.types import Cell, Limits, Plan, Run


@dataclass(frozen=True, slots=True)
class JudgingTodo:
    """`plan` is what nobody was asked yet, None for nothing; `begun` are judges' runs that go on; `done` have all.

    `wanted` is the plan of all of it: what goes on is asked at the addresses and within the limits of now.
    """

    plan: Plan | None
    wanted: Plan
    begun: tuple[Run, ...] = ()
    done: tuple[Run, ...] = ()


def judging_todo(context: Context, wanted: JudgingWanted, *, base: Limits | None = None) -> JudgingTodo:
    """What is left of what somebody wants judged. Raises: as `judging_plan`; Conflict while it is being judged."""
    plan = judging_plan(context, wanted, base=base)
    cells, begun, done = [], [], []
    for cell in plan.cells:
        earlier = earlier_judgings(context.store, cell)
        if at_work := [
            run for run in earlier if run.finished_at is None and not _is_dead(context.store, run)
        ]:
            raise Conflict(
                f"Run {at_work[0].id[:8]} judges these replies just now ({at_work[0].cell.model}): wait for its end"
            )
        open_ends = [run for run in earlier if run.partial or run.finished_at is None or not run.planned]
        begun += open_ends
        if not earlier:
            cells.append(cell)
        elif not open_ends and _has_more(context.store, cell, earlier):
            cells.append(_the_rest(cell, earlier[0]))
        elif not open_ends:
            done += earlier[:1]
    left = replace(plan, cells=tuple(cells)) if cells else None
    return JudgingTodo(left, plan, tuple(begun), tuple(done))


def earlier_judgings(store: Store, cell: Cell) -> list[Run]:
    """The runs in which this judge judged the same run in the same way, the newest first."""
    ref = cell.source
    assert isinstance(ref, JudgingRef)
    name = judge_name(cell.model, ref, cell.repeats, cell.sampling)
    return [
        run
        for run in store.runs(limit=None, source=ref.listed)
        if isinstance(run.cell.source, JudgingRef)
        and run.cell.source.run == ref.run
        and grader_of(run) == name
    ]


def _is_dead(store: Store, run: Run) -> bool:
    return dead_owner(store, run.id) is not None


def _the_rest(cell: Cell, earlier: Run) -> Cell:
    """Without the replies that have this judge's grade already; what it left without one, it is asked once more."""
    ref = cell.source
    assert isinstance(ref, JudgingRef)
    return replace(cell, source=replace(ref, without=grader_of(earlier)))


def _has_more(store: Store, cell: Cell, earlier: Sequence[Run]) -> bool:
    """Whether there are replies that no earlier judging was about: of a run that was resumed, or under a limit.

    What the judge left without a grade is asked once more where it may now write or read more than it could.
    """
    ref = cell.source
    assert isinstance(ref, JudgingRef)
    if ref.against:
        return False
    judged, known = store.run(ref.run), set[Place]()
    if cell.sampling != earlier[0].cell.sampling:
        return any(True for _ in considered(store, judged, replace(ref, without=grader_of(earlier[0]))))
    for run in earlier:
        if isinstance(of := run.cell.source, JudgingRef):
            known |= {(row.item_id, row.repeat, row.attempt) for row in considered(store, judged, of)}
    return any((row.item_id, row.repeat, row.attempt) not in known for row in considered(store, judged, ref))


Begin = Callable[[Plan, Sequence[Source]], None]


@dataclass(frozen=True, slots=True)
class Judged:
    """How it ended: an outcome of what went on and of what was new, and all judges' runs that it is about."""

    outcomes: tuple[PlanOutcome, ...]
    runs: tuple[Run, ...]


def judge(
    context: Context,
    todo: JudgingTodo,
    *,
    begin: Begin = lambda _plan, _sources: None,
    watch: Watch | None = None,
) -> Judged:
    """Go on with what was begun, then ask what nobody was asked yet.

    `begin` hears of a new plan before its first call. Raises ProctorError while nothing is stored yet.
    """
    found: list[PlanOutcome] = []
    for model in dict.fromkeys(cell.model for cell in todo.wanted.cells):
        ids = [run.id for run in todo.begun if str(run.cell.model) == str(model)]
        if ids and not any(each.interrupted for each in found):
            limits, workers = todo.wanted.cells[0].limits, todo.wanted.workers
            at = model if model.base_url else None  # where none was named, where it was asked before
            found.append(resume(context, ids, limits=limits, watch=watch, at=at, workers=workers))
    if todo.plan is not None and not any(each.interrupted for each in found):
        sources = open_sources(todo.plan, context.settings)
        begin(todo.plan, sources)
        found.append(start(context, todo.plan, watch=watch, sources=sources))
    ended = (result.run for outcome in found if outcome.evaluation for result in outcome.evaluation.results)
    runs = (*todo.done, *ended)
    settle_together(context.store, runs)
    return Judged(tuple(found), runs)
