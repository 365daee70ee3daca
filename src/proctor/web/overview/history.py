"""The dashboard: History. Every run, searched and filtered on the server; select two to compare them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from proctor.errors import ConfigError
from proctor.service.results.advice import goes_on
from proctor.service.results.causes import of_lines
from proctor.service.watch import job_states
from proctor.service.watch.job_states import RunFilter
from proctor.service.watch.overview import Searched, page, rates
from proctor.types import Status
from proctor.web.dependencies import OpenContext, Project, Reader, Text, is_fragment
from proctor.web.evidence.compare import sources
from proctor.web.files import as_csv, as_file, line_record
from proctor.web.render import show

ROUTER = APIRouter()
PAGE_ROWS = 50
MOST_EXPORTED = 100_000
Before = Annotated[str, Query(max_length=20, pattern=r"^\d*$")]


@dataclass(frozen=True, slots=True)
class HistoryFilters:
    """The filters as the address has them."""

    project: Project
    model: Text = ""
    suite: Text = ""
    status: Text = ""

    def searched(self) -> Searched:
        """Raises ConfigError for a status that is none."""
        if self.status and self.status not in tuple(Status):
            raise ConfigError(f"status={self.status[:20]!r}: choose from {', '.join(Status)}")
        status = Status(self.status) if self.status else None
        wanted = RunFilter(source=self.suite or None, status=status, project_id=self.project)
        return Searched(wanted, self.model.strip() or None)


Filtered = Annotated[HistoryFilters, Depends()]


@ROUTER.get("/runs")
def history(
    request: Request, context: OpenContext, user: Reader, asked: Filtered, before: Before = ""
) -> Response:
    searched = asked.searched()
    lines, after, found = page(context, searched, before=int(before) if before else None, limit=PAGE_ROWS)
    counts, success = rates(context, searched)
    causes = of_lines(context, lines)
    by_hand = job_states.by_hand(context, lines)
    facts: dict[str, Any] = {
        "lines": lines,
        "causes": causes,
        "by_hand": {
            line.id: by_hand[line.id] and goes_on(line, causes.get(line.id, ()))
            for line in lines
            if line.id in by_hand
        },
        "figures": found,
        "after": after,
        "before": before,
        "counts": counts,
        "total": sum(counts.values()),
        "success": success,
        "asked": {**asdict(asked), "project": asked.project or ""},
    }
    if is_fragment(request) and request.headers.get("hx-target") == "runs":
        return show(request, "_runs.html", **facts)
    return show(
        request,
        "history.html",
        here="history",
        sources=sources(context),
        statuses=list(Status),
        project=asked.project,
        **facts,
    )


@ROUTER.get("/runs/export")
def export(context: OpenContext, user: Reader, asked: Filtered, form: Text = "csv") -> Response:
    """The runs that the filters let through."""
    lines, _, found = page(context, asked.searched(), limit=MOST_EXPORTED)
    records = [line_record(line, found.get(line.id, {})) for line in lines]
    if form == "json":
        text = orjson.dumps(records, option=orjson.OPT_INDENT_2).decode()
        return as_file(text, "history.json", "application/json")
    return as_file(as_csv(records), "history.csv", "text/csv")
