"""The dashboard: Model Comparison. Which is better, by how much, how sure, on which items, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BeforeValidator, NonNegativeFloat
from starlette.responses import Response

from proctor.errors import ConfigError, NotFound, ProctorError
from proctor.figures import title_of, unmeasured
from proctor.findings import METRIC_VERSIONS, Basis, Comparison, Evaluation, RunResult, Score
from proctor.service.checked.at_hand import judges_here
from proctor.service.context import Context
from proctor.service.data.transfer import report
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.compare import Compared, Comparing, Differing
from proctor.service.evidence.evaluation import downwards
from proctor.service.evidence.short import in_short
from proctor.service.evidence.standing import Standing, standing
from proctor.service.evidence.tradeoffs import against_cost, against_time
from proctor.service.kinds import kind_of
from proctor.service.looks.words import looks_said
from proctor.service.results.speeds import common
from proctor.types import Status
from proctor.web.addresses import query
from proctor.web.dependencies import OpenContext, Project, Reader, Text, go
from proctor.web.events import Events
from proctor.web.evidence.choosing import are_batches, choices, picked, sources
from proctor.web.evidence.drawn import differing_path, results_path, tradeoffs_of, trials_path
from proctor.web.files import as_report
from proctor.web.heat import HeatAsked, HeatPlace, heat_view
from proctor.web.intervals import ScoreLine, plot_of
from proctor.web.render import show
from proctor.web.walks import walks_of
from proctor.web.words import ERROR_TITLES

__all__ = ["ROUTER", "compare", "metrics_of", "on_front", "sources"]

ROUTER = APIRouter()
MOST_COMPARED = 8
COMPARED_ANEW_S = 30.0  # at most, between two looks of a browser at large runs that are still at work
ITEMS = 200
SHOWN_ITEMS = 25
AT_WORK = (Status.PENDING, Status.RUNNING)
MODES = (("", "Different"), ("regressed", "Regressed"), ("improved", "Improved"))

Names = Annotated[tuple[str, ...], Query(max_length=MOST_COMPARED)]


@dataclass(frozen=True, slots=True)
class CompareQuery:
    """What is compared, as the address has it; `runs` are models' names or runs' ids."""

    project: Project
    runs: Names = ()  # no factory: the web framework would take its placeholder for the value
    suite: Text = ""
    metric: Text = "score"
    # A field left empty is none: a hundredth of the metric's range.
    margin: Annotated[NonNegativeFloat | None, BeforeValidator(lambda given: given or None), Query()] = None
    mode: Text = ""
    task: Text = ""

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name in self.runs if name))

    def query(self) -> dict[str, Any]:
        """What the address has of it; what is usual is left out."""
        told = {
            "suite": self.suite,
            "metric": self.metric if self.metric != "score" else "",
            "margin": self.margin,
        }
        told |= {"mode": self.mode, "task": self.task, "project": self.project}
        return {"runs": self.names(), **{name: value for name, value in told.items() if value}}


Asked = Annotated[CompareQuery, Depends()]
Drawn = Annotated[HeatAsked, Depends()]


@ROUTER.get("/compare")
def compare(request: Request, context: OpenContext, user: Reader, asked: Asked, drawn: Drawn) -> Response:
    names = asked.names()
    if len(names) >= 2 and are_batches(context, names):
        return go(request, "/batches/compare" + query({"runs": names}))
    facts: dict[str, Any] = {
        "choices": choices(context, asked.suite, asked.project, names),
        "picked": picked(context, names, asked.query()),
        "most": MOST_COMPARED,
        "suites": sources(context),
        "asked": asked,
        "here_query": asked.query(),
        "project": asked.project,
        "margin": asked.margin,
        "metrics": metrics_of(()),
        "modes": MODES,
        "shown_items": SHOWN_ITEMS,
        "most_items": ITEMS,
        "found": None,
        "problem": None,
    }
    if len(names) >= 2:
        facts |= _compared(context, asked, drawn)
    return show(request, "compare.html", here="compare", **facts)


def metrics_of(results: Iterable[RunResult]) -> list[str]:
    """What these runs can be compared and ranked by; every metric there is where nothing is known of them."""
    said = {score.metric for result in results for score in result.scores if score.task}
    return ["score", *(name for name in METRIC_VERSIONS if not said or name in said)]


def _compared(context: Context, asked: CompareQuery, drawn: HeatAsked) -> dict[str, Any]:
    how: Comparing = {"source": asked.suite or None, "metric": asked.metric, "margin": asked.margin}
    how |= {"items": ITEMS, "heat": True, "task": asked.task}
    try:
        found = Lately(context).compared(tuple(asked.names()), **how)
    except (ConfigError, NotFound) as problem:
        return {"problem": _told(problem)}
    at = standing(found.evaluation, asked.metric)
    return {
        **_pictures(context, found, at, asked, drawn),
        **_how_it_came(found.evaluation, at),
        "found": found.evaluation,
        "of_tasks": all(kind_of(each.run.cell.source).holds == "tasks" for each in found.evaluation.results),
        "metrics": metrics_of(found.evaluation.results),
        "standing": at,
        "unscored": all(pair.whole.shared == 0 for pair in found.evaluation.comparisons),
        "judged": any(judges_here(context, each.run.id) for each in found.evaluation.results),
        "rows": _rows(found.evaluation, at),
        "own": any(_apart(row) for row in _rows(found.evaluation, at)),
        "unlike_times": found.evaluation.unlike_times,
        "pairs": _pairs(found, asked.mode),
        "reach": _reach(found.evaluation),
        "sample": any(result.run.sample for result in found.evaluation.results),
    }


def _pictures(
    context: Context, found: Compared, at: Standing, asked: CompareQuery, drawn: HeatAsked
) -> dict[str, Any]:
    """Where each model stands on one axis, tasks by models, and what the scores cost."""
    of = found.evaluation
    metric = title_of(of.compared[0].metric)
    scores = [score.estimate for score in of.compared]
    lines = [
        ScoreLine(row.name, f"/runs/{row.result.run.id}", row.score.estimate, row.best, note=row.lost)
        for row in _rows(of, at)
    ]
    of_agents = all(result.trials is not None for result in of.results)
    leads = trials_path(of.results) if of_agents else results_path
    place = HeatPlace("/compare", asked.query(), leads, differing_path)
    traded = (
        against_cost(of.results, scores, at.names),
        against_time(context, of.results, scores, at.names),
    )
    return {
        "plot": plot_of(lines, metric),
        "heat": heat_view(found.heat, drawn, place) if found.heat and found.heat.rows else None,
        "tradeoffs": tradeoffs_of(traded, metric),
    }


def _how_it_came(of: Evaluation, at: Standing) -> dict[str, Any]:
    """The verdict apart from what was looked at besides, each pair's walk, and whether there is more to come."""
    looked_at = looks_said(of)
    return {
        "short": in_short(of, at),
        "verdict": of.verdict.removesuffix(looked_at).rstrip(),
        "looked_at": looked_at,
        "walks": walks_of(of, at.names),
        "waits": [of.decision.waits] if of.decision and of.decision.waits else [],
        "at_work": any(result.run.status in AT_WORK for result in of.results),
    }


