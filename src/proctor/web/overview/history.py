"""The dashboard: History. Every run of every kind on one line, searched and sorted on the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Form, Path, Query, Request
from starlette.responses import Response

from proctor.findings import Cause
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.service.results.advice import goes_on
from proctor.service.results.causes import of_lines
from proctor.service.watch import job_states, saved_views
from proctor.service.watch.job_states import RunLine
from proctor.service.watch.overview import MOST_SORTED, Facts, facts_of, page, rates, users
from proctor.web.addresses import query
from proctor.web.dependencies import OpenContext, Reader, Text, go, is_fragment
from proctor.web.evidence.compare import sources
from proctor.web.files import as_csv, as_file, line_record
from proctor.web.overview.asked import COLUMNS, KINDS, STATES, USUAL, Filtered, HistoryAsked, ranges
from proctor.web.render import show

ROUTER = APIRouter()
VIEWED = "history"  # under which views of this page are kept
PAGE_ROWS = 50
MOST_EXPORTED = 100_000
Before = Annotated[str, Query(max_length=20, pattern=r"^\d*$")]
# Lists that need no name of their own: words, and the query that makes them.
VIEWS: tuple[tuple[str, dict[str, str]], ...] = (
    ("All runs", {}),
    ("Needs attention", {"status": "attention", "days": "7"}),
    ("At work", {"status": "running"}),
    ("Exams", {"kind": "exam"}),
    ("Batches", {"kind": "batch"}),
    ("Rollouts", {"kind": "rollouts"}),
    ("Judgings", {"kind": "judging"}),
)


@ROUTER.get("/runs")
def history(
    request: Request, context: OpenContext, user: Reader, asked: Filtered, before: Before = ""
) -> Response:
    facts = _facts(context, asked, before)
    if is_fragment(request) and request.headers.get("hx-target") == "runs":
        return show(request, "_runs.html", **facts)
    known = users(context)
    return show(
        request,
        "history.html",
        here="history",
        sources=sources(context),
        states=list(STATES.items()),
        kinds=list(KINDS.items()),
        users=known if not asked.who or asked.who in known else [*known, asked.who],
        ranges=ranges(asked),
        usual=",".join(USUAL),
        columns=list(COLUMNS.items()),
        views=_views(asked),
        kept=saved_views.listed(context, user, VIEWED),
        here_now=query(asked.address()).removeprefix("?"),
        project=asked.project,
        **facts,
    )


def _facts(context: Context, asked: HistoryAsked, before: str) -> dict[str, Any]:
    """The list itself, and what stands above it."""
    searched, order = asked.searched(), asked.ordered()
    start = int(before) if before else None
    lines, after, found = page(context, searched, before=start, limit=PAGE_ROWS, order=order)
    counts, success = rates(context, searched)
    total = sum(counts.values())
    causes, facts = of_lines(context, lines), facts_of(context, lines)
    names = {each.id: each.name for each in access.projects(context)}
    return {
        "lines": lines,
        "causes": causes,
        "facts": facts,
        "acts": acts(context, lines, causes, facts),
        "figures": found,
        "after": after,
        "before": before,
        "counts": counts,
        "total": total,
        "success": success,
        "bounded": order.by != "time" and total > MOST_SORTED,
        "asked": asked.address(),
        "chips": list(asked.chips(names)),
        "headings": asked.headings(),
        "shown": asked.shown(),
        "project_names": names,
    }


def acts(
    context: Context,
    lines: Sequence[RunLine],
    causes: Mapping[str, Sequence[Cause]],
    facts: Mapping[str, Facts],
) -> dict[str, str]:
    """What one press does to each run, by id: stop, restart, resume, or killed, which is resumed; "" where nothing."""
    by_hand = job_states.by_hand(context, lines)
    found = {}
    for line in lines:
        if line.decided or facts[line.id].imported:
            found[line.id] = ""
        elif line.id in by_hand:
            goes = by_hand[line.id] and goes_on(line, causes.get(line.id, ()))
            found[line.id] = ("killed" if line.status == "running" else "resume") if goes else ""
        elif line.status in ("pending", "running"):
            found[line.id] = "stop" if facts[line.id].user is not None else ""
        else:
            lacks = line.status in ("failed", "cancelled") or line.partial
            found[line.id] = "restart" if lacks and facts[line.id].user is not None else ""
    return found


def _views(asked: HistoryAsked) -> list[dict[str, Any]]:
    """The tabs above the list."""
    here = {name: value for name, value in asked.address().items() if value}
    return [{"name": name, "query": wanted, "here": here == wanted} for name, wanted in VIEWS]


@ROUTER.get("/runs/export")
def export(context: OpenContext, user: Reader, asked: Filtered, form: Text = "csv") -> Response:
    """The runs that the filters let through, in the list's order; or those that are named."""
    lines, _, found = page(context, asked.searched(), limit=MOST_EXPORTED, order=asked.ordered())
    records = [line_record(line, found.get(line.id, {})) for line in lines]
    if form == "json":
        text = orjson.dumps(records, option=orjson.OPT_INDENT_2).decode()
        return as_file(text, "history.json", "application/json")
    return as_file(as_csv(records), "history.csv", "text/csv")


# Views --------------------------------------------------------------------------------------------


Short = Annotated[str, Form(max_length=2000)]
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@ROUTER.post("/runs/views")
def keep_view(
    request: Request, context: OpenContext, user: Reader, name: Short = "", query: Short = ""
) -> Response:
    """The present filters, order and columns under a name of the user's own; over one of the same name."""
    saved_views.add(context, user, VIEWED, name, query)
    return go(request, f"/runs?{query}" if query else "/runs", f"The view {' '.join(name.split())} is kept.")


@ROUTER.post("/runs/views/{number}/delete")
def forget_view(request: Request, context: OpenContext, user: Reader, number: Number) -> Response:
    saved_views.remove(context, user, number)
    return go(request, "/runs", "The view is gone; the runs stay.")
