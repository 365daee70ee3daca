"""/api/v1/rollouts: benchmarks of tasks for agents, started, followed, read down to a patch, ended; /api/v1/tasks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from proctor.api import rollouts_answers as answers
from proctor.api.dependencies import OpenContext, Reader, Runner
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.service.rollouts import benchmark as benchmarks
from proctor.service.rollouts import changing, listing, prepared, starting, trajectory
from proctor.service.rollouts import trial as trials
from proctor.service.rollouts.benchmark import RolloutBenchmark, TrialState, TrialWish
from proctor.service.rollouts.listing import BenchmarkWish
from proctor.service.rollouts.starting import RolloutsRequest
from proctor.service.rollouts.trajectory_text import text_of
from proctor.service.rollouts.trial import TrialName
from proctor.service.rows.trials_document import matrix_document
from proctor.service.watch import job_states
from proctor.types import Status

ROUTER = APIRouter(tags=["rollouts"])
ROLLOUTS = "/rollouts"
ONE = f"{ROLLOUTS}/{{benchmark_id}}"
TRIAL = f"{ONE}/trials/{{run}}/{{task}}/{{rollout}}"
EXAMPLE = "2f6d3c1e-8a4b-4c7d-9e0f-5b1a6c7d8e9f"
LOOK_EVERY_S = 0.5
HEARTBEAT_S = 15.0
# What an agent wrote is shown as text and never run, whatever a browser takes it for.
SAFE = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cache-Control": "no-store",
}
TEXT: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}

Ident = Annotated[str, Path(max_length=100, examples=[EXAMPLE])]
Attempt = Annotated[int | None, Query(ge=0, le=10**6, description="Which try, from 0; default: the last.")]
States = Literal["pending", "running", "completed", "failed", "cancelled"]


def _trial_name(
    benchmark_id: Ident,
    run: Annotated[str, Path(max_length=100, description="The row's `job_id`.")],
    task: Annotated[str, Path(max_length=300)],
    rollout: Annotated[int, Path(ge=0, le=10**6)],
) -> TrialName:
    return TrialName(benchmark_id, run, task, rollout)


class BenchmarkListQuery(BaseModel):
    """Which benchmarks."""

    model_config = ConfigDict(extra="forbid")

    status: States | None = None
    project_id: int | None = Field(None, ge=1, le=2**31 - 1)
    name: str | None = Field(None, max_length=200)
    after: str | None = Field(None, max_length=100, description="The id of the last one of the page before.")
    limit: int = Field(50, ge=1, le=listing.MOST)

    def wish(self) -> BenchmarkWish:
        status = None if self.status is None else Status(self.status)
        return BenchmarkWish(status, self.project_id, self.name, self.after)


class TrialsQuery(BaseModel):
    """Which trials."""

    model_config = ConfigDict(extra="forbid")

    state: TrialState | None = None
    task: str | None = Field(None, max_length=300)
    agent: str | None = Field(None, max_length=400, description="An agent, a row's label, or its job_id.")
    after: int = Field(0, ge=0, le=10**9, description="Where the page before ended: its `after`.")
    limit: int = Field(100, ge=1, le=1000)

    def wish(self) -> TrialWish:
        return TrialWish(self.state, self.task, self.agent)


@ROUTER.post(ROLLOUTS, summary="Start a benchmark of tasks")
def start(request: RolloutsRequest, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Into the queue, in the words of a benchmark's TOML: a job for each agent and model, done one after the other.

    Tasks are those of `GET /api/v1/tasks`; agents null, reference, shell and those of the server's proctor.toml. No
    request brings paths, programs or scripts, and what a trial may use is bounded by the operator.
    """
    runs = starting.start(context, request, user.name)
    access.note(context, user.name, "submit", runs[0].plan_id, f"{len(runs)} rows of rollouts {request.name}")
    return answers.line(benchmarks.one(context, runs[0].plan_id).line)


