"""The dashboard: queue and workers, and projects."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import HTMLResponse, Response

from proctor.service.admin import access
from proctor.service.runs import fleet, queue
from proctor.service.watch import counts, job_states
from proctor.types import Status
from proctor.web.dependencies import Admin, OpenContext, Reader, go
from proctor.web.render import ago, show

ROUTER = APIRouter()
Short = Annotated[str, Form(max_length=300)]
SHOWN = 50
WORKER_SILENT_S = 60.0


# Queue and workers --------------------------------------------------------------------------------


@ROUTER.get("/system")
def system_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    return show(
        request,
        "system.html",
        here="system",
        database=counts.database(context),
        home=str(context.settings.home) if user.scope == "admin" else "",
        **_standing(context),
    )


@ROUTER.get("/system/live")
def system_live(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    """The part of the page that changes by itself."""
    return show(request, "_queue.html", **_standing(context))


def _standing(context: OpenContext) -> dict[str, Any]:
    def lines(status: Status) -> tuple[list[job_states.RunLine], int]:
        return job_states.run_lines(context, job_states.RunFilter(status=status), limit=SHOWN)

    running, pending = lines(Status.RUNNING), lines(Status.PENDING)
    return {
        "standing": queue.standing(context),
        "most_queued": context.settings.most_queued,
        "states": job_states.states(context),
        "running": running[0],
        "pending": pending[0],
        "more": running[1] + pending[1] - len(running[0]) - len(pending[0]),
        "loads": job_states.loads(context),
        "memory_allowed": context.settings.most_memory_bytes,
        "disk": queue.disk(context),
        "redis_away": queue.redis_away(context.settings),
        "nobody_can": fleet.nobody_can_any(context, [line.id for line in pending[0]]),
        "workers": fleet.seen(context),
        "worker": _worker(queue.worker_seen(context), time.time(), queue.worker_waits_for(context)),
    }


def _worker(seen: float | None, now: float, waits_for: str | None = None) -> tuple[str, str]:
    """The last sign of life of a worker, on any machine: a word and a sentence.

    >>> _worker(None, 100.0)[0], _worker(90.0, 100.0)[0], _worker(0.0, 7300.0)[0]
    ('none seen', 'at work', 'silent')
    >>> _worker(90.0, 100.0, "12 MB are free, and 500 MB must stay free")[0]
    'no room'
    """
    start = "start one with `proctor worker`, or the server without --no-worker"
    if seen is None:
        return "none seen", f"No worker ever looked into the queue: {start}"
    if now - seen < WORKER_SILENT_S and waits_for:
        return "no room", f"No worker takes a job until there is room: {waits_for}"
    if now - seen < WORKER_SILENT_S:
        return "at work", "A worker looked into the queue within the last minute"
    return "silent", f"A worker last looked into the queue {ago(seen, now=now)}: {start}"


# Projects -----------------------------------------------------------------------------------------


@ROUTER.get("/projects")
def projects_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    return show(
        request,
        "projects.html",
        here="projects",
        runs=counts.projects(context),
        listed=access.projects(context),
    )


@ROUTER.post("/projects")
def create_project(request: Request, context: OpenContext, user: Admin, name: Short = "") -> Response:
    made = access.create_project(context, name.strip(), by=user.name)
    return go(request, "/projects", f"Project {made.name} is made.")
