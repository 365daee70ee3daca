"""The dashboard: Run Benchmarks. Choose, see what it will take and could show, start."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from proctor.errors import NotFound, ProctorError
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.service.datasets import kept
from proctor.service.forecast.duration import estimated_duration
from proctor.service.forecast.forecast import forecast
from proctor.service.kinds import exam_ref
from proctor.service.opening.catalogue import provider_status, suite_facts
from proctor.service.opening.offers import Offer, chat_models, offers
from proctor.service.runs import queue
from proctor.service.runs.lifecycle import open_sources
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import RunRequest, plan_for
from proctor.service.watch import job_states
from proctor.types import Cell, Limits
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, Text, go
from proctor.web.forms import LABELS, OLLAMA, Filled, command, curl, filled, or_free
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
# label, step, least, most, placeholder: as documented, and proctor's own defaults.
OLLAMA_FIELDS = (
    ("temperature", "Temperature", "0.01", "0", "2", "0", "0.0 to 2.0: 0 is the most repeatable"),
    ("top_p", "Top P", "0.01", "0", "1", "", "Nucleus sampling, 0.0 to 1.0"),
    ("top_k", "Top K", "1", "0", "100", "", "0 to 100"),
    ("num_predict", "Num Predict", "1", "-1", "10000000", "512", "Most tokens to generate; -1: no limit"),
    ("num_ctx", "Num Context", "1", "1", "100000000", "8192", "Context window in tokens"),
    ("seed", "Seed", "1", "-1", "2147483647", "0", "The same seed draws the same again; -1: none"),
    ("repeat_penalty", "Repeat Penalty", "0.01", "0", "10", "", "1 is none"),
    ("min_p", "Min P", "0.01", "0", "1", "", "Drop tokens below this share of the likeliest"),
)
DEFAULTS = {"provider": "ollama", "suite": "glue", "preset": "quick", "project": "1"}


@ROUTER.get("/runs/new")
def empty_form(request: Request, context: OpenContext, user: Runner, like: Text = "") -> Response:
    """The form; `like` is a run whose settings it begins with."""
    values = dict(DEFAULTS)
    tasks: tuple[str, ...] = ()
    if like:
        cell = job_states.run_of(context, like).cell
        values, tasks = _values(cell), exam_ref(cell.source).tasks
    values |= {
        name: value
        for name, value in request.query_params.items()
        if name in ("provider", "model", "suite", "data", "project", "preset")
    }
    return _page(request, context, Filled(values, tasks, None))


def _values(cell: Cell) -> dict[str, str]:
    """A run's settings as the form's fields."""
    source = exam_ref(cell.source)
    found: dict[str, Any] = {
        "provider": cell.model.provider,
        "model": cell.model.name,
        "base_url": cell.model.base_url,
        "suite": source.name,
        "preset": source.preset,
        "limit": source.limit,
        "data": source.rows,
        "wording": source.wording,
        "repeats": cell.repeats if cell.repeats > 1 else None,
        "parallel": cell.limits.parallel,
        "max_cost_usd": cell.limits.max_cost_usd,
        "wait_for_server": _unless_usual(cell.limits.wait_for_server_s),
        "project": "1",
    }
    if cell.model.provider == "ollama":
        drawn = asdict(cell.sampling) | {
            "num_predict": or_free(cell.sampling.max_tokens),
            "seed": or_free(cell.sampling.seed),
            "num_ctx": cell.sampling.context_tokens,
        }
        found |= {f"ollama_{name}": drawn[name] for name in OLLAMA}
    return {name: str(value) for name, value in found.items() if value is not None}


def _unless_usual(wait_s: float) -> str | None:
    return None if wait_s == Limits().wait_for_server_s else f"{wait_s:g}s"


def _page(request: Request, context: Context, of: Filled, problem: ProctorError | None = None) -> Response:
    return show(
        request,
        "new_run.html",
        status=200 if not of.errors and problem is None else 400,
        here="new",
        values=of.values,
        chosen_tasks=of.tasks,
        errors=of.errors,
        labels=LABELS,
        problem=_told(problem),
        providers=provider_status(context.settings),
        suites=suite_facts(),
        datasets=kept.listed(context.store),
        ollama_fields=OLLAMA_FIELDS,
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
        sources = open_sources(plan, context.settings, fetch=user.scope != "read")
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
