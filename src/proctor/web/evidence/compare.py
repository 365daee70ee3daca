"""The dashboard: Model Comparison. Which is better, by how much, how sure, on which items, and what it costs."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BeforeValidator, NonNegativeFloat
from starlette.responses import Response

from proctor.errors import ConfigError, NotFound, ProctorError
from proctor.figures import dollars, fraction, speed, unmeasured
from proctor.findings import METRIC_VERSIONS, Basis, Comparison, Evaluation, RunResult, Score
from proctor.service.checked.at_hand import judges_here
from proctor.service.context import Context
from proctor.service.data.transfer import report
from proctor.service.evidence.cache import Lately
from proctor.service.evidence.compare import Compared, Differing
from proctor.service.evidence.evaluation import downwards
from proctor.service.evidence.standing import Standing, standing
from proctor.service.kinds import kind_of
from proctor.service.looks.words import looks_said
from proctor.service.opening.catalogue import suite_facts
from proctor.service.results.speeds import common
from proctor.service.watch import job_states
from proctor.service.watch.job_states import JobState, RunFilter, RunLine
from proctor.types import Status
from proctor.web.addresses import query
from proctor.web.dependencies import OpenContext, Project, Reader, Text, go
from proctor.web.events import event_stream, until_ended
from proctor.web.files import as_report
from proctor.web.render import show
from proctor.web.walks import walks_of
from proctor.web.words import ERROR_TITLES

ROUTER = APIRouter()
MOST_COMPARED = 8
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

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name in self.runs if name))


@ROUTER.get("/compare")
def compare(
    request: Request, context: OpenContext, user: Reader, asked: Annotated[CompareQuery, Depends()]
) -> Response:
    if len(asked.names()) >= 2 and _are_batches(context, asked.names()):
        return go(request, "/batches/compare" + query({"runs": asked.names()}))
    lines = _complete(context, asked.suite, asked.project)
    facts: dict[str, Any] = {
        "choices": _choices(lines, asked.runs),
        "suites": sources(context),
        "asked": {"runs": asked.runs, "suite": asked.suite, "metric": asked.metric, "mode": asked.mode},
        "project": asked.project,
        "margin": asked.margin,
        "metrics": metrics_of(()),
        "modes": MODES,
        "shown_items": SHOWN_ITEMS,
        "found": None,
        "problem": None,
    }
    if len(asked.names()) >= 2:
        facts |= _compared(context, asked)
    return show(request, "compare.html", here="compare", **facts)


def _are_batches(context: Context, names: list[str]) -> bool:
    """Whether all are runs of requests without right answers, whose replies are compared and not their scores."""
    try:
        runs = [job_states.run_of(context, name) for name in names]
    except NotFound:
        return False
    return all(run.comparability is None and kind_of(run.cell.source).holds == "requests" for run in runs)


def _complete(context: Context, suite: str, project: int | None) -> list[RunLine]:
    wanted = RunFilter(source=suite or None, status=Status.COMPLETED, project_id=project, graded=True)
    lines = job_states.run_lines(context, wanted, limit=2000)[0]
    return [line for line in lines if line.complete]


@dataclass(frozen=True, slots=True)
class Choice:
    """A model that may be compared, and its complete runs."""

    name: str
    runs: int
    newest: RunLine
    chosen: bool


def _choices(lines: list[RunLine], chosen: tuple[str, ...]) -> list[Choice]:
    found: dict[str, list[RunLine]] = {}
    for line in lines:
        found.setdefault(line.full_model, []).append(line)
    return [Choice(name, len(of), of[0], name in chosen) for name, of in sorted(found.items())]


def sources(context: Context) -> list[tuple[str, str]]:
    """Suites, and whatever else has runs."""
    named = [(each["suite"], each["title"]) for each in suite_facts()]
    known = {name for name, _ in named}
    seen = dict.fromkeys(line.source for line in job_states.run_lines(context, RunFilter(), limit=500)[0])
    return [*named, *((name, name) for name in seen if name not in known)]


def metrics_of(results: Iterable[RunResult]) -> list[str]:
    """What these runs can be compared and ranked by; every metric there is where nothing is known of them."""
    said = {score.metric for result in results for score in result.scores if score.task}
    return ["score", *(name for name in METRIC_VERSIONS if not said or name in said)]


def _compared(context: Context, asked: CompareQuery) -> dict[str, Any]:
    names, suite = tuple(asked.names()), asked.suite or None
    try:
        found = Lately(context).compared(
            names, source=suite, metric=asked.metric, margin=asked.margin, items=ITEMS
        )
    except (ConfigError, NotFound) as problem:
        return {"problem": _told(problem)}
    at = standing(found.evaluation, asked.metric)
    return {
        **_how_it_came(found.evaluation, at),
        "found": found.evaluation,
        "of_tasks": all(kind_of(each.run.cell.source).holds == "tasks" for each in found.evaluation.results),
        "metrics": metrics_of(found.evaluation.results),
        "standing": at,
        "unscored": all(pair.whole.shared == 0 for pair in found.evaluation.comparisons),
        "judged": any(judges_here(context, each.run.id) for each in found.evaluation.results),
        "rows": _rows(found.evaluation, at),
        "unlike_times": found.evaluation.unlike_times,
        "pairs": _pairs(found, asked.mode),
        "tasks": _tasks(found.evaluation),
        "reach": _reach(found.evaluation),
        "charts": _charts(found.evaluation, at, asked.metric),
        "sample": any(result.run.sample for result in found.evaluation.results),
    }


def _how_it_came(of: Evaluation, at: Standing) -> dict[str, Any]:
    """The verdict apart from what was looked at besides, each pair's walk, and whether there is more to come."""
    looked_at = looks_said(of)
    return {
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


def _tasks(of: Evaluation) -> list[tuple[str, str, list[float | None], list[str]]]:
    """title, metric, a value for each model, and how each stands against the first: better, worse or ''."""
    first = of.results[0].run.id
    table: dict[tuple[str, str], dict[str, float | None]] = {}
    shades: dict[tuple[str, str], dict[str, str]] = {}
    for pair in of.comparisons:
        for task in pair.tasks:
            key = (task.title, task.metric)
            table.setdefault(key, {}).setdefault(pair.first.id, task.first)
            table[key].setdefault(pair.second.id, task.second)
            if pair.first.id == first:
                word = {"first better": "worse", "second better": "better"}.get(task.verdict, "")
                shades.setdefault(key, {})[pair.second.id] = word
    ids = [result.run.id for result in of.results]
    return [
        (
            title,
            metric,
            [values.get(i) for i in ids],
            [shades.get((title, metric), {}).get(i, "") for i in ids],
        )
        for (title, metric), values in table.items()
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


def _charts(of: Evaluation, at: Standing, metric: str) -> list[dict[str, Any]]:
    """What is compared against time where all times mean the same, and against cost where every cost is known."""

    def seconds(result: RunResult) -> float | None:
        return result.tally.speed.seconds(of.clock) if result.tally.speed and of.clock else None

    def points(value_of: Any, words: Any) -> list[dict[str, Any]]:
        found = []
        for result in of.results:
            x, y = value_of(result), at.values.get(result.run.id)
            if x is not None and y is not None:
                found.append(
                    {"name": at.names[result.run.id], "x": x, "xs": words(result), "y": y, "ys": fraction(y)}
                )
        return found

    def cost_per_1000(result: RunResult) -> float | None:
        asked = sum(result.tally.outcomes.values())
        return None if result.tally.cost_usd is None or not asked else 1000 * result.tally.cost_usd / asked

    drawn: list[dict[str, Any]] = [
        {
            "x": "seconds an item, by the server's clock" if of.clock == "server" else "seconds an item",
            "y": metric,
            "points": points(seconds, lambda r: speed(r.tally.speed, basis=of.clock)),
        },
        {
            "x": "$ for 1,000 answers",
            "y": metric,
            "points": points(cost_per_1000, lambda r: dollars(cost_per_1000(r))),
        },
    ]
    return [each for each in drawn if len(each["points"]) == len(of.results)]


@ROUTER.get("/compare/live")
def live_piece(
    request: Request, context: OpenContext, user: Reader, asked: Annotated[CompareQuery, Depends()]
) -> Response:
    """Who stands where just now, of runs at work."""
    facts = _compared(context, asked)
    if facts.get("problem"):
        return show(request, "_problem.html", **facts["problem"])
    return show(request, "_standing.html", **facts)


@ROUTER.get("/compare/events")
async def compare_events(context: OpenContext, user: Reader, runs: Names) -> Response:
    """Says `changed` when any of the runs has something new to show, and `end` when all have ended."""

    def states() -> list[JobState]:
        return [job_states.state_of(context, run_id) for run_id in runs]

    await asyncio.to_thread(states)  # what is not to be seen is refused before the stream begins
    return event_stream(until_ended(states))


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
