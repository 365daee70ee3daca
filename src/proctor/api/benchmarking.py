"""The seven documented routes under /api/v1/benchmarking."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path, Query, Response

from proctor.api import answers, boards
from proctor.api.dependencies import OpenContext, Reader, Runner
from proctor.api.schemas import JOB_ID, CompareRequest, HistoryQuery, KeptGraderName, ListQuery
from proctor.errors import ConfigError, Conflict
from proctor.service.admin import access
from proctor.service.forecast.duration import estimated_duration
from proctor.service.grades.view import graded_result
from proctor.service.kinds import exam_ref, kind_of
from proctor.service.results import look_documents
from proctor.service.runs import queue
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import RunRequest, plan_for
from proctor.service.watch import job_states
from proctor.service.watch.beside import side_by_side
from proctor.service.watch.overview import board_suite
from proctor.types import Status

ROUTER = APIRouter(prefix="/benchmarking", tags=["benchmarking"])
CANCEL_WAIT_S = 2.5
DAY_S = 86400.0

JobId = Annotated[str, Path(max_length=100, examples=[JOB_ID])]
States = Literal["pending", "running", "completed", "failed", "cancelled"]


@ROUTER.post("/run", summary="Run benchmarks")
def run(request: RunRequest, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Put a benchmark of one model into the queue. It runs in a process of its own; the answer comes at once."""
    plan = plan_for(context, request)
    ticket = Ticket(user.name, request.project_id, request.priority)
    made = queue.submit(context, plan, ticket)
    source = exam_ref(made.cell.source)
    whole = replace(source, preset=None, limit=None, rows=None)
    sized = kind_of(source).sized
    access.note(context, user.name, "submit", made.id, f"{made.cell.model} on {source.name}")
    duration, basis = estimated_duration(context, made.cell)
    return {
        "job_id": made.id,
        "message": f"Benchmarking started for suite: {source.name}",
        "estimated_duration": duration,
        "estimate_basis": basis,
        "preset": source.preset,
        "items": sized(source, context),
        "full_size": sized(whole, context),
        "sample": source.rows == "sample",
    }


@ROUTER.get("/results/{job_id}", summary="Get benchmark results")
def results(
    job_id: JobId, context: OpenContext, user: Reader, grader: KeptGraderName = None
) -> dict[str, Any]:
    """A job's state and what it shows so far; beside each `mean` its standard error (`std`), interval, n and method.

    `decision` is of a run that is asked side by side with others until decided, null of any other.
    """
    run = job_states.run_of(context, job_id)
    shown = (
        job_states.result_of(context, run.id) if grader is None else graded_result(context, run.id, grader)
    )
    beside = side_by_side(context, run)
    return {
        **answers.job(shown, job_states.state_of(context, run.id)),
        "decision": look_documents.decision(beside.decision if beside else None),
    }


@ROUTER.post("/cancel/{job_id}", summary="Cancel a benchmark job")
def cancel(job_id: JobId, context: OpenContext, user: Runner) -> dict[str, Any]:
    """End a waiting or running job; what it asked so far is kept, and it can be restarted."""
    run = job_states.run_of(context, job_id)
    try:
        ended = queue.cancel(context, run.id)
    except Conflict:
        raise ConfigError(
            f"Failed to cancel job {job_id}: job not found or already completed (it is {run.status})"
        ) from None
    access.note(context, user.name, "cancel", run.id)
    deadline = time.monotonic() + CANCEL_WAIT_S
    while not ended and time.monotonic() < deadline:
        time.sleep(0.05)
        ended = job_states.run_of(context, job_id).status is not Status.RUNNING
    return {
        "message": f"Job {job_id} cancelled successfully" if ended else f"Job {job_id} is being cancelled"
    }


@ROUTER.get("/results", summary="List benchmark results")
def list_results(asked: Annotated[ListQuery, Query()], context: OpenContext, user: Reader) -> dict[str, Any]:
    """The newest runs, those of the command line too; `total` counts all that the filters let through."""
    lines, total = job_states.run_lines(context, asked.wanted(context), limit=asked.limit)
    return {"results": boards.run_list(context, lines), "total": total}


@ROUTER.post("/compare", summary="Compare models")
def compare(request: CompareRequest, context: OpenContext, user: Reader) -> dict[str, Any]:
    """Models (or runs) side by side, on the items that all share; verdicts need a test and an interval."""
    return boards.comparison(context, request)


@ROUTER.get("/history", summary="Get benchmark history", response_model=dict[str, Any])
def history(asked: Annotated[HistoryQuery, Query()], context: OpenContext, user: Reader) -> Response:
    """The runs of the last days. With `model_name`, `trend` has the model's scores and how each differs."""
    wanted = asked.wanted(context, since=time.time() - asked.days * DAY_S)
    lines, total = job_states.run_lines(context, wanted, limit=asked.limit)
    found: dict[str, Any] = {
        "history": boards.run_list(context, lines),
        "total_runs": total,
        "date_range": f"Last {asked.days} days",
    }
    if asked.model_name is not None:
        found["trend"] = orjson.Fragment(boards.trend(context, wanted))
    return Response(orjson.dumps(found), media_type="application/json")


@ROUTER.get("/leaderboard", summary="Get leaderboard")
def leaderboard(
    context: OpenContext,
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
    return boards.leaderboard(context, suite or board_suite(context, project_id), metric, limit, project_id)
