"""The dashboard: a run's results, page by page, filtered and sorted on the server; one of them open beside the list."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from proctor.errors import ConfigError
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.service.data.transfer import export_rows
from proctor.service.kinds import kind_of
from proctor.service.results import notes
from proctor.service.results.profile import profile_of
from proctor.service.watch import job_states
from proctor.service.watch.answers import SORTS, AnswersQuery, answers, outcome_counts
from proctor.service.watch.item import AnswerAsked, Filter, all_rows, answer, chosen
from proctor.types import Run
from proctor.web.addresses import query
from proctor.web.dependencies import Filling, OpenContext, Reader, RunId, Runner, Text, go, is_fragment
from proctor.web.render import show
from proctor.web.runs.one import facts_of

ROUTER = APIRouter()
PAGE_ROWS = 50
MOST_PICKED = 190  # rows that are ticked: what a form may hold
SHOWS = (
    ("all", "All"),
    ("wrong", "Wrong"),
    ("errors", "Errors"),
    ("truncated", "Truncated"),
    ("no_answer", "No answer"),
    ("flagged", "Flagged"),
)
COUNTED: dict[str, tuple[str, ...]] = {
    "wrong": ("wrong",),
    "errors": ("error",),
    "truncated": ("truncated",),
    "no_answer": ("no_answer", "refused"),
}
# name, what stands above it, and what it is sorted by; in the order of the table.
COLUMNS = (
    ("question", "Question", ""),
    ("reply", "Reply", ""),
    ("task", "Task", ""),
    ("outcome", "Outcome", ""),
    ("answer", "Answer", ""),
    ("target", "Target", ""),
    ("score", "Score", "score"),
    ("differ", "Others differ", "differ"),
    ("latency", "Time", "latency"),
    ("tokens_in", "Tokens in", ""),
    ("tokens", "Tokens out", "tokens"),
    ("cost", "Cost", ""),
)
USUAL = ("question", "reply", "outcome", "answer", "target", "differ", "latency", "tokens")
KINDS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}


@dataclass(frozen=True, slots=True)
class ResultsQuery:
    """A filter, an order and columns as the address has them."""

    show: Annotated[str, Query(max_length=20)] = "all"
    task: Text = ""
    outcome: Text = ""
    item: Text = ""
    q: Text = ""
    sort: Annotated[str, Query(max_length=20)] = ""
    order: Annotated[str, Query(max_length=10)] = ""
    columns: Annotated[str, Query(max_length=200)] = ""
    column: Annotated[tuple[str, ...], Query(max_length=len(COLUMNS))] = ()  # as a form of boxes sends them

    def filter(self) -> Filter:
        return Filter(
            self.show if self.show in dict(SHOWS) else "all",
            self.outcome or None,
            self.task or None,
            self.item or None,
            self.q or None,
            descending=self.order == "desc",
        )

    @property
    def by(self) -> Any:
        """What the rows are sorted by, None for their place in the run."""
        return self.sort if self.sort in SORTS else None

    @property
    def shown(self) -> list[str]:
        """The columns that are wanted, in the order of the table; the usual ones where none was named."""
        wanted = set(self.column or self.columns.split(","))
        return [name for name, _, _ in COLUMNS if name in wanted] or list(USUAL)

    def of_requests(self) -> dict[str, Any]:
        """The same filter in the words of a batch's results."""
        failed = self.outcome == "error" or self.show == "errors"
        return {"text": self.q, "custom_id": self.item, "status": "failed" if failed else self.outcome}

    def query(self) -> dict[str, Any]:
        told = {
            name: value for name, value in asdict(self).items() if value and name not in ("column", "columns")
        }
        told |= {} if self.shown == list(USUAL) else {"columns": ",".join(self.shown)}
        return {name: value for name, value in told.items() if value != "all"}


@dataclass(frozen=True, slots=True)
class Opened:
    """Which page of the list, and which row of it is open beside it."""

    after: Text = ""
    before: Text = ""
    at: Annotated[str, Query(max_length=500)] = ""
    repeat: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
    attempt: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None
    beside: Annotated[str, Query(max_length=100)] = ""

    @property
    def place(self) -> dict[str, Any]:
        return {"after": self.after, "before": self.before}


Filtered = Annotated[ResultsQuery, Depends()]
Place = Annotated[Opened, Depends()]


