"""The dashboard: a batch's results. A table of any length, one request with all that is known of it, and failures."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from proctor.errors import NotFound
from proctor.service.batches import failing, labels, results
from proctor.service.batches.documents import line_document
from proctor.service.batches.find.filters import RowFilter
from proctor.service.batches.results import RequestRow
from proctor.service.context import Context
from proctor.service.watch import job_states
from proctor.types import Run
from proctor.web.addresses import decoded, query
from proctor.web.batches.listing import holds_requests
from proctor.web.dependencies import OpenContext, Reader, RunId, Text, go, is_fragment
from proctor.web.markdown import markdown
from proctor.web.render import show

ROUTER = APIRouter()
PAGE_ROWS = 50
STATUSES = (
    ("answered", "answered"),
    ("failed", "failed"),
    ("truncated", "cut by the token limit"),
    ("refused", "refused"),
    ("no_answer", "empty reply"),
    ("4xx", "HTTP 4xx"),
    ("5xx", "HTTP 5xx"),
    ("none", "no HTTP answer"),
)
FINISHES = ("stop", "length", "refused", "tools", "unknown")
LABELLED = (
    ("any", "labelled"),
    ("none", "not labelled"),
    ("good", "good"),
    ("bad", "bad"),
    ("best", "best"),
    ("edited", "edited"),
)
Word = Annotated[str, Query(max_length=30)]
CustomId = Annotated[str, Path(max_length=20_000)]


@dataclass(frozen=True, slots=True)
class RequestsQuery:
    """A filter as the address has it; numbers stay text until the use case reads them."""

    text: Text = ""
    custom_id: Text = ""
    status: Word = ""
    finish: Word = ""
    candidate: Text = ""
    label: Word = ""
    tag: Text = ""
    output_tokens_min: Word = ""
    output_tokens_max: Word = ""
    latency_min: Word = ""
    latency_max: Word = ""
    order: Word = ""
    descending: Word = ""
    blind: Word = ""

    def query(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}

    def wanted(self) -> RowFilter:
        """Raises: ConfigError."""
        return RowFilter.of({name: value for name, value in self.query().items() if name != "blind"})


Filtered = Annotated[RequestsQuery, Depends()]


def batch_of(context: Context, run_id: str) -> Run:
    """Raises: NotFound, for a run of an exam too."""
    run = job_states.run_of(context, run_id.removeprefix("bm_"))
    if not holds_requests(run):
        raise NotFound(f"Run {run.id[:8]} asked questions of an exam: it has no requests of one's own")
    return run


@ROUTER.get("/runs/{run_id}/requests")
def table(
    request: Request, context: OpenContext, user: Reader, run_id: RunId, asked: Filtered, after: Text = ""
) -> Response:
    run = batch_of(context, run_id)
    if run_id != run.id:
        return go(request, f"/runs/{run.id}/requests{query(asked.query())}".removesuffix("?"))
    page = results.page(context, run, asked.wanted(), after=after or None, limit=PAGE_ROWS)
    facts: dict[str, Any] = {"run": run, "page": page, "asked": asked.query(), "after": after}
    if is_fragment(request) and request.headers.get("hx-target") == "rows":
        return show(request, "_batch_rows.html", **facts)
    return show(
        request,
        "batch_results.html",
        here="batches",
        filter=asked,
        statuses=STATUSES,
        finishes=FINISHES,
        labelled=LABELLED,
        candidates=results.candidates(context, run),
        label_counts=labels.counts(context, run.id),
        **facts,
    )


@ROUTER.get("/runs/{run_id}/requests/{name:path}")
def one(
    request: Request, context: OpenContext, user: Reader, run_id: RunId, name: CustomId, asked: Filtered
) -> Response:
    return _one(request, context, run_id, name, asked)


@ROUTER.get("/runs/{run_id}/request")
def one_by_bytes(
    request: Request,
    context: OpenContext,
    user: Reader,
    run_id: RunId,
    asked: Filtered,
    id64: Annotated[str, Query(max_length=60_000)],
) -> Response:
    """The same of a request whose name no path can hold: `..`, line ends, very long ones."""
    return _one(request, context, run_id, decoded(id64), asked)


def _one(request: Request, context: Context, run_id: str, custom_id: str, asked: RequestsQuery) -> Response:
    run = batch_of(context, run_id)
    found = results.one(context, run, custom_id)
    text = str(found.said.get("text") or "")
    return show(
        request,
        "batch_item.html",
        here="batches",
        run=run,
        found=found,
        row=found.row.attempt,
        text=text,
        as_markdown=markdown(text),
        as_json=laid_out(text) if text.lstrip().startswith(("{", "[")) else None,
        sent=laid_out(found.request.body.decode("utf-8", "replace")) if found.request else None,
        custom_id=custom_id,
        labels=found.labels,
        came=json.dumps(_line(found.row), indent=2, ensure_ascii=False),
        asked=asked.query(),
        blind=bool(asked.blind),
    )


def _line(row: RequestRow) -> dict[str, Any]:
    """The row as it stands in an output file."""
    whole = line_document(row)
    return {name: whole[name] for name in ("id", "custom_id", "response", "error")}


def laid_out(text: str) -> str | None:
    """The JSON on lines of its own; as it is where it is none."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


@ROUTER.get("/runs/{run_id}/failures")
def failures(request: Request, context: OpenContext, user: Reader, run_id: RunId) -> Response:
    """Why requests failed, like ones together."""
    run = batch_of(context, run_id)
    state = job_states.state_of(context, run.id)
    groups = failing.grouped(context, run)
    return show(
        request,
        "batch_failures.html",
        here="batches",
        run=run,
        groups=groups,
        failed=sum(group.items for group in groups),
        restartable=state.ended and state.job is not None and run.partial,
        by_hand=state.ended and state.job is None and run.partial,
    )
