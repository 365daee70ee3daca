"""The dashboard: Schedules. What runs again and again, when in words, and a run made to come again as it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Request
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import FormData, QueryParams
from starlette.responses import HTMLResponse, Response

from proctor.errors import ConfigError, ProctorError
from proctor.references import ExamRef
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.datasets import kept
from proctor.service.kinds import kind_of
from proctor.service.opening.catalogue import provider_status, suite_facts
from proctor.service.runs import schedules
from proctor.service.runs.requests import RunRequest, plan_for
from proctor.service.runs.schedules import NewSchedule, Schedule
from proctor.service.scheduling import recurring
from proctor.service.scheduling.like import cell_like, why_not
from proctor.service.watch import counts, job_states
from proctor.types import Cell, Run
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, go
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]
Short = Annotated[str, Form(max_length=300)]
PRESETS = (("quick", "quick"), ("standard", "standard"), ("full", "full"))
ROWS = (("imported", "imported"), ("hub", "the hub's"), ("sample", "sample (measures nothing real)"))
LONGEST = 500
UNSAID = dict.fromkeys(("name", "every", "cron", "model", "base_url", "rows", "project"), "")
UNSAID |= {"at": "02:00", "minute": "0", "day": "1", "provider": "ollama", "suite": "glue", "preset": "quick"}


@ROUTER.get("/schedules")
def schedules_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    return show(
        request,
        "schedules.html",
        here="schedules",
        schedules=[_facts(context, each) for each in schedules.all_schedules(context)],
        names={each.id: each.name for each in access.projects(context)},
    )


def _facts(context: OpenContext, of: Schedule) -> dict[str, Any]:
    """A schedule with what it runs, in words; one that a newer proctor wrote is listed all the same."""
    last = schedules.last_run(context, of)
    said = job_states.state_of(context, last.id).step if last and last.error else ""
    facts = {
        "of": of,
        "last": last,
        "said": said,
        "when": recurring.in_words(of.cron),
        "score": counts.headline_of(context, last) if last else None,
    }
    try:
        cell = of.cell
    except ConfigError as error:
        return {**facts, "model": "-", "what": str(error)}
    return {**facts, "model": str(cell.model), "what": _what(cell)}


def _what(cell: Cell) -> str:
    """What a cell asks, in a line."""
    source = cell.source
    if not isinstance(source, ExamRef):
        return f"{source.listed}, {kind_of(source).holds}"
    rows = f", {source.rows} rows" if source.rows else ""
    tasks = f": {', '.join(source.tasks)}" if source.tasks else ""
    return f"{source.listed}{tasks}, {_size(source)}{rows}"


def _size(source: ExamRef) -> str:
    """How many items, with both of its limits where it has both.

    >>> _size(ExamRef("suite", "glue", preset="quick", limit=5)), _size(ExamRef("suite", "glue", limit=5))
    ('quick, at most 5 items a task', 'at most 5 items a task')
    """
    limit = f"at most {source.limit:,} items a task" if source.limit else None
    return ", ".join(filter(None, (source.preset, limit))) or "all items"


# A new one ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AskedSchedule:
    """The form as it stands: its fields, the ticked days of the week, and the run that it is like."""

    values: Mapping[str, str]
    days: tuple[str, ...]
    like: Run | None

    @property
    def name(self) -> str:
        return self.values.get("name", "").strip()


def _asked(context: OpenContext, form: FormData | QueryParams) -> AskedSchedule:
    """Raises: NotFound for a run that is not there."""
    values = {name: str(value)[:LONGEST] for name, value in form.multi_items() if name != "weekday"}
    like = values.get("like", "")
    days = tuple(str(each) for each in form.getlist("weekday"))
    return AskedSchedule(values, days, job_states.run_of(context, like) if like else None)


@ROUTER.get("/schedules/new")
def new_schedule(request: Request, context: OpenContext, user: Runner) -> Response:
    """The form; what the address says of its fields stands in it, and `like` is a run that comes again as it is."""
    if whole := job_states.whole_id(context, request.query_params.get("like", "")):
        return go(request, f"/schedules/new?like={whole}")
    return _form(request, context, _asked(context, request.query_params))


@ROUTER.get("/schedules/next")
def next_times(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    """The next three times of what the form says, beside it."""
    return show(request, "_schedule_next.html", **_next(_asked(context, request.query_params)))


def _next(of: AskedSchedule) -> dict[str, Any]:
    try:
        when = recurring.read(of.values, of.days)
        cron = recurring.cron_of(when)
        times = recurring.next_times(cron, time.time()) if cron else []
    except ConfigError as error:
        return {"times": [], "cron": "", "words": "", "wrong": str(error)}
    words = recurring.in_words(cron) if times else ""
    return {"times": [(at, _iso(at)) for at in times], "cron": cron, "words": words, "wrong": ""}


def _iso(at: float) -> str:
    """A moment as `time` elements have it.

    >>> _iso(7200.0)
    '1970-01-01T02:00:00Z'
    """
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _form(
    request: Request, context: OpenContext, of: AskedSchedule, problem: ProctorError | None = None
) -> Response:
    like = of.like
    refused = why_not(like) if like else None
    suites = [(each["suite"], each["title"]) for each in suite_facts()]
    uploaded = [(each.name, f"{each.name} (data set)") for each in kept.listed(context)]
    if not of.values.get("every") and not of.values.get("cron"):
        of = AskedSchedule({"every": "daily", "at": "02:00", **of.values}, of.days or ("1",), like)
    return show(
        request,
        "schedule_new.html",
        200 if problem is None else problem.http_status,
        here="schedules",
        said={**UNSAID, **of.values},
        days=of.days,
        like=like,
        refused=refused,
        like_what=_what(like.cell) if like else "",
        suggested=f"{like.cell.source.listed} on {like.cell.model.name}"[:100] if like else "",
        into=job_states.project_of(context, like.id) if like else None,
        providers=[
            (each.name, each.title) for each in provider_status(context.settings) if each.name != "replay"
        ],
        suites=[*suites, *uploaded],
        presets=PRESETS,
        rows=ROWS,
        choices=recurring.CHOICES,
        weekdays=list(enumerate(recurring.DAYS, 1)),
        most_day=recurring.MOST_DAY,
        problem=problem_facts(problem),
        **_next(of),
    )


class ScheduleForm(BaseModel):
    """What a schedule asks, as the form sends it; what it means is RunRequest's to say."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    suite: str = ""
    preset: str = "quick"
    rows: str = ""
    project: str = Field("1", max_length=20)


