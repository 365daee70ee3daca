"""One score, one number: what every view shows of a run's score over its tasks, read off what was kept at its end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proctor.findings import OVER_TASKS, RunResult, Score
from proctor.service.results.results import marks, shape
from proctor.stats.compare import focused
from proctor.stats.estimates import Scored, Shape, scores
from proctor.store import Store
from proctor.store.core.scores import add_more
from proctor.types import Run

SCORE = "score"  # the name by which every view asks for the headline, whatever metric it is


def picked(found: Sequence[Score], metric: str, of: Shape) -> Score | None:
    """The one score that `metric` means of a run: the headline, or a metric over all its tasks.

    Over tasks a metric is what the suite's own score of that name is, else the unweighted mean. None where the scores
    have none, as those of runs of older versions lack the means.
    """
    if metric == SCORE:
        return found[0] if found else None
    whole = [score for score in found if not score.task and means(score.metric, metric)]
    alone = [s for s in found if s.metric == metric and s.task in of.tasks and not of.tasks[s.task].extra]
    several = sum(
        1 for spec in of.tasks.values() if metric in (*spec.official, *spec.also) and not spec.extra
    )
    if whole:
        return whole[0]
    return alone[0] if alone and several == 1 else None


def means(name: str, metric: str) -> bool:
    """Whether a score over tasks that is called `name` is of `metric`.

    >>> [means(name, "f1") for name in ("f1", "f1, mean of 2 of 3 tasks", "f1 (7 of 9 tasks)", "macro_f1")]
    [True, True, True, False]
    """
    return name == metric or name.startswith((f"{metric}{OVER_TASKS}", f"{metric} ("))


def over(rows: Iterable[Scored], metric: str, of: Shape) -> Score:
    """The same score of these rows, computed. Raises ConfigError for a metric that the tasks do not report."""
    whole = scores(rows, of)
    return picked(whole, metric, of) or scores(rows, focused(of, metric))[0]


def kept(store: Store, result: RunResult, metric: str, rows: Sequence[Scored] | None = None) -> Score:
    """The run's score in `metric`; what an older version did not keep is computed once and kept from then on.

    `rows` are the run's, where the caller has them. Raises ConfigError for a metric that the tasks do not report.
    """
    of = shape(result.run)
    found = picked(result.scores, metric, of)
    if found is not None:
        return found
    focused(of, metric)  # says which metrics there are
    return picked(_complete(store, result, rows), metric, of) or over(
        rows if rows is not None else marks(store, result.run), metric, of
    )


def complete(store: Store, run: Run) -> None:
    """Keep the scores over tasks that an older version did not compute; what is kept stays as it is."""
    _complete(store, RunResult(run, store.scores(run.id), store.tally(run.id)), None)


def _complete(store: Store, result: RunResult, rows: Sequence[Scored] | None) -> Sequence[Score]:
    run = result.run
    fresh = scores(rows if rows is not None else marks(store, run), shape(run))
    known = {(score.task, score.metric) for score in result.scores}
    added = [s for s in fresh if OVER_TASKS in s.metric and (s.task, s.metric) not in known]
    if result.scores and run.finished_at is not None:
        add_more(store, run, added)
    return (*result.scores, *added)
