"""What the dashboard's first page and its history show: figures over many runs, read off their kept scores."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from proctor.service.context import Context
from proctor.service.evidence.leaderboard import default_suite
from proctor.service.results.results import make_good
from proctor.service.watch.job_states import RunFilter, RunLine
from proctor.sources.exams.tables.tasks import TASKS
from proctor.store.read import history, lists
from proctor.store.read.history import HEADLINE, PARTIAL, Measured, Searched, Shown

__all__ = [
    "HEADLINE",
    "Cards",
    "Measured",
    "Overview",
    "Searched",
    "Shown",
    "board_suite",
    "cards",
    "figures_of",
    "latest_source",
    "overview",
    "page",
    "rates",
]

DAY_S = 86400.0
ENDED = ("completed", PARTIAL, "failed", "cancelled")
EXTRAS = tuple(key for key, task in TASKS.items() if task.extra)  # no part of a suite's score
LISTED = (HEADLINE, "accuracy", "f1")  # what lists of runs show of each
Figures = Mapping[str, Mapping[str, Shown]]  # run id -> metric -> its score


@dataclass(frozen=True, slots=True)
class Cards:
    """`average` is the mean of the complete runs' values of one exam, `low` to `high` its 95 % interval at widest.

    `of` are the runs that it is of, all asked the very same: those of the exam that ended last, on sample rows only
    where nothing else is. Their errors go together; the interval is that of errors that go together wholly, the mean
    of the runs' own, and no dependence makes the true one wider. None where a run has no
    interval. `counts` has the partial runs apart; `models` and `latest` are of all complete runs.
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
    wanted = RunFilter(source=source, project_id=project_id, since=time.time() - days * DAY_S)
    asked = Searched(wanted)
    make_good(context.store)
    found = history.measured(context.store, asked, metric, extras=EXTRAS)
    lines, _ = history.page(context.store, asked, limit=recent)
    made = cards(found, history.counts(context.store, asked))
    return Overview(made, found, lines, figures_of(context, lines), any(each.run.sample for each in found))


def figures_of(context: Context, lines: Sequence[RunLine]) -> Figures:
    """The headline, accuracy and F1 of the runs of a list that have ended."""
    return history.figures(context.store, [line.id for line in lines], LISTED, extras=EXTRAS)


def cards(found: Sequence[Measured], counts: Mapping[str, int]) -> Cards:
    """What the cards show of complete runs, and of all runs by state."""
    of = _one_exam(found)
    values = [each.score.value for each in of if each.score.value is not None]
    lows = [each.score.low for each in of if each.score.low is not None]
    highs = [each.score.high for each in of if each.score.high is not None]
    return Cards(
        average=fmean(values) if values else None,
        low=fmean(lows) if lows and len(lows) == len(of) else None,
        high=fmean(highs) if highs and len(highs) == len(of) else None,
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
    """The suite or file of the newest run, on sample rows only where there is nothing else; None without a run."""
    for wanted in (RunFilter(sample=False), RunFilter()):
        if last := lists.newest(context.store, wanted):
            return last.source
    return None


def board_suite(context: Context, project_id: int | None) -> str:
    """Whose board is shown where none was chosen."""
    return default_suite(context.store, project_id)


def page(
    context: Context, asked: Searched, *, before: int | None = None, limit: int = 50
) -> tuple[list[RunLine], int | None, Figures]:
    """Runs, what begins the next page, and the runs' scores."""
    make_good(context.store)
    lines, after = history.page(context.store, asked, before=before, limit=limit)
    return lines, after, figures_of(context, lines)


def rates(context: Context, asked: Searched) -> tuple[dict[str, int], float | None]:
    """Runs by state, and the share of the ended ones that are complete; None if none has ended."""
    counts = history.counts(context.store, asked)
    ended = sum(counts.get(name, 0) for name in ENDED)
    return counts, counts.get("completed", 0) / ended if ended else None
