"""What a run shows: its scores and tally, read off the kept attempts."""

from __future__ import annotations

import math
import time
from contextlib import suppress
from dataclasses import replace
from typing import Unpack

from proctor.errors import ConfigError, DataError, NotFound, StoreError
from proctor.findings import RunResult, Score
from proctor.service.context import Context
from proctor.service.results.causes import as_records, causes_of
from proctor.service.results.profile import counted_tally, has_summary, summary_of, tally_of
from proctor.service.results.schemas import with_adherence
from proctor.service.rows.marks import Kept, mark, marks, scored_rows, shape
from proctor.service.rows.trials import trials_of
from proctor.stats.estimates import scores
from proctor.store import Store
from proctor.store.core.runs import Ending
from proctor.store.core.scores import Figures, lacking
from proctor.store.core.scores import add as add_figures
from proctor.types import Outcome, Run, Status

__all__ = ["Kept", "close", "computed", "make_good", "mark", "marks", "scored_rows", "shape", "shown"]


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
    found = RunResult(run, _scores(store, run), tally, causes_of(store, run, tally), trials_of(store, run))
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
    return RunResult(run, kept, tally, causes_of(store, run, tally), trials_of(store, run))


def _counted(store: Store, run: Run, found: tuple[Score, ...]) -> RunResult:
    tally = counted_tally(store, run)
    return RunResult(run, found, tally, causes_of(store, run, tally), trials_of(store, run))


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
