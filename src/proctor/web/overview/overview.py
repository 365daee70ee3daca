"""The dashboard: Overview. What was measured lately, what is at work, and how models move."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from proctor import figures
from proctor.errors import NotFound, ProctorError
from proctor.service.context import Context
from proctor.service.watch.job_states import active
from proctor.service.watch.moves import ended_mark, moved_at_work
from proctor.service.watch.overview import Measured, board_suite, exam_of, latest_source, overview
from proctor.web.dependencies import OpenContext, Project, Reader, Text
from proctor.web.events import Events
from proctor.web.evidence.boards import ranked
from proctor.web.evidence.compare import sources
from proctor.web.files import as_csv, as_file, line_record
from proctor.web.render import interval, show, stamp

ROUTER = APIRouter()
METRICS = (("accuracy", "accuracy"), ("f1", "f1"), ("score", "score (headline)"))
TITLES = {"accuracy": "Average Accuracy", "f1": "Average F1", "score": "Average Score"}
TOP = 5
MOST_LINES = 8  # of the chart; more would be told apart by nobody
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
    source, metric = asked.source(context), asked.known_metric()
    found = overview(context, source=source, metric=metric, days=asked.days, project_id=asked.project)
    return show(
        request,
        "overview.html",
        here="overview",
        found=found,
        title=TITLES[metric],
        trend=_trend(found.trend),
        left_out=max(0, len({_line(each) for each in found.trend}) - MOST_LINES),
        board=asked.source(context) or board_suite(context, asked.project),
        live=active(context, asked.project),
        sources=[(ALL, "All suites"), *sources(context)],
        metrics=METRICS,
        asked={"suite": source or ALL, "metric": metric, "days": asked.days, "project": asked.project or ""},
        project=asked.project,
        empty=not found.cards.counts and latest_source(context) is None,
    )


def _trend(found: Sequence[Measured]) -> dict[str, Any]:
    """A line for each model and exam, by the time of its runs' ends: no line goes from one exam to another."""
    lines: dict[tuple[Any, ...], list[Measured]] = {}
    for each in found:
        lines.setdefault(_line(each), []).append(each)
    newest = sorted(lines, key=lambda line: -(lines[line][-1].run.finished_at or 0.0))[:MOST_LINES]
    named = _names({line: lines[line][-1] for line in newest}, {exam_of(each.run) for each in found})
    return {
        "series": [
            {"name": named[line], "points": [_point(each) for each in lines[line]]}
            for line in sorted(newest, key=lambda line: named[line])
        ]
    }


def _line(of: Measured) -> tuple[Any, ...]:
    return (of.run.full_model, *exam_of(of.run))


def _names(lines: Mapping[tuple[Any, ...], Measured], exams: Collection[Any]) -> dict[tuple[Any, ...], str]:
    """The models; with what they were asked where there are several exams, and a number where that looks alike."""
    found: dict[tuple[Any, ...], str] = {}
    for line, of in lines.items():
        run = of.run
        asked = f"{run.source}, {run.planned:,} items{', sample rows' if run.sample else ''}"
        name = f"{run.full_model} ({asked})" if len(exams) > 1 else run.full_model
        times = sum(1 for other in found.values() if other.partition(" #")[0] == name)
        found[line] = f"{name} #{times + 1}" if times else name
    return found


def _point(each: Measured) -> dict[str, Any]:
    return {
        "at": round((each.run.finished_at or 0.0) * 1000),
        "when": stamp(each.run.finished_at),
        "value": each.score.value,
        "low": each.score.low,
        "high": each.score.high,
        "n": each.score.scored,
        "said": f"{figures.fraction(each.score.value)} {interval(each.score)}".rstrip(),
        "suite": each.run.source,
    }


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
