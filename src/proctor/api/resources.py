"""What users need around a job: providers, models, suites, plans, projects, schedules, keys, the audit trail."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from proctor.api import answers
from proctor.api.dependencies import Admin, OpenContext, Reader, Runner
from proctor.api.schemas import (
    KeyChange,
    KeyRequest,
    ProjectRequest,
    ScheduleChange,
    ScheduleRequest,
)
from proctor.errors import NotFound
from proctor.service.admin import access
from proctor.service.admin.access import ApiKey, Project, User
from proctor.service.forecast.forecast import forecast, forecast_document
from proctor.service.opening.catalogue import provider_status, suite_facts
from proctor.service.opening.offers import offers
from proctor.service.runs import schedules
from proctor.service.runs.lifecycle import open_sources
from proctor.service.runs.requests import PlanRequest, plan_for
from proctor.service.runs.schedules import NewSchedule, Schedule

ROUTER = APIRouter()
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@ROUTER.get("/providers", tags=["models"], summary="Providers, and whether their keys are set")
def providers(context: OpenContext, user: Reader) -> dict[str, Any]:
    return {"providers": [asdict(each) for each in provider_status(context.settings)]}


@ROUTER.get("/providers/{name}/models", tags=["models"], summary="The models that a provider offers now")
def models(name: Annotated[str, Path(max_length=50)], context: OpenContext, user: Reader) -> dict[str, Any]:
    """Asks the provider's server. `problem` says why there is no list."""
    if name not in {each.name for each in provider_status(context.settings)}:
        raise NotFound(f"No provider {name}; GET /api/v1/providers lists them")
    (offer,) = offers(context.settings, (name,))
    listed = [
        {**asdict(each), "model": each.model.name, "model_id": str(each.model)} for each in offer.models
    ]
    problem = None if offer.problem is None else {"error": offer.problem.slug, "detail": str(offer.problem)}
    return {"provider": name, "title": offer.title, "models": listed, "problem": problem}


@ROUTER.get("/suites", tags=["benchmarking"], summary="Suites with their tasks")
def suites(user: Reader) -> dict[str, Any]:
    return {"suites": suite_facts()}


@ROUTER.post("/plan", tags=["benchmarking"], summary="What a job would take and could show")
def plan(request: PlanRequest, context: OpenContext, user: Reader) -> dict[str, Any]:
    """Calls, tokens, time, cost, and the smallest difference it could show. No model is asked, nothing stored.

    Rows that are not on the server are fetched from the hub for keys with the scope `run` alone; others get a 403.
    """
    made = plan_for(context, request)
    sources = open_sources(made, context.settings, fetch=user.may_run)
    found = forecast(context, made, sources, difference=request.difference)
    return forecast_document(found)


# Projects ----------------------------------------------------------------------------------------


@ROUTER.get("/projects", tags=["projects"], summary="List projects")
def projects(context: OpenContext, user: Reader) -> dict[str, Any]:
    return {"projects": [_project(each) for each in access.projects(context)]}


@ROUTER.post("/projects", tags=["projects"], summary="Create a project", status_code=201)
def create_project(request: ProjectRequest, context: OpenContext, user: Admin) -> dict[str, Any]:
    return _project(access.create_project(context, request.name, by=user.name))


def _project(of: Project) -> dict[str, Any]:
    return {"id": of.id, "name": of.name, "created_at": answers.stamp(of.created_at)}


# Schedules ---------------------------------------------------------------------------------------


@ROUTER.get("/schedules", tags=["schedules"], summary="List schedules")
def list_schedules(context: OpenContext, user: Reader) -> dict[str, Any]:
    return {"schedules": [_schedule(context, each) for each in schedules.all_schedules(context)]}


@ROUTER.post("/schedules", tags=["schedules"], summary="Submit a job again and again", status_code=201)
def add_schedule(request: ScheduleRequest, context: OpenContext, user: Runner) -> dict[str, Any]:
    """At low priority, at the times of the cron expression, in UTC."""
    cell = plan_for(context, request.job).cells[0]
    wanted = NewSchedule(request.name, request.cron, cell, user.name, request.job.project_id)
    made = schedules.add(context, wanted)
    _note(context, user, "create-schedule", made, f"{made.name}: {made.cron}")
    return _schedule(context, made)


