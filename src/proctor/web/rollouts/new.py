"""The dashboard: a new benchmark of tasks. Choose prepared tasks and agents, see what it may take, start."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import APIRouter, Request
from pydantic import ValidationError
from starlette.datastructures import FormData
from starlette.responses import Response

from proctor.errors import ProctorError
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.service.opening.catalogue import provider_status
from proctor.service.rollouts import prepared, starting
from proctor.service.rollouts.allowed import BUILT_IN, allowed_by
from proctor.service.rollouts.starting import RolloutsRequest
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, go
from proctor.web.render import problem_facts, show
from proctor.web.rollouts.forecast import RolloutsBounds, forecast_of

ROUTER = APIRouter()
DEFAULTS = {"name": "benchmark", "rollouts": "3", "parallel": "4", "sandbox": "", "project": "1"}
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
ANSWER_EXAMS = ("baseline", "replay")  # they can be no agent's model
WITHOUT_MODEL = ("null", "reference")


@dataclass(frozen=True, slots=True)
class RolloutsFilled:
    """The form as it was filled in. `request` is None where `errors` (field -> reason) say why, or little is chosen."""

    values: Mapping[str, str]
    tasks: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    request: RolloutsRequest | None = None
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def lacking(self) -> dict[str, str]:
        """What has to be chosen still."""
        found = {} if self.tasks else {"tasks": "choose one"}
        return found | ({} if self.agents else {"agents": "choose one"})


def rollouts_filled(form: FormData) -> RolloutsFilled:
    """Read a form: every task by every agent, and by every model for agents that ask one."""
    values = {
        name: str(value).strip() for name, value in form.multi_items() if name not in ("tasks", "agents")
    }
    tasks, agents = (tuple(map(str, form.getlist(name))) for name in ("tasks", "agents"))
    of = RolloutsFilled(values, tasks, agents)
    if of.lacking:
        return of
    models = values.get("models", "").split() or [""]
    rows = [(agent, model) for agent in agents for model in ([""] if agent in WITHOUT_MODEL else models)]
    entries = [_entry(task, agent, model, values) for agent, model in rows for task in tasks]
    body: dict[str, Any] = {"name": values.get("name", ""), "tasks": entries}
    body |= {name: values[name] for name in ("parallel", "sandbox", "pass_score") if values.get(name)}
    limits = {name: values[name] for name, _, _ in LIMITS if values.get(name)}
    body |= {"limits": limits} if limits else {}
    body["project_id"] = values.get("project") or 1
    try:
        return RolloutsFilled(values, tasks, agents, RolloutsRequest.model_validate(body))
    except ValidationError as error:
        return RolloutsFilled(values, tasks, agents, None, _errors(error))


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


def _providers(context: Context) -> list[str]:
    """Those that can be asked now: with a key where they need one."""
    known = provider_status(context.settings)
    return [each.name for each in known if each.key_set is not False and each.name not in ANSWER_EXAMS]


def _page(
    request: Request, context: Context, of: RolloutsFilled, problem: ProctorError | None = None
) -> Response:
    return show(
        request,
        "new_rollouts.html",
        status=400 if of.errors or problem is not None else 200,
        here="rollouts",
        values={name: value for name, value in of.values.items() if value},
        chosen=of,
        errors=of.errors,
        labels=LABELS,
        problem=problem_facts(problem),
        offered=prepared.prepared_tasks(context),
        agents=_agents(context),
        asks_none=WITHOUT_MODEL,
        sandboxes=allowed_by(context.settings.home)[0].sandboxes,
        limit_fields=LIMITS,
        providers=_providers(context),
        where=context.settings.home / "tasks" / "prepared",
    )


@ROUTER.get("/rollouts/new")
def empty_form(request: Request, context: OpenContext, user: Reader) -> Response:
    return _page(request, context, RolloutsFilled(DEFAULTS))


@ROUTER.post("/rollouts/new/plan")
def plan_piece(request: Request, context: OpenContext, user: Reader, form: Filling) -> Response:
    """What the benchmark may take, beside the form."""
    of = rollouts_filled(form)
    facts: dict[str, Any] = {
        "errors": of.errors,
        "labels": LABELS,
        "problem": None,
        "found": None,
        "curl": "",
    }
    if of.request is None:
        return show(request, "_rollouts_plan.html", **facts)
    try:
        found: RolloutsBounds = forecast_of(starting.plan_of_request(context.settings, of.request))
    except ProctorError as problem:
        return show(request, "_rollouts_plan.html", **{**facts, "problem": problem_facts(problem)})
    body = json.dumps(of.request.model_dump(exclude_unset=True))
    address = f"{str(request.base_url).rstrip('/')}/api/v1/rollouts"
    curl = f"curl -X POST {address} -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    return show(request, "_rollouts_plan.html", **{**facts, "found": found, "curl": curl})


@ROUTER.post("/rollouts/new")
def start(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """Put the benchmark into the queue and go where it is watched."""
    of = rollouts_filled(form)
    if of.request is None:
        return _page(
            request, context, RolloutsFilled(of.values, of.tasks, of.agents, None, of.errors or of.lacking)
        )
    try:
        runs = starting.start(context, of.request, user.name)
    except ProctorError as problem:
        return _page(request, context, of, problem)
    access.note(context, user.name, "submit", runs[0].id, f"{len(runs)} rows of rollouts {of.request.name}")
    return go(request, f"/rollouts/{runs[0].plan_id}", f"{of.request.name} waits for a worker.")
