"""Results side by side: each run's score on the items that all share, every pair compared, and the closing sentence."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from proctor.errors import ConfigError
from proctor.findings import Comparison, Estimate, Evaluation, RunResult, Score
from proctor.findings.looks import Alternatives, Decision, Looks
from proctor.service.deciding import both_ways, decided, plan_of
from proctor.service.evidence import shared
from proctor.service.evidence.verdicts import sentence
from proctor.service.kinds import kind_of
from proctor.service.looks.ledger import LookLedger, TriedBeside
from proctor.service.looks.words import looks_said
from proctor.service.results import headline
from proctor.service.results.comparable import check_comparable, check_shared
from proctor.service.results.results import Kept, marks, scored_rows
from proctor.service.results.speeds import common, unlike
from proctor.service.results.wordings import by_wording, sign_note
from proctor.service.rows.conditions import unlike as unlike_conditions
from proctor.service.rows.marks import brief_marks
from proctor.stats.compare import Side, compare, focused
from proctor.stats.estimates import Scored, Shape
from proctor.types import Run

FEWER = (
    0.5  # of the items of the smallest compared run: a model with fewer could not have been compared on these
)


def evaluation(
    store: Kept,
    results: Sequence[RunResult],
    *,
    margin: float | None = None,
    metric: str = headline.SCORE,
    ledger: LookLedger | TriedBeside | None = None,
) -> Evaluation:
    """Results side by side. `metric` "score" is the headline; another is its mean over the tasks that report it.

    `margin` is how close two scores are that count as practically equal, in the metric's units; None is a hundredth
    of the metric's range. `ledger` tells what else was tried, or is what was told of it; without one these runs are
    all there is. Raises ConfigError if they were not asked in the same way or share no item, or no task has the metric.
    """
    plan_id = results[0].run.plan_id if results else ""
    if len(results) < 2:
        return Evaluation(plan_id, tuple(results), (), "")
    runs = [result.run for result in results]
    check_comparable(runs)
    sides = [(run, list(marks(store, run))) for run in runs]
    check_shared(sides)
    whole = shared.shape_over(runs)
    found, looks, decision = _tested(store, sides, whole, ledger, metric=metric, margin=margin)
    pairs = _with_items(found, sides, whole)
    compared = _on_shared(results, sides, metric, whole)
    values = {run.id: score.estimate.value for run, score in zip(runs, compared, strict=True)}
    # A tie must not depend on the order in which models were named only by accident: sorted() keeps it.
    ranked = sorted(runs, key=lambda run: downwards(values[run.id]))
    verdict = sentence(pairs, [run.id for run in ranked])
    if runs[0].manifest.facts.worded:
        best, runner_up = (by_wording(scored_rows(store, run)) for run in ranked[:2])
        verdict = f"{verdict} {sign_note(best, runner_up)}".rstrip()
    verdict = f"{verdict} {unlike_conditions(runs)}".rstrip()
    # Trials take as long as agents work; their times compare whatever was in flight.
    apart = "" if all(result.trials is not None for result in results) else unlike(results)
    made = Evaluation(
        plan_id, tuple(results), pairs, verdict, compared, common(results), apart, looks, decision
    )
    return replace(made, verdict=f"{verdict} {looks_said(made)}".rstrip())


def _tested(
    store: Kept,
    sides: Sequence[Side],
    whole: Shape,
    ledger: LookLedger | TriedBeside | None,
    *,
    metric: str,
    margin: float | None,
) -> tuple[Sequence[Comparison], Looks, Decision | None]:
    """Every pair of sides, with what was tried besides, and what of it was decided side by side.

    Models that were asked side by side were named beforehand: their plan's pairs are the family, and no others.
    """
    runs = [run for run, _ in sides]
    here = ledger if isinstance(ledger, LookLedger) else None
    told = ledger if isinstance(ledger, TriedBeside) else TriedBeside()
    tried = told if here is None else here.tried(runs)
    # What is decided is by the runs' first grades.
    regraded = here is not None and here.grader is not None
    plan = () if regraded else plan_of(runs, None if here is None else here.store)
    known = None if here is None else here.decided
    decision = known or decided(store if here is None else here.store, plan)
    read = partial(marks, store) if here is None or here.grader else partial(brief_marks, here.store)
    others = [] if decision else _others(read, tried, sides, whole)
    ids = {run.id for run in runs}
    beside = [(run, list(marks(store, run))) for run in plan if decision and run.id not in ids]
    found = compare(
        [*sides, *beside],
        focused(whole, metric),
        margin=margin,
        beside=others,
        watched=tried.watched,
        paths=both_ways(decision if metric == headline.SCORE else None),
    )
    of_plan = {str(run.cell.model) for run in plan}
    further = tried.left_out + sum(str(run.cell.model) not in of_plan for run in tried.others if decision)
    looks = Looks(
        len(sides) + len(beside) + len(others) + further,
        found[0].whole.comparisons,
        fixed=further > 0,
        reruns=tried.reruns,
        alternatives=(*tried.alternatives, *_metrics(whole, metric)),
        peeks=tried.peeks,
        deleted=tried.deleted,
    )
    return [pair for pair in found if {pair.first.id, pair.second.id} <= ids], looks, decision


def _metrics(whole: Shape, metric: str) -> tuple[Alternatives, ...]:
    """One that was asked for by its name is one of those that these runs have."""
    of = {metric, headline.SCORE}.union(*((*spec.official, *spec.also) for spec in whole.tasks.values()))
    return () if metric == headline.SCORE else (Alternatives("metrics", len(of)),)


def _others(
    read: Callable[[Run], Iterable[Scored]], tried: TriedBeside, sides: Sequence[Side], of: Shape
) -> list[Side]:
    """Runs of further models with their rows on these items; those that have too few of them are left out.

    Models that are not here any more have no rows: their pairs come after all others.
    """
    asked = [shared.asked(rows, of) for _, rows in sides]
    every = frozenset[tuple[str, str]]().union(*asked)
    least = FEWER * min(map(len, asked))
    found = ((run, shared.only(read(run), every)) for run in tried.others)
    seen = [(run, rows) for run, rows in found if len(shared.asked(rows, of)) >= least]
    return [*seen, *[(sides[0][0], ())] * tried.unseen]


def of_plan(
    store: Kept, results: Sequence[RunResult], ledger: LookLedger | TriedBeside | None = None
) -> Evaluation:
    """Results of one plan; where its runs turned out not to be comparable, they alone, and why as the verdict.

    Of judges nothing is compared: their verdicts are scores of others.
    """
    if results and all(kind_of(result.run.cell.source).holds == "verdicts" for result in results):
        return Evaluation(results[0].run.plan_id, tuple(results), (), "")
    try:
        return evaluation(store, results, ledger=ledger)
    except ConfigError as error:
        return Evaluation(results[0].run.plan_id, tuple(results), (), f"Not compared. {error}.")


def _with_items(pairs: Sequence[Comparison], sides: Sequence[Side], of: Shape) -> tuple[Comparison, ...]:
    """The pairs with how many items each run was asked, and how many of them both.

    A pair that stopped early is told by its path: after how many items it stands.
    """
    asked = {run.id: shared.asked(rows, of) for run, rows in sides}
    what: Literal["items", "tasks"] = (
        "tasks" if kind_of(sides[0][0].cell.source).holds == "tasks" else "items"
    )
    return tuple(
        pair
        if (path := pair.whole.path) is not None and path.items < path.of
        else replace(pair, sharing=shared.sharing(asked[pair.first.id], asked[pair.second.id], of, what))
        for pair in pairs
    )


def _on_shared(
    results: Sequence[RunResult], sides: Sequence[Side], metric: str, whole: Shape
) -> tuple[Score, ...]:
    """What each run scored on the items that all have scored: its kept score where these are all that it scored."""
    scored = [shared.scored(rows, whole) for _, rows in sides]
    common = frozenset[tuple[str, str]].intersection(*scored)
    found = []
    for result, (_, rows), mine in zip(results, sides, scored, strict=True):
        kept = headline.picked(result.scores, metric, whole)
        if not common:
            found.append(_unmeasured(kept, metric, whole))
            continue
        kept = kept if mine == common else None
        found.append(kept or headline.over(shared.only(rows, common), metric, whole))
    return tuple(found)


def _unmeasured(kept: Score | None, metric: str, whole: Shape) -> Score:
    """What a run scored where no item was scored in all of the runs, as when every item of one failed."""
    name = kept.metric if kept else metric
    nothing = Estimate(None, None, None, None, 0, 0, "", "no item was scored in all of the runs")
    return Score("", whole.suite, name, nothing)


def downwards(value: float | None) -> float:
    """Sorts the best first and what was not measured last: an MCC may be below 0.

    >>> sorted([None, -0.2, 0.1], key=downwards)
    [0.1, -0.2, None]
    """
    return math.inf if value is None else -value


def values(of: Evaluation) -> Mapping[str, float | None]:
    """Each run's value of what is compared, by run id."""
    return {r.run.id: s.estimate.value for r, s in zip(of.results, of.compared, strict=True)}
