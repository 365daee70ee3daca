"""What the dashboard's first page and its history show: figures over many runs, read off their kept scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.errors import ConfigError
from proctor.service.context import Context
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.leaderboard import default_suite
from proctor.service.results import headline
from proctor.service.results.results import make_good, shown
from proctor.service.watch.job_states import RunFilter, RunLine
from proctor.sources.exams.tables.tasks import TASKS
from proctor.stats.descriptive.averages import Bounded, together
from proctor.store import Store
from proctor.store.read import history, lists
from proctor.store.read.history import (
    ATTENTION,
    DECIDED,
    HEADLINE,
    MOST_SORTED,
    NEWEST_FIRST,
    PARTIAL,
    Facts,
    Measured,
    Order,
    Searched,
    Shown,
)

__all__ = [
    "ATTENTION",
    "DECIDED",
    "HEADLINE",
    "MOST_SORTED",
    "NEWEST_FIRST",
    "PARTIAL",
    "Cards",
    "Facts",
    "Measured",
    "Order",
    "Overview",
    "Searched",
    "Shown",
    "board_suite",
    "cards",
    "facts_of",
    "figures_of",
    "latest_source",
    "overview",
    "page",
    "rates",
    "users",
]

DAY_S = 86400.0
MOST = 2000  # complete runs that are looked at, the newest
ENDED = ("completed", DECIDED, PARTIAL, "failed", "cancelled")
EXTRAS = tuple(key for key, task in TASKS.items() if task.extra)  # no part of a suite's score
LISTED = (HEADLINE, "accuracy", "f1")  # what lists of runs show of each
Figures = Mapping[str, Mapping[str, Shown]]  # run id -> metric -> its score


@dataclass(frozen=True, slots=True)
class Cards:
    """`average` is the mean of the complete runs' values of one exam, `low` to `high` its 95 % interval at widest.

    `of` are the runs that it is of, all asked the very same: those of the exam that ended last, on sample rows only
    where nothing else is. Their errors go together, see `stats.descriptive.averages`; no interval where a run has none.
    `counts` has the partial and the decided runs apart; `models` and `latest` are of all complete runs.
    """

    average: float | None
    low: float | None
    high: float | None
    of: Sequence[Measured]
    counts: Mapping[str, int]
    models: int
    latest: RunLine | None

    @property
    def exams(self) -> str:
        """What the average is of, in words."""
        if not self.of:
            return ""
        run, score = self.of[-1].run, self.of[-1].score
        models = len({each.run.full_model for each in self.of})
        sample = " of sample rows" if run.sample else ""
        runs = f"{len(self.of):,} complete run{'s' if len(self.of) != 1 else ''}"
        who = f"{models:,} model{'s' if models != 1 else ''}"
        return f"{score.metric}; {run.source}, {run.planned:,} items{sample}: {runs} of {who}"


@dataclass(frozen=True, slots=True)
class Overview:
    """`trend` has the complete runs by the time of their end; `figures` the recent ones' scores."""

    cards: Cards
    trend: Sequence[Measured]
    recent: Sequence[RunLine]
    figures: Figures
    sample: bool


def overview(
    context: Context,
    *,
    source: str | None,
    metric: str,
    days: int,
    project_id: int | None = None,
    recent: int = 10,
) -> Overview:
    """Over the runs of the last `days`; `source` None is all."""
    since = time.time() - days * DAY_S
    wanted = RunFilter(source=source, project_id=project_id, since=since)
    asked = Searched(wanted)
    make_good(context)
    known = Lately(context).of_ended(
        f"measured {metric}", wanted, lambda of: _measured(context.store, Searched(of), metric)
    )
    found = [each for each in known if each.run.created_at >= since]
    lines, _ = history.page(context.store, asked, limit=recent)
    made = cards(found, history.counts(context.store, asked))
    return Overview(made, found, lines, figures_of(context, lines), any(each.run.sample for each in found))


