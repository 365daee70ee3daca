"""The dashboard: Run Benchmarks. Choose, see what it will take and could show, start."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from proctor.errors import NotFound, ProctorError
from proctor.references import JudgingRef
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.service.datasets import kept
from proctor.service.forecast.duration import estimated_duration
from proctor.service.forecast.forecast import forecast
from proctor.service.kinds import exam_ref, kind_of
from proctor.service.opening.catalogue import provider_status, suite_facts
from proctor.service.opening.offers import Offer, chat_models, offers
from proctor.service.runs import queue
from proctor.service.runs.lifecycle import open_sources
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import RunRequest, plan_for
from proctor.service.watch import job_states
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, Text, go
from proctor.web.render import problem_facts, show
from proctor.web.starting.forms import (
    LABELS,
    OLLAMA,
    SHOWN,
    Filled,
    command,
    curl,
    filled,
    form_field,
    form_values,
)

ROUTER = APIRouter()
BY_HAND = {"base_url", "tasks", "preset", "limit", "data"}  # laid out in the page itself
OLLAMA_FIELDS = tuple(form_field(name, option) for name, option in OLLAMA.items())
ASKED_FIELDS, LIMIT_FIELDS = (
    tuple(
        form_field(key, option)
        for key, option in SHOWN.items()
        if option.part in parts and key not in BY_HAND
    )
    for parts in (("source", "sampling"), ("cell", "limits"))
)
DEFAULTS = {"provider": "ollama", "suite": "glue", "project": "1"}


@ROUTER.get("/runs/new")
def empty_form(request: Request, context: OpenContext, user: Runner, like: Text = "") -> Response:
    """The form; `like` is a run whose settings it begins with."""
    values = dict(DEFAULTS)
    tasks: tuple[str, ...] = ()
    if like:
        cell = job_states.run_of(context, like).cell
        if kind_of(cell.source).holds == "tasks":
            return go(request, "/rollouts/new")
        if kind_of(cell.source).holds == "requests":
            return go(request, f"/batches/new?like={like}")
        if isinstance(cell.source, JudgingRef):
            return go(request, f"/judge?runs={cell.source.run}&like={like}")
        values, tasks = DEFAULTS | form_values(cell), exam_ref(cell.source).tasks
    values |= {
        name: value
        for name, value in request.query_params.items()
        if name in ("provider", "model", "suite", "data", "project", "preset")
    }
    return _page(request, context, Filled(values, tasks, None))


def _page(request: Request, context: Context, of: Filled, problem: ProctorError | None = None) -> Response:
    return show(
        request,
        "new_run.html",
        status=200 if not of.errors and problem is None else 400,
        here="new",
        values={name: value for name, value in of.values.items() if value},
        chosen_tasks=of.tasks,
        errors=of.errors,
        labels=LABELS,
        problem=_told(problem),
        providers=provider_status(context.settings),
        suites=suite_facts(),
        datasets=kept.listed(context),
        ollama_fields=OLLAMA_FIELDS,
        asked_fields=ASKED_FIELDS,
        limit_fields=LIMIT_FIELDS,
    )


def _told(problem: ProctorError | None) -> dict[str, str] | None:
    facts = problem_facts(problem)
    if facts is not None:
        facts["cure"] = facts["cure"].replace("try `--data sample`", "choose sample rows under Rows")
    return facts


@ROUTER.get("/runs/new/models")
def model_list(
    request: Request, context: OpenContext, user: Reader, provider: Text = "ollama", model: Text = ""
) -> Response:
    """The models that a provider offers at this moment, as options; or why there is no list."""
    if provider not in {each.name for each in provider_status(context.settings)}:
        raise NotFound(f"No provider {provider}")
    (offer,) = offers(context.settings, (provider,))
    names = {each.name for each in chat_models(offer)}
    listed = [each for each in offer.models if each.model.name in names]
    state = next(each for each in provider_status(context.settings) if each.name == provider)
    return show(
        request,
        "_models.html",
        provider=provider,
        listed=listed,
        chosen=_on_offer(model, provider, names),
        wanted=model,
        problem=_told(offer.problem),
        key_set=state.key_set,
        facts=_facts(offer),
    )


def _on_offer(model: str, provider: str, names: set[str]) -> str:
    """The name under which the server lists the model; as it stands if it does not.

    >>> _on_offer("mistral", "ollama", {"mistral:latest"}), _on_offer("gone", "ollama", set())
    ('mistral:latest', 'gone')
    """
    tagged = f"{model}:latest"
    return tagged if provider == "ollama" and model not in names and tagged in names else model


def _facts(offer: Offer) -> dict[str, str]:
    """What is known of each model, in a few words."""
    found = {}
    for each in offer.models:
        size = f"{each.size_bytes / 1e9:.1f} GB" if each.size_bytes else None
        room = f"context {each.context_tokens:,}" if each.context_tokens else None
        words = (each.parameters, each.quantization, size, room, each.note)
        found[each.model.name] = ", ".join(word for word in words if word)
    return found


@ROUTER.post("/runs/new/plan")
def plan_piece(request: Request, context: OpenContext, user: Reader, form: Filling) -> Response:
    """What the run would take and could show, beside the form."""
    of = filled(form)
    if of.request is None or not of.values.get("model"):
        # Nothing is wrong yet with a form that has no model.
        errors = {name: why for name, why in of.errors.items() if name != "model"}
        return show(request, "_plan.html", errors=errors, labels=LABELS, problem=None, found=None)
    try:
        plan = plan_for(context, of.request)
        sources = open_sources(plan, context.settings, fetch=user.may_run)
        found = forecast(context, plan, sources, difference=of.request.difference)
    except ProctorError as problem:
        return show(request, "_plan.html", errors={}, labels=LABELS, problem=_told(problem), found=None)
    cell = plan.cells[0]
    key = next(
        (each.key_set for each in provider_status(context.settings) if each.name == cell.model.provider), None
    )
    return show(
        request,
        "_plan.html",
        errors={},
        labels=LABELS,
        problem=None,
        found=found,
        key_set=key,
        duration=estimated_duration(context, cell, calls=found.cells[0].calls),
        curl=curl(of.request, str(request.base_url).rstrip("/")),
        command=command(of.request, cell),
    )


@ROUTER.post("/runs/new")
def start(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """Put the run into the queue and go to its page."""
    of = filled(form)
    if of.request is None:
        return _page(request, context, of)
    try:
        plan = plan_for(context, of.request)
        ticket = Ticket(user.name, of.request.project_id, of.request.priority)
        made = queue.submit(context, plan, ticket)
    except ProctorError as problem:
        return _page(request, context, of, problem)
    access.note(context, user.name, "submit", made.id, f"{made.cell.model} on {of.request.suite}")
    return go(request, f"/runs/{made.id}", f"Benchmarking started for suite: {of.request.suite}")


@ROUTER.post("/demo")
def demo(request: Request, context: OpenContext, user: Runner) -> Response:
    """Two built-in models on the sample rows: something to look at without a server or a key."""
    project = access.first_project(context)
    for model in ("sim", "sim-small"):
        config = {"provider": "simulator", "model": model, "data": "sample"}
        asked = RunRequest.model_validate({"project_id": project.id, "suite": "glue", "config": config})
        made = queue.submit(context, plan_for(context, asked), Ticket(user.name, project.id, "high"))
        access.note(context, user.name, "submit", made.id, "the built-in demo")
    return go(request, "/", "Two built-in models are being asked about the sample rows.")