def _told(problem: ProctorError) -> dict[str, str]:
    title = ERROR_TITLES.get(problem.slug, ERROR_TITLES[""])
    cure = "Choose runs of one source that were asked in the same way; they are compared on the items that they share."
    return {"title": title, "detail": str(problem), "cure": cure, "slug": problem.slug, "request_id": ""}


@dataclass(frozen=True, slots=True)
class ComparedModel:
    """A model of the comparison, timed by `clock`. `front`: no other whose time compares is both better and quicker."""

    result: RunResult
    name: str
    score: Score
    clock: Basis | None
    best: bool
    front: bool
    lost: str


def _rows(of: Evaluation, at: Standing) -> list[ComparedModel]:
    rows = []
    for result, score in zip(of.results, of.compared, strict=True):
        run = result.run
        rows.append(
            ComparedModel(
                result,
                at.names[run.id],
                score,
                result.tally.speed.told_by(of.clock) if result.tally.speed else None,
                at.names[run.id] in at.tied,
                on_front(of, at, result),
                unmeasured(run.unmeasured, run.planned),
            )
        )
    return sorted(rows, key=lambda row: downwards(row.score.estimate.value))


def _apart(row: ComparedModel) -> bool:
    """Whether what is compared is another number than the run's own, or is of fewer items than it was asked."""
    own = row.result.scores[0] if row.result.scores else None
    return bool(row.lost) or (
        own is not None and (own.metric, own.estimate) != (row.score.metric, row.score.estimate)
    )