@ROUTER.get(ROLLOUTS, summary="List benchmarks of tasks")
def listed(
    asked: Annotated[BenchmarkListQuery, Query()], context: OpenContext, user: Reader
) -> dict[str, Any]:
    """The newest first, those of the command line too; `ended` trials have a verdict, `errors` measured nothing."""
    page = listing.listed(context, asked.wish(), limit=asked.limit)
    return {
        "benchmarks": [answers.line(each) for each in page.benchmarks],
        "after": page.after,
        "total": page.total,
    }


@ROUTER.get(ONE, summary="One benchmark of tasks")
def one(benchmark_id: Ident, context: OpenContext, user: Reader) -> dict[str, Any]:
    """Its rows, its tasks, and the matrix of its trials as they stand; one at work says in which phase it is."""
    return answers.benchmark(benchmarks.one(context, benchmark_id))


@ROUTER.get(f"{ONE}/summary", summary="What a benchmark of tasks shows")
def summary(benchmark_id: Ident, context: OpenContext, user: Reader) -> dict[str, Any]:
    """Success rates with intervals over tasks, mean scores, pass@k, pass^k and what was used, by row and by task."""
    shown = benchmarks.figures_of(context, benchmark_id)
    return {"benchmark_id": shown.rows[0].run.plan_id, **matrix_document(shown)}


