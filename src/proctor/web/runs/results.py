"""The dashboard: a run's results, page by page, filtered on the server, with an address for every view."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from proctor.errors import ConfigError
from proctor.service.data.transfer import export_rows
from proctor.service.kinds import kind_of
from proctor.service.results import notes
from proctor.service.results.profile import profile_of
from proctor.service.watch import job_states
from proctor.service.watch.item import Cursor, Filter, all_rows, results_page
from proctor.web.addresses import query
from proctor.web.dependencies import OpenContext, Reader, RunId, Text, go, is_fragment
from proctor.web.render import show

ROUTER = APIRouter()
PAGE_ROWS = 50
PLACE = re.compile(
    r"([0-9]{1,9})\.([0-9]{1,9}|1[0-9]{9})"
)  # no larger than a column of either database takes
SHOWS = (
    ("all", "All"),
    ("wrong", "Wrong"),
    ("errors", "Errors"),
    ("truncated", "Truncated"),
    ("no_answer", "No answer"),
    ("flagged", "Flagged"),
)
KINDS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class ResultsQuery:
    """A filter as the address has it."""

    show: Annotated[str, Query(max_length=20)] = "all"
    task: Text = ""
    outcome: Text = ""
    item: Text = ""
    q: Text = ""
    order: Annotated[str, Query(max_length=10)] = ""

    def filter(self) -> Filter:
        return Filter(
            self.show if self.show in dict(SHOWS) else "all",
            self.outcome or None,
            self.task or None,
            self.item or None,
            self.q or None,
            descending=self.order == "desc",
        )

    def of_requests(self) -> dict[str, Any]:
        """The same filter in the words of a batch's results."""
        failed = self.outcome == "error" or self.show == "errors"
        return {"text": self.q, "custom_id": self.item, "status": "failed" if failed else self.outcome}

    def query(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value and value != "all"}


Filtered = Annotated[ResultsQuery, Depends()]


def _place(text: str) -> Cursor | None:
    """The place that `after` names, `POSITION.REPEAT`. Raises ConfigError."""
    if not text:
        return None
    found = PLACE.fullmatch(text)
    if found is None:
        raise ConfigError(f"after={text[:40]!r}: give the position and the repeat of a row, such as 49.0")
    return Cursor(int(found[1]), int(found[2]))


@ROUTER.get("/runs/{run_id}/results")
def results(
    request: Request, context: OpenContext, user: Reader, run_id: RunId, asked: Filtered, after: Text = ""
) -> Response:
    run = job_states.run_of(context, run_id)
    if kind_of(run.cell.source).holds == "requests":
        return go(request, f"/runs/{run.id}/requests{query(asked.of_requests())}")
    if kind_of(run.cell.source).holds == "tasks":
        return go(request, f"/rollouts/{run.plan_id}{query({'agent': run.cell.model})}")
    page = results_page(context, run.id, asked.filter(), after=_place(after), limit=PAGE_ROWS)
    facts: dict[str, Any] = {
        "run": run,
        "page": page,
        "asked": asked.query(),
        "after": after,
        "noted": notes.marked(context, run.id),
        "repeats": run.cell.repeats > 1,
    }
    if is_fragment(request) and request.headers.get("hx-target") == "rows":
        return show(request, "_rows.html", **facts)
    tasks = sorted(run.manifest.facts.tasks or profile_of(context, run).tasks)
    return show(request, "results.html", here="history", shows=SHOWS, filter=asked, tasks=tasks, **facts)


@ROUTER.get("/runs/{run_id}/export")
def download(
    context: OpenContext, user: Reader, run_id: RunId, asked: Filtered, form: Text = "csv"
) -> Response:
    """The answers that the filter lets through, with prompts and replies; sent as they are read."""
    run = job_states.run_of(context, run_id)
    lines = export_rows(context, run, all_rows(context, run.id, asked.filter()), form)
    headers = {"Content-Disposition": f'attachment; filename="run-{run.id[:8]}.{form}"'}
    return StreamingResponse(lines, media_type=KINDS[form], headers=headers)
