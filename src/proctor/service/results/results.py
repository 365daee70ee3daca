"""What a run shows: its scores and tally, read off the kept attempts."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, Unpack

from proctor.engine.prefix import gapless
from proctor.errors import ConfigError, DataError, NotFound, StoreError
from proctor.findings import RunResult, Score
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.service.results.causes import as_records, causes_of
from proctor.service.results.profile import counted_tally, has_summary, summary_of, tally_of
from proctor.service.results.schemas import with_adherence
from proctor.stats.estimates import Scored, Shape, TaskShape, scores
from proctor.store import AttemptRow, Store
from proctor.store.core.runs import Ending
from proctor.store.core.scores import Figures, lacking
from proctor.store.core.scores import add as add_figures
from proctor.types import Item, Outcome, Run, Status


class Kept(Protocol):
    """Where the attempts of runs are found: the store, or an unpacked bundle."""

    def latest(self, run_id: str) -> Iterator[AttemptRow]: ...

    def item(self, digest: str) -> Item: ...


def close(store: Store, run_id: str, status: Status, **ending: Unpack[Ending]) -> RunResult:
    """End `owner`'s work on a run for good: what it shows is counted first, and kept in one transaction with its end.

    Raises Conflict if the run is no longer `owner`'s, StoreError, NotFound.
    """
    run = store.run(run_id)
    tally = counted_tally(store, run)
    settled = sum(tally.outcomes.values()) - tally.outcomes.get(Outcome.ERROR.value, 0)
    run = replace(
        with_adherence(store, run),
        status=status,
        stopped=ending.get("stopped"),
        settled=settled,
    )
    found = RunResult(run, _scores(store, run), tally, causes_of(store, run, tally))
    ending["figures"] = _figures(store, found)
    return replace(found, run=store.finish(run_id, status, **ending))


def _figures(store: Store, result: RunResult) -> Figures:
    summary = summary_of(store, result.run, result.tally)
    return Figures(result.scores, {**summary, "causes": as_records(result.causes)})


def shown(store: Store, run: Run) -> RunResult:
    """The run as it stands: its kept figures if it has ended, else computed from the rows so far."""
    if not run.manifest.opened:  # a job that nothing was asked for yet
        return _counted(store, run, ())
    kept = store.scores(run.id) if run.finished_at else ()
    if run.finished_at and not has_summary(store, run):
        return _made_good(store, run, kept)
    if not kept:
        return computed(store, run)
    tally = tally_of(store, run)
    return RunResult(run, kept, tally, causes_of(store, run, tally))


def _counted(store: Store, run: Run, found: tuple[Score, ...]) -> RunResult:
    tally = counted_tally(store, run)
    return RunResult(run, found, tally, causes_of(store, run, tally))


def _made_good(store: Store, run: Run, kept: tuple[Score, ...]) -> RunResult:
    """An ended run without figures gets them: the scores that it has, if an older version wrote them alone."""
    with suppress(StoreError):
        run = with_adherence(store, run)
    result = _counted(store, run, kept) if kept else computed(store, run)
    with suppress(StoreError):  # a full or read-only disk is no reason to show nothing
        add_figures(store, run, _figures(store, result))
    return result


def make_good(
    context: Context, *, longest_s: float = math.inf, hopeless: set[str] | None = None
) -> list[str]:
    """Give all ended runs that lack figures theirs; says what it did.

    Whatever reads kept scores of several runs asks for this first; to find that none lacks any costs one
    look at the runs' rows. After `longest_s` no other run is begun; those whose rows cannot be scored are
    added to `hopeless`, and left alone if they are in it. Raises StoreError.
    """
    told: list[str] = []
    hopeless = set() if hopeless is None else hopeless
    began = time.monotonic()
    for run_id in lacking(context.store):
        if told and time.monotonic() - began > longest_s:
            break
        if run_id in hopeless:
            continue
        try:
            shown(context.store, context.store.run(run_id))
            told.append(f"run {run_id}: it had ended without scores; they are counted and kept now")
        except NotFound:
            continue  # deleted meanwhile
        except (ArithmeticError, LookupError, TypeError, ValueError, ConfigError, DataError) as error:
            hopeless.add(run_id)
            told.append(f"run {run_id}: it ended without scores, and its rows cannot be scored: {error!r}")
    return told


def computed(store: Store, run: Run) -> RunResult:
    """What the run shows by the rows of now, whatever is kept."""
    return _counted(store, run, _scores(store, run))


def _scores(store: Store, run: Run) -> tuple[Score, ...]:
    """Counted from the rows; where the source says of no task what counts, no row is read."""
    of = shape(run)
    return scores(marks(store, run), of) if of.tasks else ()


def scored_rows(store: Kept, run: Run) -> Iterator[AttemptRow]:
    """The latest attempt at each item, as far as the run got without a gap.

    What ended beyond the first gap of a run that stopped early ended because it was quick; counting it
    would favour easy items.
    """
    if not run.partial and not run.stopped:
        yield from store.latest(run.id)
        return
    length = gapless(row.position for row in store.latest(run.id))
    for row in store.latest(run.id):
        if row.position >= length:
            return
        yield row


def shape(run: Run) -> Shape:
    """What the statistics need of the run's source: nothing where it says of no task what counts."""
    facts = run.manifest.facts
    tasks = {
        key: TaskShape(
            title=spec.title,
            official=spec.official,
            also=spec.also,
            positive=spec.positive,
            labels=spec.labels,
            kind=spec.kind,
            full_size=spec.full_size,
            extra=spec.extra,
        )
        for key, spec in facts.tasks.items()
        if spec.kind is not None
    }
    return Shape(
        suite=run.source_title,
        tasks=tasks,
        aggregate=facts.aggregate or "micro",
        categories=tuple(facts.categories.items()),
        whole=facts.scored_tasks,
        worded=facts.worded,
    )


def marks(store: Kept, run: Run) -> Iterator[Scored]:
    """The run's rows as the statistics take them."""
    tasks = shape(run).tasks
    for row in scored_rows(store, run):
        # Only where a question has several right answers does a metric need to know how many were offered.
        several = row.task in tasks and tasks[row.task].kind == "letters"
        choices = len(store.item(row.item_hash).choices) if several else None
        yield mark(row, choices, by_content=kind_of(run.cell.source).by_content)


def mark(row: AttemptRow, candidates: int | None, *, by_content: bool = False) -> Scored:
    """One row as the statistics take it; `candidates` as in `Scored`. `by_content`: what it shows is its name."""
    return Scored(
        item=row.item_hash if by_content else row.item_id,
        task=row.task,
        target=row.target,
        answer=row.answer,
        outcome=row.outcome,
        score=row.score,
        cluster=row.cluster,
        half=_half(row),
        repeat=row.repeat,
        candidates=candidates,
        content=row.item_hash,
    )


def _half(row: AttemptRow) -> str | None:
    """The half of MNLI that an item is from, "m" or "mm": its id begins with it."""
    rest = row.item_id.partition("/")[2]
    return rest.partition("-")[0] if rest.startswith(("m-", "mm-")) else None
