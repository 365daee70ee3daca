"""The dashboard: a new batch. Choose requests and models, see what it will take, start."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import Response

from proctor.errors import ProctorError
from proctor.references import BatchRef
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.batches import registry
from proctor.service.context import Context
from proctor.service.datasets import requests
from proctor.service.datasets.requests import Requests
from proctor.service.forecast.duration import estimated_duration
from proctor.service.forecast.forecast import takes
from proctor.service.opening.catalogue import provider_status
from proctor.service.runs import queue
from proctor.service.runs.lifecycle import open_sources
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import batch_plan
from proctor.service.watch import job_states
from proctor.types import Plan, Run
from proctor.web.batches.requests import batch_of
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, Text, go
from proctor.web.render import show
from proctor.web.starting.batch_form import (
    LABELS,
    LIMIT_FIELDS,
    PRIORITIES,
    SENT_FIELDS,
    SHOWN,
    BatchFilled,
    batch_filled,
    values_of,
)
from proctor.web.starting.files import file_facts
from proctor.web.starting.missing import (
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
READ_FIRST = 200  # requests whose length tells what all will take
NAMED = {*SHOWN, "dataset", "provider", "model", "project", "priority", "base_url"}
FIRST = ("what", "dataset", "provider", "model", "project", "priority", "limit")


@ROUTER.get("/batches/new")
def empty_form(
    request: Request, context: OpenContext, user: Reader, like: Text = "", dataset: Text = ""
) -> Response:
    """The form; `like` is a batch whose settings it begins with, and what else the address says wins."""
    values: dict[str, str] = {"project": str(access.first_project(context).id)}
    if like:
        run = batch_of(context, like)
        values |= values_of(run.cell)
        values["dataset"] = _dataset_of(context, run)
    values |= {name: value for name, value in in_address(request.query_params).items() if name in NAMED}
    if values.get("dataset"):
        values["dataset"] = _ident(context, values["dataset"], values["project"])
    models = [value for value in request.query_params.getlist("models") if value]
    provider, _, name = values.get("model", "").partition("/")
    if name and "provider" not in request.query_params and not like:
        values |= {"provider": provider, "model": name}
    form = FormData([*values.items(), *(("models", each) for each in models)])
    return _page(request, context, user, batch_filled(form))


def _ident(context: Context, word: str, project: str) -> str:
    """The id of the data set that an address names, by its id or its name."""
    known = [each for each in requests.listed(context)[0] if word in (each.id, each.name)]
    here = [each for each in known if str(each.project_id) == project]
    return (here or known)[0].id if known else word


def _dataset_of(context: Context, run: Run) -> str:
    ref = run.cell.source
    found = isinstance(ref, BatchRef) and requests.of_ref(
        context, ref, job_states.project_of(context, run.id)
    )
    return found.id if found else ""


def _page(
    request: Request,
    context: Context,
    user: User,
    of: BatchFilled,
    missing: tuple[Lack, ...] | None = None,
    *,
    look: bool = False,
) -> Response:
    form = form_of("batch", _pairs(of))
    known = requests.listed(context)[0]
    own = next((each for each in known if of.dataset and of.dataset in (each.id, each.name)), None)
    look = look or (missing is None and bool(request.query_params.get("look")))
    planned = (
        _planned(request, context, user, of, form) if look else {"found": None, "brief": "", "form": form}
    )
    return start_page(
        request,
        context,
        "batch",
        of.models,
        **{
            "missing": _lacks(context, user, of, form).missing if missing is None else missing,
            **planned,
        },
        values={name: value for name, value in of.values.items() if value},
        errors={name: why for name, why in of.errors.items() if name != "models"},
        labels=LABELS,
        datasets=known,
        sent_fields=SENT_FIELDS,
        limit_fields=LIMIT_FIELDS,
        priorities=PRIORITIES,
        advanced=any(value and name not in FIRST for name, value in of.values.items()),
        file=file_facts(own) if own else None,
    )


def _pairs(of: BatchFilled) -> FormData:
    kept = [(name, value) for name, value in of.values.items() if name not in ("provider", "model")]
    return FormData([*kept, *(("models", model) for model in of.models)])


@dataclass(frozen=True, slots=True)
class _Lacks:
    """What a form lacks; with its plan and the file of requests, where there are some already."""

    missing: tuple[Lack, ...]
    plan: Plan | None = None
    file: Requests | None = None


def _lacks(context: Context, user: User, of: BatchFilled, form: FilledForm) -> _Lacks:
    lacks = [*of_errors(of.errors, LABELS), *of_queue(context, user)]
    if not of.dataset:
        lacks.append(Lack("Drop a file of requests, or choose one", field="dataset"))
    if not of.models:
        lacks.append(Lack("Choose a model", field="model-search"))
    if of.config is None or not of.dataset or not of.models:
        return _Lacks(tuple(lacks))
    try:
        file = requests.one(context, of.dataset)
        plans = [batch_plan(file.ref, model, of.config, context.settings) for model in of.models]
    except ProctorError as problem:
        return _Lacks((*lacks, of_problem(problem)))
    plan = replace(plans[0], cells=tuple(cell for each in plans for cell in each.cells))
    return _Lacks(listed(lacks, of_keys(context, of.models, form)), plan, file)


@ROUTER.post("/batches/new/plan")
def plan_piece(request: Request, context: OpenContext, user: Reader, form: Filling) -> Response:
    """What the batch will take, beside the form; and what it lacks still."""
    of = batch_filled(form)
    facts = _planned(request, context, user, of, form_of("batch", form))
    return show(request, "_batch_plan.html", **facts, ready=not facts["missing"], oob=True)


def _planned(
    request: Request, context: Context, user: User, of: BatchFilled, form: FilledForm
) -> dict[str, Any]:
    lacks = _lacks(context, user, of, form)
    nothing: dict[str, Any] = {"missing": lacks.missing, "found": None, "form": form, "brief": ""}
    if lacks.plan is None or lacks.file is None or of.config is None:
        return nothing
    plan, count = lacks.plan, min(lacks.file.count, of.config.limit or lacks.file.count)
    try:
        first = replace(plan, cells=(replace(plan.cells[0], source=_first(plan.cells[0].source)),))
        (source,) = open_sources(first, context.settings)
        found = [takes(context, replace(plan, cells=(cell,)), source, count) for cell in plan.cells]
    except ProctorError as problem:
        return {**nothing, "missing": (*lacks.missing, of_problem(problem))}
    keys = {each.name: each.key_set for each in provider_status(context.settings)}
    return {
        **nothing,
        "found": found[0],
        "brief": f"{count * len(plan.cells):,} requests",
        "cells": [each.cell for each in found],
        "keys": [keys.get(cell.model.provider) for cell in plan.cells],
        "durations": [estimated_duration(context, cell, calls=count) for cell in plan.cells],
        "curl": of.curl(str(request.base_url).rstrip("/")),
    }


def _first(ref: Any) -> BatchRef:
    """The first requests alone: what all of them will take is seen from these."""
    assert isinstance(ref, BatchRef)
    return replace(ref, limit=min(ref.limit or READ_FIRST, READ_FIRST))


@ROUTER.post("/batches/new")
def start(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """Put a batch for each model into the queue and go where they are watched."""
    of = batch_filled(form)
    if form.get("look"):
        return _page(request, context, user, of, look=True)
    lacks = _lacks(context, user, of, form_of("batch", form))
    if lacks.missing or lacks.plan is None:
        return _page(request, context, user, of, lacks.missing)
    try:
        for cell in lacks.plan.cells:
            registry.remember(context, cell.model)
        made = queue.submit_all(context, lacks.plan, Ticket(user.name, of.project, of.priority))
    except ProctorError as problem:
        return _page(request, context, user, of, (of_problem(problem),))
    for run in made:
        access.note(context, user.name, "submit", run.id, f"{run.cell.model} on {run.cell.source.listed}")
    named = ", ".join(str(run.cell.model) for run in made)
    return go(request, "/batches", f"{made[0].cell.source.listed} is being sent to {named}.")
