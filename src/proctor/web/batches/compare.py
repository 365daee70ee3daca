"""The dashboard: outputs of two to eight batches side by side. Coverage, agreement, and where replies differ."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from proctor.errors import ConfigError, NotFound, ProctorError
from proctor.findings import Estimate
from proctor.findings.heat import Heat, HeatCell, HeatColumn, HeatRow
from proctor.service.batches import benchmarks, compared_pages, labels, results
from proctor.service.batches.benchmarks import BenchmarkFilter
from proctor.service.batches.beside import STATUSES, TAGS
from proctor.service.batches.compare import BatchComparison
from proctor.service.batches.compared_pages import RequestBeside
from proctor.service.batches.lately import compared_runs
from proctor.service.batches.verdict import verdict
from proctor.service.context import Context
from proctor.types import Run
from proctor.web.addresses import decoded, encoded, query
from proctor.web.batches.requests import batch_of
from proctor.web.dependencies import Filling, Labeller, OpenContext, Project, Reader, Text, go
from proctor.web.heat import HeatAsked, HeatPlace, HeatView, heat_view
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
MOST_COMPARED = 8
PAGE_ROWS = 25
CHOICES = 100
COMPARATORS = (
    ("exact", "exact text"),
    ("normalized", "text without case, spaces and punctuation"),
    ("json", "JSON, field by field"),
    ("number", "the number in it"),
    ("label", "a label found by a pattern"),
)
SETTINGS = {
    "json": "ignore=id|at,near=total~0.01",
    "number": "rel=0.01",
    "label": "pattern=Answer: (\\w+)",
}
# What is said of a status, and its colour; the words say it too.
STATUS_WORDS = {
    "newly failing": "red",
    "different": "orange",
    "newly answered": "blue",
    "only A": "",
    "only B": "",
    "equivalent": "green",
    "failed in both": "red",
    "same": "green",
}
Names = Annotated[tuple[str, ...], Query(max_length=MOST_COMPARED)]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """What is compared, as the address has it: runs, the baseline first; a comparator and its settings."""

    project: Project
    runs: Names = ()
    how: Annotated[str, Query(max_length=50)] = "exact"
    settings: Text = ""
    show: Annotated[str, Query(max_length=20)] = ""
    blind: Annotated[str, Query(max_length=5)] = ""

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name in self.runs if name))

    @property
    def comparator(self) -> str:
        settings = self.settings.strip()
        return f"{self.how}:{settings}" if settings else self.how

    def query(self) -> dict[str, Any]:
        told = {"how": self.how, "settings": self.settings, "show": self.show, "blind": self.blind}
        return {"runs": self.names(), **{name: value for name, value in told.items() if value}}


Asked = Annotated[SideBySide, Depends()]


@ROUTER.get("/batches/compare")
def page(request: Request, context: OpenContext, user: Reader, asked: Asked, after: Text = "") -> Response:
    listed = benchmarks.listed(context, BenchmarkFilter(project_id=asked.project), limit=CHOICES)
    choices = [each.run for each in listed.benchmarks if each.state.ended]
    facts: dict[str, Any] = {
        "found": None,
        "problem": None,
        "choices": choices,
        "known": {run.id: run for run in choices},
        "chosen": asked.names(),
        "asked": asked,
        "comparators": COMPARATORS,
        "settings": SETTINGS,
        "blind": False,
    }
    if len(asked.names()) >= 2:
        try:
            facts |= _compared(context, asked, after)
        except (ConfigError, NotFound) as problem:
            facts["problem"] = _told(problem)
    return show(request, "batch_compare.html", here="batches", **facts)


def _told(problem: ProctorError) -> dict[str, str] | None:
    facts = problem_facts(problem)
    if facts is not None:
        facts["detail"] = facts["detail"].removeprefix("comparator: ")
    return facts


def _compared(context: Context, asked: SideBySide, after: str) -> dict[str, Any]:
    runs = [batch_of(context, name) for name in asked.names()]
    found = compared_runs(context, [run.id for run in runs], asked.comparator)
    page = compared_pages.rows(
        context, found, status=asked.show or None, after=decoded(after) if after else None, limit=PAGE_ROWS
    )
    return {
        "found": found,
        "runs": runs,
        "names": names_of(runs),
        "verdict": verdict(found) if len(runs) == 2 else "",
        "agreement": agreement_of(found, runs) if len(runs) > 2 else None,
        "page": page,
        "rows": [(row, compared_pages.differences(row)) for row in page.rows],
        "after": encoded(page.after) if page.after else "",
        "statuses": [(name, found.counts[name]) for name in STATUSES if found.counts.get(name)],
        "tags": [(name, found.tags[name]) for name in TAGS if found.tags.get(name)],
        "colours": STATUS_WORDS,
    }


def agreement_of(found: BatchComparison, runs: list[Run]) -> HeatView:
    """Every two batches: the share of requests that both answered in which they agree."""
    names = names_of(runs)
    columns = tuple(HeatColumn(run.id, name) for run, name in zip(runs, names, strict=True))
    rows = tuple(
        HeatRow(
            columns[place].key,
            names[place],
            "agreement",
            tuple(HeatCell(None, why="itself") if at == place else _agreed(e) for at, e in enumerate(line)),
        )
        for place, line in enumerate(found.matrix)
    )
    heat = Heat(columns, rows, "requests", ("Same and equivalent among the requests that both answered.",))

    def two(row: HeatRow, other: str) -> str:
        return "/batches/compare" + query({"runs": [row.key, other]}) + "#rows"

    place = HeatPlace("/batches/compare", {}, two, lambda row, best, worst: None)
    return replace(heat_view(heat, HeatAsked("value", "name"), place), choices={}, gaps=False)


def _agreed(e: Estimate | None) -> HeatCell:
    if e is None or e.value is None:
        return HeatCell(None, why="no request that both answered")
    return HeatCell(e.value, e.low, e.high, e.scored)


def names_of(runs: list[Run]) -> list[str]:
    """What each run is called on the page: its model; with its beginning where two are of one model."""
    models = [str(run.cell.model) for run in runs]
    return [
        model if models.count(model) == 1 else f"{model} ({run.id[:8]})"
        for model, run in zip(models, runs, strict=True)
    ]


@ROUTER.get("/batches/compare/request")
def one(
    request: Request,
    context: OpenContext,
    user: Reader,
    asked: Asked,
    id64: Annotated[str, Query(max_length=60_000)],
) -> Response:
    """One request in all outputs, with keys that say which is best. Blind: without names, in an order of its own."""
    runs = [batch_of(context, name) for name in asked.names()]
    custom_id = decoded(id64)
    found = compared_runs(context, [run.id for run in runs], asked.comparator)
    row = compared_pages.row(context, found, custom_id)
    order = shuffled(len(runs), custom_id) if asked.blind else list(range(len(runs)))
    names = [f"Reply {place}" for place in range(1, len(runs) + 1)] if asked.blind else names_of(runs)
    marks = [labels.current(context, run.id, [custom_id]).get((custom_id, 0)) for run in runs]
    diffs = compared_pages.differences(row)
    return show(
        request,
        "batch_compare_one.html",
        here="batches",
        asked=asked,
        runs=runs,
        row=row,
        replies=[
            (
                runs[place],
                names[shown if asked.blind else place],
                row.replies[place],
                _spans(diffs, place, asked),
                marks[place],
            )
            for shown, place in enumerate(order)
        ],
        beside=row.beside,
        messages=_messages(context, runs, custom_id),
        neighbours=_neighbours(context, found, asked, row.status, custom_id),
        colours=STATUS_WORDS,
        diffs_keys=diffs[0].keys if len(runs) == 2 and diffs[0] else (),
        blind=bool(asked.blind),
        custom_id=custom_id,
    )


def _spans(diffs: Sequence[RequestBeside | None], place: int, asked: SideBySide) -> Sequence[Any] | None:
    """A reply in spans beside the baseline's; of two, the baseline's own too. Blind, nobody is told which it is."""
    found = diffs[max(0, place - 1)]
    if asked.blind or found is None or (place == 0 and len(diffs) > 1):
        return None
    return found.second if place else found.first


def shuffled(n: int, custom_id: str) -> list[int]:
    """An order of places that is another for each request, and the same whenever it is looked at again.

    >>> sorted(shuffled(3, "a")), shuffled(3, "a") == shuffled(3, "a")
    ([0, 1, 2], True)
    """
    return sorted(range(n), key=lambda place: hashlib.sha256(f"{place}/{custom_id}".encode()).digest())


def _messages(context: Context, runs: list[Run], custom_id: str) -> Any:
    for run in runs:
        try:
            return results.one(context, run, custom_id).messages
        except NotFound:
            continue
    return ()


def _neighbours(
    context: Context, found: BatchComparison, asked: SideBySide, status: str, custom_id: str
) -> dict[str, str]:
    """The address of the next request in the list that one came from."""
    shown = asked.show or None
    cursor = f"{shown or status}\n{custom_id}"
    page = compared_pages.rows(context, found, status=shown, after=cursor, limit=1)
    return {"next": row_path(asked, page.rows[0].custom_id)} if page.rows else {}


def row_path(asked: SideBySide, custom_id: str) -> str:
    return "/batches/compare/request" + query(asked.query(), id64=encoded(custom_id))


@ROUTER.post("/batches/compare/best")
def best(request: Request, context: OpenContext, user: Labeller, asked: Asked, form: Filling) -> Response:
    """Say which reply to a request is the best of those that are compared."""
    runs = [batch_of(context, name).id for name in asked.names()]
    custom_id = decoded(str(form.get("id64") or ""))
    chosen = str(form.get("best") or "")
    labels.best_of(context, runs, custom_id, chosen, user=user.name)
    return go(request, row_path(asked, custom_id))
