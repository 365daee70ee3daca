"""What the dashboard's first page and its history show: figures over many runs, read off their kept scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from proctor.service.desk import Desk
from proctor.service.jobs_view import RunLine, Wanted
from proctor.service.results import make_good
from proctor.store import history, lists
from proctor.store.history import PARTIAL, Mean, Measured, Searched
from proctor.suites.tasks import TASKS

__all__ = [
    "Cards",
    "Mean",
    "Measured",
    "Overview",
    "Searched",
    "cards",
    "latest_source",
    "overview",
    "page",
    "rates",
]

DAY_S = 86400.0
ENDED = ("completed", PARTIAL, "failed", "cancelled")
EXTRAS = tuple(key for key, task in TASKS.items() if task.extra)  # no part of a suite's score


@dataclass(frozen=True, slots=True)
class Cards:
    """`average` is the mean of the complete runs' values, `half_width` of its 95 % interval at most.

    Runs of one suite ask the same items, so their errors go together; the half width is that of errors
    that go together wholly, and no dependence makes the true one larger. Of each run's interval it takes
    the longer side. None where a run has no interval. `counts` has the partial runs apart.
    """

    average: float | None
    half_width: float | None
    measured: int
    counts: Mapping[str, int]
    models: int
    latest: RunLine | None


@dataclass(frozen=True, slots=True)
class Overview:
    """`trend` has the complete runs by the time of their end; `means` are by run id and metric."""

    cards: Cards
    trend: Sequence[Measured]
    recent: Sequence[RunLine]
    means: Mapping[str, Mapping[str, Mean]]
    sample: bool


def overview(
    desk: Desk, *, source: str | None, metric: str, days: int, project_id: int | None = None, recent: int = 10
) -> Overview:
    """Over the runs of the last `days`; `source` None is all."""
    wanted = Wanted(source=source, project_id=project_id, since=time.time() - days * DAY_S)
    asked = Searched(wanted)
    make_good(desk.store)
    found = history.measured(desk.store, asked, metric, extras=EXTRAS)
    lines, _ = history.page(desk.store, asked, limit=recent)
    means = history.means(desk.store, [line.id for line in lines], ("accuracy", "f1"), extras=EXTRAS)
    made = cards(found, history.counts(desk.store, asked))
    return Overview(made, found, lines, means, any(each.run.sample for each in found))


def cards(found: Sequence[Measured], counts: Mapping[str, int]) -> Cards:
    """What the cards show of complete runs, and of all runs by state."""
    sides = [
        max(each.value - each.low, each.high - each.value)
        for each in found
        if each.low is not None and each.high is not None
    ]
    return Cards(
        average=fmean(each.value for each in found) if found else None,
        half_width=fmean(sides) if sides and len(sides) == len(found) else None,
        measured=len(found),
        counts=counts,
        models=len({each.run.full_model for each in found}),
        latest=max((each.run for each in found), key=lambda run: run.finished_at or 0.0, default=None),
    )


def latest_source(desk: Desk) -> str | None:
    """The suite or file of the newest run; None where there is none."""
    lines, _ = lists.run_lines(desk.store, Wanted(), limit=1)
    return lines[0].source if lines else None


def page(
    desk: Desk, asked: Searched, *, before: int | None = None, limit: int = 50
) -> tuple[list[RunLine], int | None, dict[str, dict[str, Mean]]]:
    """Runs, what begins the next page, and the runs' accuracy and F1."""
    make_good(desk.store)
    lines, after = history.page(desk.store, asked, before=before, limit=limit)
    return (
        lines,
        after,
        history.means(desk.store, [line.id for line in lines], ("accuracy", "f1"), extras=EXTRAS),
    )


def rates(desk: Desk, asked: Searched) -> tuple[dict[str, int], float | None]:
    """Runs by state, and the share of the ended ones that are complete; None if none has ended."""
    counts = history.counts(desk.store, asked)
    ended = sum(counts.get(name, 0) for name in ENDED)
    return counts, counts.get("completed", 0) / ended if ended else None