def on_front(of: Evaluation, at: Standing, one: RunResult) -> bool:
    """Pareto's front of score and time, among the runs whose speeds mean the same; no run is one alone."""
    mine, rivals = at.values.get(one.run.id), 0
    if mine is None or one.tally.speed is None:
        return False
    for other in of.results:
        value, clock = at.values.get(other.run.id), common((one, other))
        if value is None or other.tally.speed is None or other is one or clock is None:
            continue
        rivals += 1
        my_time, seconds = one.tally.speed.seconds(clock) or 0.0, other.tally.speed.seconds(clock) or 0.0
        if value >= mine and seconds <= my_time and (value, -seconds) != (mine, -my_time):
            return False
    return rivals > 0


@dataclass(frozen=True, slots=True)
class ComparedPair:
    """Two runs and the items on which they differ, in the chosen mode: `first` is the baseline."""

    of: Comparison
    differing: tuple[Differing, ...]


def _pairs(found: Compared, mode: str) -> list[ComparedPair]:
    def wanted(pair: Comparison, item: Differing) -> bool:
        change = item.scores[pair.second.id] - item.scores[pair.first.id]
        return mode not in ("regressed", "improved") or (change < 0) == (mode == "regressed")

    return [
        ComparedPair(pair, tuple(item for item in items if wanted(pair, item)))
        for pair, items in zip(found.evaluation.comparisons, found.differing, strict=True)
    ]


def _reach(of: Evaluation) -> float:
    """How far from 0 the intervals of the differences go."""
    ends = [
        abs(end)
        for c in of.comparisons
        for end in (c.whole.estimate.low, c.whole.estimate.high)
        if end is not None
    ]
    return max(ends, default=0.0) * 1.05


@ROUTER.get("/compare/live")
def live_piece(request: Request, context: OpenContext, user: Reader, asked: Asked, drawn: Drawn) -> Response:
    """Who stands where just now, of runs at work."""
    facts = _compared(context, asked, drawn)
    if facts.get("problem"):
        return show(request, "_problem.html", **facts["problem"])
    return show(request, "_standing.html", **facts)


@ROUTER.get("/compare/events")
async def compare_events(events: Events, user: Reader, runs: Names) -> Response:
    """Says `changed` when any of the runs has something new to show, and `end` when all have ended."""
    return await events.of_runs(runs, longest_s=COMPARED_ANEW_S)


@ROUTER.get("/compare/report")
def download(
    request: Request,
    context: OpenContext,
    user: Reader,
    runs: Annotated[list[str], Query(min_length=2, max_length=MOST_COMPARED)],
) -> Response:
    """The comparison's report as one HTML file that needs no server; with `?view=1` as a page."""
    ids = [result.run.id for result in Lately(context).compared(tuple(runs), items=ITEMS).evaluation.results]
    return as_report(request, report(context, ids, "html"), "comparison.html")