@ROUTER.patch("/schedules/{number}", tags=["schedules"], summary="Switch a schedule on or off")
def change_schedule(
    number: Number, request: ScheduleChange, context: OpenContext, user: Runner
) -> dict[str, Any]:
    made = schedules.set_enabled(context, number, request.enabled)
    _note(context, user, "change-schedule", made, f"{made.name}: {'on' if made.enabled else 'off'}")
    return _schedule(context, made)


@ROUTER.delete("/schedules/{number}", tags=["schedules"], summary="Forget a schedule")
def remove_schedule(number: Number, context: OpenContext, user: Runner) -> dict[str, Any]:
    """Its runs stay."""
    gone = schedules.one(context, number)
    schedules.remove(context, number)
    _note(context, user, "delete-schedule", gone, gone.name)
    return {"message": f"Schedule {number} deleted"}


def _note(context: OpenContext, user: User, action: str, of: Schedule, about: str) -> None:
    access.note(context, user.name, action, str(of.id), about, project_id=of.project_id)


def _schedule(context: OpenContext, of: Schedule) -> dict[str, Any]:
    cell, last = of.cell, schedules.last_run(context, of)
    return {
        "id": of.id,
        "name": of.name,
        "cron": of.cron,
        "user": of.user,
        "project_id": of.project_id,
        "model": str(cell.model),
        "suite": cell.source.name,
        "enabled": of.enabled,
        "next_at": answers.stamp(of.next_at),
        "last_at": answers.stamp(of.last_at),
        "last_job_id": of.last_run_id,
        "last_status": None if last is None else last.status,
        "last_partial": None if last is None else last.partial,
        "last_error": of.last_error or (last.error if last else None),
    }


# Keys and the audit trail ------------------------------------------------------------------------


@ROUTER.get("/keys", tags=["access"], summary="List API keys")
def keys(context: OpenContext, user: Admin) -> dict[str, Any]:
    return {"keys": [_key(each) for each in access.keys(context)]}


@ROUTER.post("/keys", tags=["access"], summary="Create an API key", status_code=201)
def create_key(request: KeyRequest, context: OpenContext, user: Admin) -> dict[str, Any]:
    """The key is shown this once and kept nowhere. Without `project_ids` it names project 1; admin reaches all."""
    made, secret = access.create_key(
        context, request.user, request.name, request.scopes, by=user.name, projects=request.project_ids
    )
    return {**_key(made), "key": secret}


@ROUTER.patch("/keys/{number}", tags=["access"], summary="Change which projects an API key reaches")
def change_key(number: Number, request: KeyChange, context: OpenContext, user: Admin) -> dict[str, Any]:
    """These projects from now on, and no other."""
    return _key(access.set_projects(context, number, request.project_ids, by=user.name))


@ROUTER.delete("/keys/{number}", tags=["access"], summary="Revoke an API key")
def revoke_key(number: Number, context: OpenContext, user: Admin) -> dict[str, Any]:
    return _key(access.revoke_key(context, number, by=user.name))


def _key(of: ApiKey) -> dict[str, Any]:
    return {
        "id": of.id,
        "user": of.user,
        "name": of.name,
        "prefix": of.prefix,
        "scopes": list(of.scopes),
        "project_ids": None if "admin" in of.scopes else list(of.projects),
        "created_at": answers.stamp(of.created_at),
        "last_used_at": answers.stamp(of.last_used_at),
        "revoked_at": answers.stamp(of.revoked_at),
    }


@ROUTER.get("/audit", tags=["access"], summary="Who did what, and when")
def audit(
    context: OpenContext,
    user: Reader,
    of_user: Annotated[str | None, Query(alias="user", max_length=100)] = None,
    action: Annotated[str | None, Query(max_length=100)] = None,
    before: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> dict[str, Any]:
    """What was done in the projects that the key reaches, newest first; the server's own deeds for admin alone.

    `before` is the id of the last one already seen.
    """
    found = access.deeds(context, user=of_user, action=action, before=before, limit=limit)
    return {"audit": [{**asdict(each), "at": answers.stamp(each.at)} for each in found]}