@ROUTER.get("/runs/{run_id}/results")
def results(
    request: Request, context: OpenContext, user: Reader, run_id: RunId, asked: Filtered, opened: Place
) -> Response:
    run = job_states.run_of(context, run_id)
    if kind_of(run.cell.source).holds == "requests":
        return go(request, f"/runs/{run.id}/requests{query(asked.of_requests())}")
    if kind_of(run.cell.source).holds == "tasks":
        return go(request, f"/rollouts/{run.plan_id}{query({'agent': run.cell.model})}")
    piece = request.headers.get("hx-target") if is_fragment(request) else None
    facts: dict[str, Any] = {"run": run, "asked": asked.query(), "opened": opened, "pane_of": None}
    if opened.at:
        asking = AnswerAsked(opened.at, opened.repeat, opened.attempt, opened.beside)
        facts["pane_of"] = facts_of(run, answer(context, run, asking))
    if piece == "pane" and opened.at:
        return show(request, "_answer_pane.html", **facts)
    facts |= _listed(context, run, asked, opened)
    return show(request, "_rows.html" if piece == "rows" else "results.html", here="history", **facts)


def _listed(context: Context, run: Run, asked: ResultsQuery, opened: Opened) -> dict[str, Any]:
    """What the list and its filters show."""
    columns = asked.shown
    wanted = AnswersQuery(asked.filter(), asked.by, opened.after, opened.before, PAGE_ROWS, tuple(columns))
    counted = outcome_counts(context, run, asked.task or None)
    return {
        "page": answers(context, run, wanted),
        "filter": asked,
        "columns": [each for each in COLUMNS if each[0] in columns],
        "all_columns": COLUMNS,
        "noted": notes.marked(context, run.id),
        "repeats": run.cell.repeats > 1,
        "shows": [(name, title, _count(counted, name)) for name, title in SHOWS],
        "tasks": sorted(run.manifest.facts.tasks or profile_of(context, run).tasks),
    }


def _count(counted: dict[str, int] | None, show: str) -> int | None:
    """How many rows of a run that has ended are shown so; None where nothing is counted."""
    if counted is None or show == "flagged":
        return None
    return sum(n for outcome, n in counted.items() if show == "all" or outcome in COUNTED[show])


@ROUTER.get("/runs/{run_id}/export")
def download(
    context: OpenContext, user: Reader, run_id: RunId, asked: Filtered, form: Text = "csv"
) -> Response:
    """The answers that the filter lets through, with prompts and replies; sent as they are read."""
    run = job_states.run_of(context, run_id)
    lines = export_rows(context, run, all_rows(context, run.id, asked.filter()), form)
    return StreamingResponse(lines, media_type=KINDS[form], headers=_as_file(run, form))


def _as_file(run: Run, form: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="run-{run.id[:8]}.{form}"'}


@ROUTER.post("/runs/{run_id}/picked/export")
def export_picked(context: OpenContext, user: Reader, run_id: RunId, form: Filling) -> Response:
    """The rows that are ticked, as a file."""
    run = job_states.run_of(context, run_id)
    kind = str(form.get("form") or "csv")
    lines = export_rows(context, run, chosen(context, run.id, _picked(form)), kind)
    return StreamingResponse(lines, media_type=KINDS[kind], headers=_as_file(run, kind))


@ROUTER.post("/runs/{run_id}/picked/flag")
def flag_picked(
    request: Request, context: OpenContext, user: Runner, run_id: RunId, form: Filling
) -> Response:
    """Flag the rows that are ticked, for another look."""
    run = job_states.run_of(context, run_id)
    rows = chosen(context, run.id, _picked(form))
    for row in rows:
        notes.add(context, run.id, row.item_id, row.repeat, user=user.name, text="", flag=True)
    access.note(context, user.name, "note", run.id, f"{len(rows)} rows flagged")
    back = str(form.get("back") or "")
    said = f"{len(rows)} row{'s are' if len(rows) != 1 else ' is'} flagged for another look."
    return go(request, f"/runs/{run.id}/results{back if back.startswith('?') else ''}", said)


def _picked(form: Any) -> list[tuple[str, int]]:
    """What is ticked, `REPEAT:ITEM` each, as (item, repeat). Raises ConfigError."""
    found = []
    for each in dict.fromkeys(str(value) for value in form.getlist("pick")):
        repeat, colon, item = each.partition(":")
        if not colon or not repeat.isdigit() or int(repeat) >= 2**31:
            raise ConfigError(f"pick={each[:60]!r}: give a repeat and an item, such as 0:rte/7")
        found.append((item, int(repeat)))
    if not found:
        raise ConfigError("Tick a row first: nothing is ticked")
    if len(found) > MOST_PICKED:
        raise ConfigError(
            f"{len(found)} rows are ticked, and at most {MOST_PICKED} go at once; export the filter"
        )
    return found
