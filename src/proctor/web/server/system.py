"""The dashboard: queue and workers, schedules, and projects."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Request
from pydantic import BaseModel, Field, ValidationError
from starlette.responses import HTMLResponse, Response

from proctor.errors import ConfigError
from proctor.references import ExamRef
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.datasets import kept
from proctor.service.kinds import exam_ref
from proctor.service.opening.catalogue import provider_status, suite_facts
from proctor.service.runs import fleet, queue, schedules
from proctor.service.runs.requests import RunRequest, plan_for
from proctor.service.runs.schedules import NewSchedule, Schedule
from proctor.service.watch import counts, job_states
from proctor.types import Status
from proctor.web.dependencies import Admin, OpenContext, Reader, Runner, go
from proctor.web.render import ago, show

ROUTER = APIRouter()
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Short = Annotated[str, Form(max_length=300)]
SHOWN = 50
WORKER_SILENT_S = 60.0
PRESETS = (("quick", "quick"), ("standard", "standard"), ("full", "full"))
ROWS = (("imported", "imported"), ("hub", "the hub's"), ("sample", "sample (measures nothing real)"))


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


# Schedules ----------------------------------------------------------------------------------------


@ROUTER.get("/schedules")
def schedules_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    return show(
        request,
        "schedules.html",
        here="schedules",
        schedules=[_facts(context, each) for each in schedules.all_schedules(context)],
        providers=[
            (each.name, each.title) for each in provider_status(context.settings) if each.name != "replay"
        ],
        suites=[
            *((each["suite"], each["title"]) for each in suite_facts()),
            *((each.name, f"{each.name} (data set)") for each in kept.listed(context)),
        ],
        presets=PRESETS,
        rows=ROWS,
        names={each.id: each.name for each in access.projects(context)},
    )


def _facts(context: OpenContext, of: Schedule) -> dict[str, Any]:
    """A schedule with what it runs, in words; one that a newer proctor wrote is listed all the same."""
    last = schedules.last_run(context, of)
    said = job_states.state_of(context, last.id).step if last and last.error else ""
    facts: dict[str, Any] = {"of": of, "last": last, "said": said}
    try:
        cell = of.cell
    except ConfigError as error:
        return {**facts, "model": "-", "what": str(error)}
    source = exam_ref(cell.source)
    rows = f", {source.rows} rows" if source.rows else ""
    tasks = f": {', '.join(source.tasks)}" if source.tasks else ""
    return {**facts, "model": str(cell.model), "what": f"{source.name}{tasks}, {_size(source)}{rows}"}


def _size(source: ExamRef) -> str:
    """How many items, with both of its limits where it has both.

    >>> _size(ExamRef("suite", "glue", preset="quick", limit=5)), _size(ExamRef("suite", "glue", limit=5))
    ('quick, at most 5 items a task', 'at most 5 items a task')
    """
    limit = f"at most {source.limit:,} items a task" if source.limit else None
    return ", ".join(filter(None, (source.preset, limit)))


class ScheduleForm(BaseModel):
    """The form as it is sent; what it means is RunRequest's to say."""

    name: str = Field("", max_length=100)
    cron: str = Field("", max_length=100)
    provider: str = ""
    model: str = ""
    base_url: str = ""
    suite: str = ""
    preset: str = "quick"
    rows: str = ""
    project: str = "1"


@ROUTER.post("/schedules")
def create_schedule(
    request: Request, context: OpenContext, user: Runner, form: Annotated[ScheduleForm, Form()]
) -> Response:
    asked = _request(form)
    cell = plan_for(context, asked).cells[0]
    wanted = NewSchedule(form.name.strip(), form.cron.strip(), cell, user.name, asked.project_id)
    made = schedules.add(context, wanted)
    _note(context, user, "create-schedule", made, f"{made.name}: {made.cron}")
    return go(request, "/schedules", f"Schedule {made.name} is set.")


def _request(form: ScheduleForm) -> RunRequest:
    """The job that a form means. Raises ConfigError naming the field that cannot be meant."""
    config = {
        "provider": form.provider,
        "model": form.model.strip(),
        "base_url": form.base_url.strip() or None,
        "preset": form.preset,
        "data": form.rows or None,
    }
    job = {"project_id": form.project, "suite": form.suite, "config": config}
    try:
        return RunRequest.model_validate(job)
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


@ROUTER.post("/schedules/{number}/switch")
def switch_schedule(
    request: Request, number: Number, context: OpenContext, user: Runner, enabled: Short = ""
) -> Response:
    made = schedules.set_enabled(context, number, enabled == "on")
    _note(context, user, "change-schedule", made, f"{made.name}: {'on' if made.enabled else 'off'}")
    return go(request, "/schedules", f"Schedule {made.name} is {'on' if made.enabled else 'off'}.")


@ROUTER.post("/schedules/{number}/delete")
def delete_schedule(request: Request, number: Number, context: OpenContext, user: Runner) -> Response:
    """Its runs stay."""
    gone = schedules.one(context, number)
    schedules.remove(context, number)
    _note(context, user, "delete-schedule", gone, gone.name)
    return go(request, "/schedules", f"Schedule {gone.name} is deleted; its runs stay.")


def _note(context: OpenContext, user: User, action: str, of: Schedule, about: str) -> None:
    access.note(context, user.name, action, str(of.id), about, project_id=of.project_id)


# Projects -----------------------------------------------------------------------------------------


@ROUTER.get("/projects")
def projects_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    return show(
        request,
        "projects.html",
        here="projects",
        runs=counts.runs_by_project(context),
        listed=access.projects(context),
    )


@ROUTER.post("/projects")
def create_project(request: Request, context: OpenContext, user: Admin, name: Short = "") -> Response:
    made = access.create_project(context, name.strip(), by=user.name)
    return go(request, "/projects", f"Project {made.name} is made.")