def figures_of(context: Context, lines: Sequence[RunLine]) -> Figures:
    """The headline, accuracy and F1 of the runs of a list that have ended."""
    store = context.store
    found, lacking = history.figures(store, [line.id for line in lines], LISTED, extras=EXTRAS)
    for run_id, metric in lacking:
        if score := _made(store, run_id, metric):
            found.setdefault(run_id, {})[metric] = score
    return found


def _measured(store: Store, asked: Searched, metric: str) -> list[Measured]:
    """The complete runs that have the metric, by the time of their end."""
    found, lacking = history.measured(store, asked, metric, extras=EXTRAS, limit=MOST)
    made = [(line, _made(store, line.id, metric)) for line in lacking]
    found += [Measured(line, score) for line, score in made if score and score.value is not None]
    return sorted(found, key=lambda each: each.run.finished_at or 0.0)[-MOST:]


def _made(store: Store, run_id: str, metric: str) -> Shown | None:
    """What an older version did not keep over the run's tasks, made as every view has it, and kept; None if it cannot.

    What cannot be scored, such as damaged rows, must not take the list with it.
    """
    try:
        score = headline.kept(store, shown(store, store.run(run_id)), metric)
    except (ConfigError, ArithmeticError, LookupError, TypeError, ValueError):
        return None
    of = score.estimate
    return Shown(score.metric, of.value, of.low, of.high, of.scored, of.asked)


def cards(found: Sequence[Measured], counts: Mapping[str, int]) -> Cards:
    """What the cards show of complete runs, and of all runs by state."""
    of = _one_exam(found)
    average = together([Bounded(each.score.value, each.score.low, each.score.high) for each in of])
    return Cards(
        average=average.value,
        low=average.low,
        high=average.high,
        of=of,
        counts=counts,
        models=len({each.run.full_model for each in found}),
        latest=max((each.run for each in found), key=lambda run: run.finished_at or 0.0, default=None),
    )


def _one_exam(found: Sequence[Measured]) -> list[Measured]:
    """The runs of the exam that ended last: numbers of unlike exams have no mean."""
    last = max(found, key=lambda each: (not each.run.sample, each.run.finished_at or 0.0), default=None)
    return [] if last is None else [each for each in found if exam_of(each.run) == exam_of(last.run)]


def exam_of(run: RunLine) -> tuple[str, str | None, bool]:
    """What runs share that were asked the very same."""
    return run.source, run.exam, run.sample


def latest_source(context: Context) -> str | None:
    """The suite or file of the newest exam that has a score, on sample rows only where there is nothing else.

    Without one, that of the newest run; None without a run.
    """
    for wanted in (RunFilter(sample=False), RunFilter()):
        if source := history.latest_scored(context.store, Searched(wanted, kind="exam")):
            return source
    for wanted in (RunFilter(sample=False), RunFilter()):
        if last := lists.newest(context.store, wanted):
            return last.source
    return None


def board_suite(context: Context, project_id: int | None) -> str:
    """Whose board is shown where none was chosen."""
    return default_suite(context.store, project_id)


def page(
    context: Context,
    asked: Searched,
    *,
    before: int | None = None,
    limit: int = 50,
    order: Order = NEWEST_FIRST,
) -> tuple[list[RunLine], int | None, Figures]:
    """Runs, what begins the next page, and the runs' scores."""
    make_good(context)
    lines, after = history.page(context.store, asked, before=before, limit=limit, order=order)
    return lines, after, figures_of(context, lines)


def facts_of(context: Context, lines: Sequence[RunLine]) -> dict[str, Facts]:
    """By id: of what kind each run is, whose, how long it took and what it cost."""
    return history.facts(context.store, [line.id for line in lines])


def users(context: Context) -> list[str]:
    """Whose jobs there are."""
    return history.users(context.store)


def rates(context: Context, asked: Searched) -> tuple[dict[str, int], float | None]:
    """Runs by state, and the share of the ended ones that are complete or decided; None if none has ended."""
    counts = history.counts(context.store, asked)
    ended = sum(counts.get(name, 0) for name in ENDED)
    good = counts.get("completed", 0) + counts.get(DECIDED, 0)
    return counts, good / ended if ended else None
