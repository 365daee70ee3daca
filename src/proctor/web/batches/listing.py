"""The dashboard: Batches. Those at work, live; those that have ended, and how it went; those that failed, and why."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from proctor.service.batches import benchmarks
from proctor.service.batches.benchmarks import Benchmark, BenchmarkFilter
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.service.output import lines
from proctor.service.watch import job_states
from proctor.service.watch.job_states import JobState
from proctor.types import Run
from proctor.web.addresses import query
from proctor.web.dependencies import OpenContext, Project, Reader, RunId
from proctor.web.events import Events
from proctor.web.render import show

ROUTER = APIRouter()
LISTED = 20  # ended batches on a page
MOST_ACTIVE = 100
Named = Annotated[str, Query(max_length=100)]
RUNNER, VIEWER = "/static/benchmark-runner.html", "/static/benchmark-results.html"


@ROUTER.get("/batches")
def page(
    request: Request, context: OpenContext, user: Reader, project: Project, before: Named = ""
) -> Response:
    facts = _facts(context, project, before)
    return show(request, "batches.html", here="batches", project=project, before=before, **facts)


@ROUTER.get("/batches/live")
def live_piece(request: Request, context: OpenContext, user: Reader, project: Project) -> Response:
    return show(request, "_batches.html", project=project, before="", **_facts(context, project))


def _facts(context: Context, project: int | None, before: str = "") -> dict[str, Any]:
    found, more = ended(context, project, before or None)
    return {"active": at_work(context, project), "ended": found, "more": more}


def at_work(context: Context, project: int | None) -> list[JobState]:
    """Batches that work or wait, the newest first."""
    found = job_states.active(context, project, limit=MOST_ACTIVE)
    return [state for state in found if holds_requests(state.run)]


def holds_requests(run: Run) -> bool:
    return kind_of(run.cell.source).holds == "requests"


def ended(
    context: Context, project: int | None, before: str | None = None
) -> tuple[list[Benchmark], str | None]:
    """Batches that have ended, the newest first, and the last of them where there are more."""
    wanted = BenchmarkFilter(project_id=project, before=before)
    page = benchmarks.listed(context, wanted, limit=LISTED + MOST_ACTIVE)
    found = [each for each in page.benchmarks if each.state.ended]
    shown = found[:LISTED]
    return shown, shown[-1].id if len(found) > LISTED or (shown and page.after) else None


@ROUTER.get("/batches/events")
async def events(following: Events, context: OpenContext, user: Reader, project: Project) -> Response:
    """Says `changed` whenever a batch that works or waits has moved."""

    def look() -> list[tuple[object, ...]]:
        return [(state.run.id, *state.mark) for state in at_work(context, project)]

    return await following.of(("batches", project), look)


@ROUTER.get("/runs/{run_id}/output")
def download(context: OpenContext, user: Reader, run_id: RunId) -> Response:
    """Every request that was tried, as lines of an output file; sent as they are read."""
    run = job_states.run_of(context, run_id)
    headers = {"Content-Disposition": f'attachment; filename="batch-{run.id[:8]}.jsonl"'}
    return StreamingResponse(lines.lines(context, run), media_type="application/x-ndjson", headers=headers)


@ROUTER.get(RUNNER)
def runner(request: Request) -> Response:
    """Where the specification has the page on which batches are started and watched."""
    return RedirectResponse("/batches" + query(dict(request.query_params)).removesuffix("?"), 307)


@ROUTER.get(VIEWER)
def viewer(request: Request, benchmark_id: Named = "") -> Response:
    """Where the specification has the page of a batch's results."""
    kept = {name: value for name, value in request.query_params.items() if name != "benchmark_id"}
    path = f"/runs/{benchmark_id}/requests" if benchmark_id else "/batches"
    return RedirectResponse(path + query(kept).removesuffix("?"), 307)
