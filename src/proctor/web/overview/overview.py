"""The dashboard: Overview. What was measured lately, what is at work, and how models move."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from proctor.errors import NotFound, ProctorError
from proctor.service.context import Context
from proctor.service.results.causes import of_lines
from proctor.service.watch.attention import attention
from proctor.service.watch.job_states import active
from proctor.service.watch.moves import ended_mark, moved_at_work
from proctor.service.watch.overview import Measured, board_suite, facts_of, latest_source, overview
from proctor.web.dependencies import OpenContext, Project, Reader, Text
from proctor.web.events import Events
from proctor.web.evidence.boards import ranked
from proctor.web.evidence.compare import sources
from proctor.web.files import as_csv, as_file, line_record
from proctor.web.overview.trends import trends
from proctor.web.render import show

ROUTER = APIRouter()
METRICS = (("accuracy", "accuracy"), ("f1", "f1"), ("score", "score (headline)"))
TITLES = {"accuracy": "Average Accuracy", "f1": "Average F1", "score": "Average Score"}
TOP = 5
ALL = "all"


@dataclass(frozen=True, slots=True)
class OverviewQuery:
    """The filters as the address has them."""

    project: Project
    suite: Text = ""
    metric: Text = ""
    days: Annotated[int, Query(ge=1, le=90)] = 30

    def source(self, context: Context) -> str | None:
        """All is None; nothing chosen is the suite of the newest run."""
        return None if self.suite == ALL else self.suite or latest_source(context)

    def known_metric(self) -> str:
        return self.chosen_metric() or "accuracy"

    def chosen_metric(self) -> str:
        """ "" where none is chosen, or one that there is not."""
        return self.metric if self.metric in TITLES else ""


Filtered = Annotated[OverviewQuery, Depends()]


@ROUTER.get("/")
def page(request: Request, context: OpenContext, user: Reader, asked: Filtered) -> Response:
    facts = _parts(context, asked)
    return show(
        request,
        "overview.html",
        here="overview",
        attention=attention(context, asked.project),
        live=active(context, asked.project),
        sources=[(ALL, "All suites"), *sources(context)],
        metrics=METRICS,
        project=asked.project,
        empty=not facts["found"].cards.counts and latest_source(context) is None,
        **facts,
    )


def _parts(context: Context, asked: OverviewQuery) -> dict[str, Any]:
    source, metric = asked.source(context), asked.known_metric()
    found = overview(context, source=source, metric=metric, days=asked.days, project_id=asked.project)
    return {
        "found": found,
        "facts": facts_of(context, found.recent),
        "causes": of_lines(context, found.recent),
        "title": TITLES[metric],
        "trends": trends(found.trend),
        "board": source or board_suite(context, asked.project),
        "asked": {
            "suite": source or ALL,
            "metric": metric,
            "days": asked.days,
            "project": asked.project or "",
        },
    }


@ROUTER.get("/overview/parts")
def parts_piece(request: Request, context: OpenContext, user: Reader, asked: Filtered) -> Response:
    """Cards, trends and recent runs as they are when a run has ended."""
    return show(request, "_overview_parts.html", **_parts(context, asked))


@ROUTER.get("/overview/attention")
def attention_piece(request: Request, context: OpenContext, user: Reader, project: Project) -> Response:
    return show(request, "_attention.html", attention=attention(context, project), project=project)


@ROUTER.get("/overview/board")
def board_piece(request: Request, context: OpenContext, user: Reader, asked: Filtered) -> Response:
    """The first of the leaderboard; asked for after the page, because it tests every pair."""
    try:
        suite = asked.suite or board_suite(context, asked.project)
        _, board = ranked(context, suite, asked.chosen_metric(), TOP, asked.project)
    except ProctorError as problem:
        words = "No complete runs yet." if isinstance(problem, NotFound) else str(problem)
        return show(request, "_top.html", board=None, words=words)
    return show(request, "_top.html", board=board, words="")


@ROUTER.get("/active")
def active_piece(request: Request, context: OpenContext, user: Reader, project: Project) -> Response:
    return show(request, "_active.html", live=active(context, project))


@ROUTER.get("/active/events")
async def active_events(events: Events, context: OpenContext, user: Reader, project: Project) -> Response:
    """Says `changed` whenever any run that works or waits has moved, and `ended` when one has begun or ended."""

    def look() -> dict[str, object]:
        moving = [each.mark for each in moved_at_work(context, project)]
        return {"changed": moving, "ended": ended_mark(context, project)}

    return await events.of(("active", project), look)


@ROUTER.get("/overview/export")
def export(context: OpenContext, user: Reader, asked: Filtered, form: Text = "csv") -> Response:
    """Recent results and performance data, as the filters have them."""
    metric = asked.known_metric()
    found = overview(
        context,
        source=asked.source(context),
        metric=metric,
        days=asked.days,
        project_id=asked.project,
        recent=1000,
    )
    values = {each.run.id: each for each in found.trend}
    records = [
        {**line_record(line, found.figures.get(line.id, {})), **_figures(metric, values.get(line.id))}
        for line in found.recent
    ]
    if form == "json":
        text = orjson.dumps({"results": records, "days": asked.days}, option=orjson.OPT_INDENT_2).decode()
        return as_file(text, "overview.json", "application/json")
    return as_file(as_csv(records), "overview.csv", "text/csv")


def _figures(metric: str, of: Measured | None) -> dict[str, Any]:
    if of is None:
        return {"metric": metric, "value": None, "low": None, "high": None}
    return {"metric": of.score.metric, "value": of.score.value, "low": of.score.low, "high": of.score.high}