@ROUTER.post("/schedules")
def create_schedule(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    of = _asked(context, form)
    try:
        made = schedules.add(context, _wanted(context, of, user))
    except ProctorError as problem:
        return _form(request, context, of, problem)
    _note(context, user, "create-schedule", made, f"{made.name}: {made.cron}")
    return go(request, "/schedules", f"Schedule {made.name} is set: {recurring.in_words(made.cron)}, UTC.")


def _wanted(context: OpenContext, of: AskedSchedule, user: User) -> NewSchedule:
    """Raises: ConfigError, DataError, NotFound."""
    cron = recurring.cron_of(recurring.read(of.values, of.days))
    if of.like is not None:
        project = job_states.project_of(context, of.like.id)
        return NewSchedule(of.name, cron, cell_like(context, of.like), user.name, project)
    asked = _request(ScheduleForm.model_validate(dict(of.values)))
    return NewSchedule(of.name, cron, plan_for(context, asked).cells[0], user.name, asked.project_id)


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


# Those that are there -----------------------------------------------------------------------------


@ROUTER.post("/schedules/{number}/run")
def run_schedule(request: Request, number: Number, context: OpenContext, user: Runner) -> Response:
    """Once now, besides its times."""
    of = schedules.one(context, number)
    made = schedules.run_now(context, number, user.name)
    _note(context, user, "run-schedule", of, f"{of.name}: run {made.id}")
    return go(request, f"/runs/{made.id}", f"{of.name} runs once now; its times stay as they are.")


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
