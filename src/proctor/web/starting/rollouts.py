"""The dashboard: a new benchmark of tasks. Choose prepared tasks and agents, see what it may take, start."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.responses import Response

from proctor.errors import ProctorError
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.context import Context
from proctor.service.rollouts import prepared, starting
from proctor.service.rollouts.allowed import BUILT_IN, allowed_by
from proctor.service.rollouts.starting import RolloutsRequest
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, go
from proctor.web.render import show
from proctor.web.starting.bounds import RolloutsBounds, forecast_of
from proctor.web.starting.forms import chosen_models, fault_of
from proctor.web.starting.missing import (
    Cure,
    FilledForm,
    Lack,
    in_address,
    listed,
    of_errors,
    of_keys,
    of_problem,
    of_queue,
)
from proctor.web.starting.page import form_of, start_page

ROUTER = APIRouter()
DEFAULTS = {"name": "benchmark", "rollouts": "3", "parallel": "4"}
FIRST = ("what", "name", "rollouts", "parallel", "project", "sandbox")
# name, label, hint; of one trial, where nothing is given as the table of limits has it.
LIMITS = (
    ("agent_s", "Agent's time (s)", "1800 if empty"),
    ("verifier_s", "Verifier's time (s)", "600 if empty"),
    ("max_tokens", "Tokens", "in and out; 100,000 if empty"),
    ("max_calls", "Requests", "to the agent's model"),
    ("max_cost_usd", "Cost (US dollars)", "of one trial"),
    ("memory_mb", "Memory (MB)", "2048 if empty"),
    ("cpus", "CPUs", "1 if empty"),
    ("disk_mb", "Disk (MB)", "1024 if empty"),
)
LABELS = {
    "name": "Name",
    "tasks": "Prepared tasks",
    "agents": "Agents",
    "models": "Models",
    "rollouts": "Rollouts of each",
    "parallel": "Trials at once",
    "pass_score": "Passed from",
    "sandbox": "Sandbox",
    **{name: label for name, label, _ in LIMITS},
}
WITHOUT_MODEL = ("null", "reference")


@dataclass(frozen=True, slots=True)
class RolloutsFilled:
    """The form as it was filled in. `request` is None where `errors` (field -> reason) say why, or little is chosen."""

    values: Mapping[str, str]
    tasks: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    request: RolloutsRequest | None = None
    errors: Mapping[str, str] = field(default_factory=dict)
    models: tuple[str, ...] = ()


def rollouts_filled(form: FormData) -> RolloutsFilled:
    """Read a form: every task by every agent, and by every model for agents that ask one."""
    several = ("tasks", "agents", "models")
    values = {name: str(value).strip() for name, value in form.multi_items() if name not in several}
    tasks, agents = (tuple(map(str, form.getlist(name))) for name in ("tasks", "agents"))
    models = chosen_models(form)
    of = RolloutsFilled(values, tasks, agents, models=models)
    if fault := fault_of(models):
        return replace(of, errors={"models": fault})
    if not tasks or not agents or (not models and not set(agents) <= set(WITHOUT_MODEL)):
        return of
    rows = [(agent, model) for agent in agents for model in ([""] if agent in WITHOUT_MODEL else models)]
    entries = [_entry(task, agent, model, values) for agent, model in rows for task in tasks]
    body: dict[str, Any] = {"name": values.get("name", ""), "tasks": entries}
    body |= {name: values[name] for name in ("parallel", "sandbox", "pass_score") if values.get(name)}
    limits = {name: values[name] for name, _, _ in LIMITS if values.get(name)}
    body |= {"limits": limits} if limits else {}
    body["project_id"] = values.get("project") or 1
    try:
        return replace(of, request=RolloutsRequest.model_validate(body))
    except ValidationError as error:
        return replace(of, errors=_errors(error))


def _entry(task: str, agent: str, model: str, values: Mapping[str, str]) -> dict[str, Any]:
    entry = {"prepared_dir": task, "agent": agent, "rollouts": values.get("rollouts") or 1}
    return entry | ({"model": model} if model else {})


def _errors(error: ValidationError) -> dict[str, str]:
    """Of each field the first reason; those of an entry belong to the field that all entries have in common."""
    found: dict[str, str] = {}
    for each in error.errors():
        place = [str(part) for part in each["loc"] if not isinstance(part, int)]
        name = {"prepared_dir": "tasks", "agent": "agents", "model": "models"}.get(place[-1], place[-1])
        found.setdefault(name, each["msg"])
    return found


def _agents(context: Context) -> list[str]:
    return list(dict.fromkeys([*BUILT_IN, *allowed_by(context.settings.home)[1]]))


def _page(
    request: Request,
    context: Context,
    user: User,
    of: RolloutsFilled,
    missing: tuple[Lack, ...] | None = None,
    *,
    look: bool = False,
) -> Response:
    form = form_of("tasks", _pairs(of))
    look = look or (missing is None and bool(request.query_params.get("look")))
    planned = (
        _planned(request, context, user, of, form) if look else {"found": None, "brief": "", "form": form}
    )
    return start_page(
        request,
        context,
        "tasks",
        of.models,
        **{
            "missing": _lacks(context, user, of, form) if missing is None else missing,
            **planned,
        },
        values={name: value for name, value in of.values.items() if value},
        of=of,
        errors={name: why for name, why in of.errors.items() if name != "models"},
        labels=LABELS,
        offered=prepared.prepared_tasks(context),
        agents=_agents(context),
        asks_none=WITHOUT_MODEL,
        sandboxes=allowed_by(context.settings.home)[0].sandboxes,
        limit_fields=LIMITS,
        where=context.settings.home / "tasks" / "prepared",
        advanced=any(value and name not in FIRST for name, value in of.values.items()),
    )


def _pairs(of: RolloutsFilled) -> FormData:
    return FormData(
        [
            *((name, value) for name, value in of.values.items() if name not in ("provider", "model")),
            *(("tasks", task) for task in of.tasks),
            *(("agents", agent) for agent in of.agents),
            *(("models", model) for model in of.models),
        ]
    )


@ROUTER.get("/rollouts/new")
def empty_form(request: Request, context: OpenContext, user: Reader) -> Response:
    """The form, as far as the address fills it in."""
    asked = request.query_params
    values = {**DEFAULTS, "project": str(access.first_project(context).id)}
    values |= {
        name: value for name, value in in_address(asked).items() if name in LABELS or name == "project"
    }
    several = [(name, each) for name in ("tasks", "agents", "models") for each in asked.getlist(name) if each]
    plain = [(name, value) for name, value in values.items() if name not in ("tasks", "agents", "models")]
    return _page(request, context, user, rollouts_filled(FormData([*plain, *several])))


def _lacks(context: Context, user: User, of: RolloutsFilled, form: FilledForm) -> tuple[Lack, ...]:
    lacks = [*of_errors(of.errors, LABELS), *of_queue(context, user)]
    if not of.tasks:
        lacks.append(Lack("Choose a task", field="tasks"))
    if not of.agents:
        lacks.append(Lack("Choose an agent", field="agents"))
    asking = [agent for agent in of.agents if agent not in WITHOUT_MODEL]
    if asking and not of.models:
        without = [agent for agent in of.agents if agent in WITHOUT_MODEL]
        leave = (Cure(f"Leave out {', '.join(asking)}", form.but(agents=without)),) if without else ()
        lacks.append(Lack(f"Choose a model for {', '.join(asking)}", leave, field="model-search"))
    return listed(lacks, of_keys(context, of.models, form) if asking else ())


@ROUTER.post("/rollouts/new/plan")
def plan_piece(request: Request, context: OpenContext, user: Reader, form: Filling) -> Response:
    """What the benchmark may take, beside the form; and what it lacks still."""
    of = rollouts_filled(form)
    facts = _planned(request, context, user, of, form_of("tasks", form))
    return show(request, "_rollouts_plan.html", **facts, ready=not facts["missing"], oob=True)


def _planned(
    request: Request, context: Context, user: User, of: RolloutsFilled, form: FilledForm
) -> dict[str, Any]:
    lacks = _lacks(context, user, of, form)
    nothing: dict[str, Any] = {"missing": lacks, "found": None, "form": form, "brief": ""}
    if of.request is None:
        return nothing
    try:
        found: RolloutsBounds = forecast_of(starting.plan_of_request(context.settings, of.request))
    except ProctorError as problem:
        return {**nothing, "missing": (*lacks, of_problem(problem))}
    body = json.dumps(of.request.model_dump(exclude_unset=True))
    address = f"{str(request.base_url).rstrip('/')}/api/v1/rollouts"
    curl = f"curl -X POST {address} -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    brief = f"{found.trials:,} trials"
    return {**nothing, "found": found, "curl": curl, "brief": brief}


@ROUTER.post("/rollouts/new")
def start(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """Put the benchmark into the queue and go where it is watched."""
    of = rollouts_filled(form)
    if form.get("look"):
        return _page(request, context, user, of, look=True)
    lacks = _lacks(context, user, of, form_of("tasks", form))
    if lacks or of.request is None:
        return _page(request, context, user, of, lacks)
    try:
        runs = starting.start(context, of.request, user.name)
    except ProctorError as problem:
        return _page(request, context, user, of, (of_problem(problem),))
    access.note(context, user.name, "submit", runs[0].id, f"{len(runs)} rows of rollouts {of.request.name}")
    return go(request, f"/rollouts/{runs[0].plan_id}", f"{of.request.name} waits for a worker.")
