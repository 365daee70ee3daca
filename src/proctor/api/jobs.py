"""/api/v1/jobs: following a job, the queue, cancelling, restarting, deleting."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from proctor.api import answers, benchmarking
from proctor.api.benchmarking import JobId, States
from proctor.api.dependencies import OpenContext, Reader, Runner
from proctor.service.admin import access, prune
from proctor.service.context import Context
from proctor.service.runs import fleet, queue
from proctor.service.watch import job_states
from proctor.service.watch.hub import Seen, WatchHub
from proctor.service.watch.job_states import ENDED, JobState
from proctor.service.watch.moves import moved

ROUTER = APIRouter(prefix="/jobs", tags=["jobs"])
GONE_S = 1.0
HEARTBEAT_S = 15.0


@ROUTER.get("/status/{job_id}", summary="Where a job is")
def status(job_id: JobId, context: OpenContext, user: Reader) -> dict[str, Any]:
    return _document(job_states.state_of(context, job_id))


@ROUTER.get("/status/{job_id}/poll", summary="Wait until a job changes its state")
async def poll(
    job_id: JobId,
    request: Request,
    context: OpenContext,
    user: Reader,
    timeout: Annotated[float, Query(ge=0, le=300)] = 30,
    current_status: States | None = None,
) -> dict[str, Any]:
    """Answers when the state is no longer `current_status` (without it: when the job has ended), or at the timeout."""
    deadline = time.monotonic() + timeout
    moves = _moves(request.app.state.hub, context, job_id)
    async with aclosing(moves):
        while True:
            state = await asyncio.to_thread(job_states.state_of, context, job_id)
            changed = state.run.status.value != current_status if current_status else state.ended
            if changed or time.monotonic() >= deadline or await request.is_disconnected():
                return _document(state)
            left_s = max(0.0, deadline - time.monotonic())
            try:
                async with asyncio.timeout(left_s):
                    await anext(moves)
            except TimeoutError:
                continue
            except StopAsyncIteration:  # it has ended, and whoever asks knows that already
                await asyncio.sleep(min(GONE_S, left_s))


async def _moves(hub: WatchHub, context: Context, job_id: str) -> AsyncGenerator[None]:
    """Wakes whoever waits for another state of a job, and every second, so that one who has gone is noticed."""

    def look() -> Seen:
        (found,) = moved(context, [job_id])
        return Seen({"status": found.status}, ended=found.ended)

    async for _ in hub.watch(("status", job_id, context.reach), look, beat_s=GONE_S):
        yield


async def _looks(hub: WatchHub, context: Context, job_id: str) -> AsyncIterator[JobState | None]:
    """The job as it moves, looked at once for all who follow it; None after a while without news."""

    def look() -> Seen:
        state = job_states.state_of(context, job_id)
        return Seen({"progress": _document(state)}, ended=state.ended, value=state)

    async for seen in hub.watch(("job", job_id, context.reach), look, beat_s=HEARTBEAT_S):
        yield None if seen is None else seen.value


@ROUTER.get(
    "/status/{job_id}/stream",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def stream(job_id: JobId, request: Request, context: OpenContext, user: Reader) -> StreamingResponse:
    """Server-sent events: `progress` whenever something changed, `end` when the job has ended."""
    await asyncio.to_thread(
        job_states.state_of, context, job_id
    )  # what there is not is said before it begins
    looks = _looks(request.app.state.hub, context, job_id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_events(looks), media_type="text/event-stream", headers=headers)


async def _events(looks: AsyncIterator[JobState | None]) -> AsyncIterator[bytes]:
    async for state in looks:
        if state is None:
            yield b": still here\n\n"
            continue
        text = orjson.dumps(_document(state))
        yield b"event: progress\ndata: " + text + b"\n\n"
        if state.ended:
            yield b"event: end\ndata: " + text + b"\n\n"


def _document(state: JobState) -> dict[str, Any]:
    run = state.run
    return {
        **answers.progress(state),
        "model_name": run.cell.model.name,
        "provider": run.cell.model.provider,
        "benchmark_suite": run.source_title,
        "created_at": answers.stamp(run.created_at),
        "started_at": answers.stamp(run.started_at),
        "completed_at": answers.stamp(run.finished_at),
        "error": answers.job_error(run),
        "ended": run.status in ENDED,
    }


@ROUTER.get("/queue/stats", summary="How the queue stands")
def stats(context: OpenContext, user: Reader) -> dict[str, Any]:
    standing = queue.standing(context)
    return {
        "waiting": dict(standing.waiting),
        "running": standing.running,
        "most_running": standing.most_running,
        "most_queued_per_user": context.settings.most_queued,
        "jobs": job_states.states(context),
        "worker_seen_at": answers.stamp(queue.worker_seen(context)),
        "workers": [
            {
                "name": each.name,
                "host": each.host,
                "version": each.version,
                "began_at": answers.stamp(each.began_at),
                "seen_at": answers.stamp(each.seen_at),
                "jobs": each.jobs,
                "waits_for": each.waits_for,
            }
            for each in fleet.seen(context)
        ],
        "at_work": [{"job_id": run_id, **asdict(load)} for run_id, load in job_states.loads(context).items()],
        "memory_allowed_bytes": context.settings.most_memory_bytes,
        "disk": asdict(queue.disk(context)),
        "redis_away": queue.redis_away(context.settings),
    }


@ROUTER.post("/cancel/{job_id}", summary="Cancel a job")
def cancel(job_id: JobId, context: OpenContext, user: Runner) -> dict[str, Any]:
    """The same as POST /benchmarking/cancel/{job_id}."""
    return benchmarking.cancel(job_id, context, user)


@ROUTER.post("/restart/{job_id}", summary="Restart a failed, cancelled or partial job")
def restart(job_id: JobId, context: OpenContext, user: Runner) -> dict[str, Any]:
    """It goes on where it stopped: what was answered is not asked again."""
    run = queue.restart(context, job_states.run_of(context, job_id).id)
    access.note(context, user.name, "restart", run.id)
    return {"job_id": run.id, "message": f"Job {run.id} waits for a worker", "status": run.status.value}


@ROUTER.delete("/{job_id}", summary="Delete an ended job")
def delete(job_id: JobId, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Its scores, answers and log go with it, for good. A job that waits or runs must be cancelled first."""
    run = job_states.run_of(context, job_id)
    project = job_states.project_of(context, run.id)
    prune.delete(context, run.id)
    about = f"{run.cell.model} on {run.source_title}"
    access.note(context, user.name, "delete", run.id, about, project_id=project)
    return {"job_id": run.id, "message": f"Job {run.id} deleted"}
