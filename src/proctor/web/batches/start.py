"""The dashboard: a new batch. Choose requests and a model, see what it will take, start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from proctor.errors import ConfigError, NotFound, ProctorError
from proctor.references import BatchRef
from proctor.service.admin import access
from proctor.service.batches import registry
from proctor.service.batches.registry import KnownModel
from proctor.service.context import Context
from proctor.service.datasets import requests
from proctor.service.forecast.duration import estimated_duration
from proctor.service.forecast.forecast import takes
from proctor.service.opening.catalogue import provider_status
from proctor.service.opening.offers import chat_models, offers
from proctor.service.runs import queue
from proctor.service.runs.lifecycle import open_sources
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import batch_plan
from proctor.service.watch import job_states
from proctor.types import Plan, Run
from proctor.web.batches.form import (
    LABELS,
    LIMIT_FIELDS,
    PRIORITIES,
    SENT_FIELDS,
    BatchFilled,
    batch_filled,
    values_of,
)
from proctor.web.batches.requests import batch_of
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, Text, go
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
DEFAULTS = {"provider": "ollama", "project": "1"}
READ_FIRST = 200  # requests whose length tells what all will take
ANSWER_NOTHING_FREE = ("baseline", "replay")  # they answer exams alone


@ROUTER.get("/batches/new")
def empty_form(
    request: Request,
    context: OpenContext,
    user: Reader,
    like: Text = "",
    dataset: Text = "",
    model: Text = "",
) -> Response:
    """The form; `like` is a batch whose settings it begins with."""
    values: dict[str, str] = dict(DEFAULTS)
    if like:
        run = batch_of(context, like)
        values |= values_of(run.cell)
        values["dataset"] = _dataset_of(context, run)
    if dataset:
        values["dataset"] = dataset
    if model:
        provider, _, name = model.partition("/")
        values |= {"provider": provider, "model": name}
    return _page(request, context, BatchFilled(values, None))


def _dataset_of(context: Context, run: Run) -> str:
    ref = run.cell.source
    found = isinstance(ref, BatchRef) and requests.of_ref(
        context, ref, job_states.project_of(context, run.id)
    )
    return found.id if found else ""


def _page(
    request: Request, context: Context, of: BatchFilled, problem: ProctorError | None = None
) -> Response:
    return show(
        request,
        "new_batch.html",
        status=400 if of.errors or problem is not None else 200,
        here="batches",
        values={name: value for name, value in of.values.items() if value},
        errors=of.errors,
        labels=LABELS,
        problem=problem_facts(problem),
        providers=[
            each for each in provider_status(context.settings) if each.name not in ANSWER_NOTHING_FREE
        ],
        datasets=requests.listed(context)[0],
        sent_fields=SENT_FIELDS,
        limit_fields=LIMIT_FIELDS,
        priorities=PRIORITIES,
    )


def _plan(context: Context, of: BatchFilled) -> tuple[Plan, int]:
    """What the form means, and of how many requests. Raises: ConfigError, NotFound."""
    if of.config is None or not of.dataset:
        raise ConfigError("Choose a dataset first")
    found = requests.one(context, of.dataset)
    plan = batch_plan(found.ref, of.model, of.config, context.settings)
    return plan, min(found.count, of.config.limit or found.count)


@ROUTER.get("/batches/new/models")
def model_list(
    request: Request, context: OpenContext, user: Reader, provider: Text = "ollama", model: Text = ""
) -> Response:
    """The models that a provider offers at this moment, with what each is and takes; or why there is no list."""
    known = {each.name: each for each in provider_status(context.settings)}
    if provider not in known:
        raise NotFound(f"No provider {provider}")
    mine, away = _models_of(context, provider)
    names = [model_name(each) for each in mine]
    return show(
        request,
        "_batch_models.html",
        models=list(zip(names, mine, strict=True)),
        away=away,
        wanted=model,
        listed=model in names,
        key_set=known[provider].key_set,
    )


def _models_of(context: Context, provider: str) -> tuple[list[KnownModel], str]:
    """What a provider offers now, with what is on record of each; or why that is not known.

    One that does not list its models in the second that the registry gives each is waited for: it was chosen.
    """
    models, away = registry.models(context)
    mine = {each.model_id: each for each in models if each.provider == provider}
    if not any(each.provider == provider for each in away):
        return [each for each in mine.values() if each.offered], ""
    (offer,) = offers(context.settings, (provider,))
    if offer.problem is not None:
        return list(mine.values()), str(offer.problem)
    names = [str(model) for model in chat_models(offer)]
    return [mine.get(name, KnownModel(name, name, provider)) for name in names], ""


def model_name(of: KnownModel) -> str:
    """What its provider calls it."""
    return of.model_id.partition("/")[2]


@ROUTER.post("/batches/new/plan")
def plan_piece(request: Request, context: OpenContext, user: Reader, form: Filling) -> Response:
    """What the batch will take, beside the form."""
    of = batch_filled(form)
    facts: dict[str, Any] = {"errors": of.errors, "labels": LABELS, "problem": None, "found": None}
    if of.errors or not of.dataset or not of.model:
        return show(request, "_batch_plan.html", **facts)
    try:
        plan, count = _plan(context, of)
        first = replace(plan, cells=(replace(plan.cells[0], source=_first(plan.cells[0].source)),))
        (source,) = open_sources(first, context.settings)
        found = takes(context, plan, source, count)
    except ProctorError as problem:
        return show(request, "_batch_plan.html", **{**facts, "problem": problem_facts(problem)})
    cell = plan.cells[0]
    keys = {each.name: each.key_set for each in provider_status(context.settings)}
    facts |= {
        "found": found,
        "key_set": keys.get(cell.model.provider),
        "duration": estimated_duration(context, cell, calls=count),
        "curl": of.curl(str(request.base_url).rstrip("/")),
    }
    return show(request, "_batch_plan.html", **facts)


def _first(ref: Any) -> BatchRef:
    """The first requests alone: what all of them will take is seen from these."""
    assert isinstance(ref, BatchRef)
    return replace(ref, limit=min(ref.limit or READ_FIRST, READ_FIRST))


@ROUTER.post("/batches/new")
def start(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """Put the batch into the queue and go where it is watched."""
    of = batch_filled(form)
    if of.errors:
        return _page(request, context, of)
    if not of.model or not of.dataset:
        lacking = {} if of.model else {"model": "choose one"}
        return _page(
            request,
            context,
            replace(of, errors=lacking | ({} if of.dataset else {"dataset": "choose one"})),
        )
    try:
        plan, _ = _plan(context, of)
        registry.remember(context, plan.cells[0].model)
        made = queue.submit(context, plan, Ticket(user.name, of.project, of.priority))
    except ProctorError as problem:
        return _page(request, context, of, problem)
    access.note(context, user.name, "submit", made.id, f"{made.cell.model} on {made.cell.source.listed}")
    return go(request, "/batches", f"{made.cell.source.listed} is being sent to {made.cell.model}.")