@ROUTER.get(
    f"{ONE}/stream",
    summary="Follow a benchmark of tasks",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(benchmark_id: Ident, context: OpenContext, user: Reader) -> StreamingResponse:
    """Server-sent events: `progress` whenever a trial began a phase or ended, `end` when the benchmark is over."""
    first = await asyncio.to_thread(benchmarks.one, context, benchmark_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(context, first), media_type="text/event-stream", headers=headers)


async def _events(context: Context, found: RolloutBenchmark) -> AsyncIterator[bytes]:
    told: tuple[object, ...] | None = None
    beat = time.monotonic()
    while True:
        if found.mark != told:
            yield b"event: progress\ndata: " + orjson.dumps(_progress(found)) + b"\n\n"
            told, beat = found.mark, time.monotonic()
        if found.line.over:
            yield b"event: end\ndata: " + orjson.dumps(_progress(found)) + b"\n\n"
            return
        if time.monotonic() - beat >= HEARTBEAT_S:
            yield b": still here\n\n"
            beat = time.monotonic()
        await asyncio.sleep(LOOK_EVERY_S)
        found = await asyncio.to_thread(benchmarks.one, context, found.id)


def _progress(found: RolloutBenchmark) -> dict[str, Any]:
    at_work = [each for each in found.all_trials if each.state == "working"]
    return {**answers.line(found.line), "at_work": [answers.cell(each) for each in at_work]}


@ROUTER.get(f"{ONE}/trials", summary="Trials of a benchmark")
def trial_list(
    benchmark_id: Ident, asked: Annotated[TrialsQuery, Query()], context: OpenContext, user: Reader
) -> dict[str, Any]:
    """A page of them, row by row and task by task; `after` begins the next one."""
    page = benchmarks.trials(context, benchmark_id, asked.wish(), after=asked.after, limit=asked.limit)
    return {
        "trials": [answers.cell(each) for each in page.trials],
        "after": page.after,
        "total": page.total,
    }


NamedTrial = Annotated[TrialName, Depends(_trial_name)]


@ROUTER.get(TRIAL, summary="One trial")
def trial(name: NamedTrial, context: OpenContext, user: Reader, attempt: Attempt = None) -> dict[str, Any]:
    """Phases, steps of the agent, rubrics and tests with their output, limits that were met, what was used, and the
    ends of its logs, where its folder is on the server's machine."""
    return answers.trial(trials.one_trial(context, name, attempt=attempt))


@ROUTER.get(f"{TRIAL}/patch", summary="The patch of a trial", response_class=Response, responses=TEXT)
def trial_patch(name: NamedTrial, context: OpenContext, user: Reader, attempt: Attempt = None) -> Response:
    """As `git diff` wrote it."""
    return _text(trials.patch_text(context, name, attempt=attempt).encode("utf-8", "replace"))


@ROUTER.get(f"{TRIAL}/log", summary="A log of a trial", response_class=Response, responses=TEXT)
def trial_log(
    name: NamedTrial,
    context: OpenContext,
    user: Reader,
    file: Annotated[Literal["agent.log", "eval.log"], Query()] = "eval.log",
) -> Response:
    """What the agent printed, or what the verifier's tests printed; of logs beyond 50 MB the beginning."""
    return _text(trials.file_bytes(context, name, file))


@ROUTER.get(
    f"{TRIAL}/trajectory",
    summary="The trajectory of a trial",
    response_class=Response,
    responses={
        200: {
            "content": {
                "application/json": {"schema": {"type": "object"}},
                "application/x-ndjson": {"schema": {"type": "string"}},
                **TEXT[200]["content"],
            }
        }
    },
)
def trial_trajectory(
    name: NamedTrial,
    context: OpenContext,
    user: Reader,
    shape: Annotated[Literal["atif", "jsonl", "text"], Query(alias="format")] = "atif",
    attempt: Attempt = None,
) -> Response:
    """What its agent said, ran and saw, as it stands: `atif` is an ATIF 1.8 document, `jsonl` a line for each call to
    its model with request and response whole, `text` for people."""
    if shape == "jsonl":
        lines = trajectory.calls_of(context, name, attempt=attempt)
        return StreamingResponse(lines, media_type="application/x-ndjson", headers=SAFE)
    if shape == "text":
        return _text(text_of(trajectory.trajectory_of(context, name, attempt=attempt)).encode())
    return Response(
        trajectory.atif_of(context, name, attempt=attempt), media_type="application/json", headers=SAFE
    )


def _text(body: bytes) -> Response:
    return Response(body, media_type="text/plain; charset=utf-8", headers=SAFE)


@ROUTER.post(f"{ONE}/cancel", summary="Cancel a benchmark of tasks")
def cancel(benchmark_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Trials at work are stopped and their boxes go; verdicts are kept, and it can be resumed."""
    changing.cancel(context, benchmark_id)
    return _changed(context, benchmark_id, user.name, "cancel")


@ROUTER.post(f"{ONE}/resume", summary="Resume a benchmark of tasks")
def resume(benchmark_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """A cancelled, failed or partial one goes on: verdicts are kept, trials that measured nothing run again."""
    changing.resume(context, benchmark_id)
    return _changed(context, benchmark_id, user.name, "restart")


def _changed(context: Context, benchmark_id: str, user: str, action: str) -> dict[str, Any]:
    found = benchmarks.one(context, benchmark_id)
    access.note(context, user, action, found.id, f"rollouts {found.name}", project_id=found.line.project_id)
    return answers.line(found.line)


@ROUTER.delete(ONE, summary="Delete a benchmark of tasks")
def delete(benchmark_id: Ident, context: OpenContext, user: Runner) -> dict[str, Any]:
    """For good, with patches, logs and folders below PROCTOR_HOME; one that waits or works must be cancelled first."""
    run = benchmarks.runs_of(context, benchmark_id)[0]
    project = job_states.project_of(context, run.id)
    changing.delete(context, benchmark_id)
    about = f"rollouts {run.cell.source.listed}"
    access.note(context, user.name, "delete", run.plan_id, about, project_id=project)
    return {"benchmark_id": run.plan_id, "message": f"Benchmark {run.plan_id} deleted"}


@ROUTER.get("/tasks", summary="Prepared tasks of the server")
def tasks(context: OpenContext, user: Reader) -> dict[str, Any]:
    """Folders below `tasks/prepared` of PROCTOR_HOME, which every project may name; `fault` says why one cannot run."""
    return {"tasks": [answers.task(each) for each in prepared.prepared_tasks(context)]}
