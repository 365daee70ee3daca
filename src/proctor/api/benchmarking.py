"""The seven documented routes under /api/v1/benchmarking."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query

from proctor.api import answers, boards, examples
from proctor.api.door import OpenDesk, Reader, Runner
from proctor.api.examples import example
from proctor.api.schemas import JOB_ID, CompareRequest, HistoryQuery, ListQuery
from proctor.errors import ConfigError, Conflict
from proctor.service import access, jobs_view, queue
from proctor.service.duration import estimated_duration, items_of
from proctor.service.overview import board_suite
from proctor.service.queue import Ticket
from proctor.service.requests import RunRequest, plan_of
from proctor.types import Status

ROUTER = APIRouter(prefix="/benchmarking", tags=["benchmarking"])
CANCEL_WAIT_S = 2.5
DAY_S = 86400.0

JobId = Annotated[str, Path(max_length=100, examples=[JOB_ID])]
States = Literal["pending", "running", "completed", "failed", "cancelled"]


@ROUTER.post("/run", summary="Run benchmarks", responses=example(examples.SUBMITTED))
def run(request: RunRequest, desk: OpenDesk, user: Runner) -> dict[str, Any]:
    """Put a benchmark of one model into the queue. It runs in a process of its own; the answer comes at once."""
    plan = plan_of(request, desk.settings)
    ticket = Ticket(user.name, request.project_id, request.priority)
    made = queue.submit(desk.store, plan, ticket, desk.settings)
    source = made.cell.source
    access.note(desk.store, user.name, "submit", made.id, f"{made.cell.model} on {source.name}")
    duration, basis = estimated_duration(desk.store, made.cell)
    return {
        "job_id": made.id,
        "message": f"Benchmarking started for suite: {source.name}",
        "estimated_duration": duration,
        "estimate_basis": basis,
        "preset": source.preset,
        "items": items_of(source),
        "full_size": items_of(replace(source, preset=None, limit=None, rows=None)),
        "sample": source.rows == "sample",
    }


@ROUTER.get("/results/{job_id}", summary="Get benchmark results", responses=example(examples.RESULT))
def results(job_id: JobId, desk: OpenDesk, user: Reader) -> dict[str, Any]:
    """A job's state and what it shows so far; beside each `mean` its standard error (`std`), interval, n and method."""
    return answers.job(jobs_view.result_of(desk, job_id), jobs_view.state_of(desk, job_id))


@ROUTER.post("/cancel/{job_id}", summary="Cancel a benchmark job", responses=example(examples.CANCELLED))
def cancel(job_id: JobId, desk: OpenDesk, user: Runner) -> dict[str, Any]:
    """End a waiting or running job; what it asked so far is kept, and it can be restarted."""
    run = jobs_view.run_of(desk, job_id)
    try:
        ended = queue.cancel(desk.store, run.id)
    except Conflict:
        raise ConfigError(
            f"Failed to cancel job {job_id}: job not found or already completed (it is {run.status})"
        ) from None
    access.note(desk.store, user.name, "cancel", run.id)
    deadline = time.monotonic() + CANCEL_WAIT_S
    while not ended and time.monotonic() < deadline:
        time.sleep(0.05)
        ended = jobs_view.run_of(desk, job_id).status is not Status.RUNNING
    return {
        "message": f"Job {job_id} cancelled successfully" if ended else f"Job {job_id} is being cancelled"
    }


@ROUTER.get("/results", summary="List benchmark results", responses=example(examples.LISTED))
def listed(asked: Annotated[ListQuery, Query()], desk: OpenDesk, user: Reader) -> dict[str, Any]:
    """The newest runs, those of the command line too; `total` counts all that the filters let through."""
    lines, total = jobs_view.run_lines(desk, asked.wanted(desk), limit=asked.limit)
    return {"results": boards.listed(desk, lines), "total": total}


@ROUTER.post("/compare", summary="Compare models", responses=example(examples.COMPARED))
def compare(request: CompareRequest, desk: OpenDesk, user: Reader) -> dict[str, Any]:
    """Models (or runs) side by side, on the items that all share; verdicts need a test and an interval."""
    return boards.comparison(desk, request)


@ROUTER.get("/history", summary="Get benchmark history", responses=example(examples.HISTORY))
def history(asked: Annotated[HistoryQuery, Query()], desk: OpenDesk, user: Reader) -> dict[str, Any]:
    """The runs of the last days. With `model_name`, `trend` has the model's scores and how each differs."""
    wanted = asked.wanted(desk, since=time.time() - asked.days * DAY_S)
    lines, total = jobs_view.run_lines(desk, wanted, limit=asked.limit)
    found: dict[str, Any] = {
        "history": boards.listed(desk, lines),
        "total_runs": total,
        "date_range": f"Last {asked.days} days",
    }
    if asked.model_name is not None:
        found["trend"] = boards.trend(desk, wanted, days=asked.days)
    return found


@ROUTER.get("/leaderboard", summary="Get leaderboard", responses=example(examples.BOARD))
def leaderboard(
    desk: OpenDesk,
    user: Reader,
    suite: Annotated[str | None, Query(max_length=300)] = None,
    metric: Annotated[str, Query(max_length=100)] = "accuracy",
    project_id: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 10,
) -> dict[str, Any]:
    """Models ranked on what they were asked alike; tied models share a rank.

    `metric=score` is each run's headline; `accuracy` is that where it is the accuracy over all items, else the mean
    over the tasks that have it. The default suite is glue, or what was run last where only other suites have runs on
    real rows.
    """
    return boards.leaderboard(desk, suite or board_suite(desk, project_id), metric, limit, project_id)
