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
from proctor.service.watch.item import AnswerAsked, answer
from proctor.types import Run
from proctor.web.addresses import decoded, named_by, query
from proctor.web.batches.listing import holds_requests
from proctor.web.dependencies import OpenContext, Reader, RunId, Text, go, is_fragment
from proctor.web.markdown import markdown
from proctor.web.render import show
from proctor.web.runs.one import elsewhere, why

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
# name, what stands above it, and what it is sorted by; in the order of the table.
COLUMNS = (
    ("request", "Request", ""),
    ("reply", "Reply", ""),
    ("status", "Status", ""),
    ("finish", "Finish", ""),
    ("candidate", "Candidate", ""),
    ("tokens_in", "Tokens in", "input_tokens"),
    ("tokens", "Tokens out", "output_tokens"),
    ("first_token", "First token", ""),
    ("latency", "Time", "latency"),
    ("cost", "Cost", ""),
    ("label", "Label", ""),
)
USUAL = ("request", "reply", "status", "tokens", "latency", "label")
COLUMNS_ASKED = ("columns", "column")
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
    columns: Annotated[str, Query(max_length=200)] = ""
    column: Annotated[tuple[str, ...], Query(max_length=len(COLUMNS))] = ()  # as a form of boxes sends them

    @property
    def shown(self) -> list[str]:
        """The columns that are wanted, in the order of the table; the usual ones where none was named."""
        wanted = set(self.column or self.columns.split(","))
        return [name for name, _, _ in COLUMNS if name in wanted] or list(USUAL)

    def query(self) -> dict[str, Any]:
        told = {name: value for name, value in asdict(self).items() if value and name not in COLUMNS_ASKED}
        return told if self.shown == list(USUAL) else {**told, "columns": ",".join(self.shown)}

    def wanted(self) -> RowFilter:
        """Raises: ConfigError."""
        told = {name: value for name, value in self.query().items() if name not in ("blind", "columns")}
        return RowFilter.of(told)


Filtered = Annotated[RequestsQuery, Depends()]


def batch_of(context: Context, run_id: str) -> Run:
    """Raises: NotFound, for a run of an exam too."""
    run = job_states.run_of(context, run_id.removeprefix("bm_"))
    if not holds_requests(run):
        raise NotFound(f"Run {run.id[:8]} asked questions of an exam: it has no requests of one's own")
    return run


@dataclass(frozen=True, slots=True)
class OpenedRequest:
    """Where the page of the list begins, which request of it is open beside it, and what its reply is compared with."""

    after: Text = ""
    at: Annotated[str, Query(max_length=20_000)] = ""
    beside: Annotated[str, Query(max_length=100)] = ""


OpenRequest = Annotated[OpenedRequest, Depends()]


@ROUTER.get("/runs/{run_id}/requests")
def table(
    request: Request, context: OpenContext, user: Reader, run_id: RunId, asked: Filtered, opened: OpenRequest
) -> Response:
    run = batch_of(context, run_id)
    if run_id != run.id:
        return go(request, f"/runs/{run.id}/requests{query(asked.query())}".removesuffix("?"))
    piece = request.headers.get("hx-target") if is_fragment(request) else None
    facts: dict[str, Any] = {"run": run, "asked": asked.query(), "opened": opened, "pane_of": None}
    facts["blind"] = bool(asked.blind)
    if opened.at:
        facts["pane_of"] = facts_of(context, run, named_by(opened.at), opened.beside)
    if piece == "pane" and opened.at:
        return show(request, "_batch_pane.html", **facts)
    facts |= _listed(context, run, asked, opened.after)
    if piece == "rows":
        return show(request, "_batch_rows.html", **facts)
    return show(
        request,
        "batch_results.html",
        here="batches",
        finishes=FINISHES,
        statuses=STATUSES,
        labelled=LABELLED,
        candidates=results.candidates(context, run),
        label_counts=labels.counts(context, run.id),
        **facts,
    )


def _listed(context: Context, run: Run, asked: RequestsQuery, after: str) -> dict[str, Any]:
    shown = asked.shown
    return {
        "page": results.page(context, run, asked.wanted(), after=after or None, limit=PAGE_ROWS),
        "filter": asked,
        "after": after,
        "columns": [each for each in COLUMNS if each[0] in shown],
        "all_columns": COLUMNS,
    }


def facts_of(context: Context, run: Run, custom_id: str, beside: str = "") -> dict[str, Any]:
    """What pages show of one request: the same beside a list and on its own page. Raises: NotFound, ConfigError."""
    found = results.one(context, run, custom_id)
    text = str(found.said.get("text") or "")
    told = answer(context, run, AnswerAsked(custom_id, beside=beside))
    return {
        "found": found,
        "row": found.row.attempt,
        "text": text,
        "as_markdown": markdown(text),
        "as_json": laid_out(text) if text.lstrip().startswith(("{", "[")) else None,
        "sent": laid_out(found.request.body.decode("utf-8", "replace")) if found.request else None,
        "custom_id": custom_id,
        "labels": found.labels,
        "came": json.dumps(_line(found.row), indent=2, ensure_ascii=False),
        "why": why(run, told),
        "told": told,
        **elsewhere(run, told),
    }


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
    beside = request.query_params.get("beside", "")[:100]
    return show(
        request,
        "batch_item.html",
        here="batches",
        run=run,
        asked=asked.query(),
        blind=bool(asked.blind),
        **facts_of(context, run, custom_id, beside),
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
