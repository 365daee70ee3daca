"""The dashboard: Run Benchmarks. Choose, see what it will take and could show, start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from starlette.datastructures import FormData
from starlette.responses import Response

from proctor.errors import DataMissing, ProctorError
from proctor.figures import dollars, duration
from proctor.references import JudgingRef
from proctor.service.admin import access
from proctor.service.admin.access import User
from proctor.service.context import Context
from proctor.service.datasets import kept
from proctor.service.datasets.kept import Dataset
from proctor.service.forecast.duration import estimated_duration
from proctor.service.forecast.forecast import CellForecast, forecast
from proctor.service.kinds import exam_ref, kind_of
from proctor.service.kinds.exams import rows_here
from proctor.service.opening.catalogue import provider_status, suite_facts
from proctor.service.runs import queue
from proctor.service.runs.lifecycle import open_sources
from proctor.service.runs.queue import Ticket
from proctor.service.runs.requests import RunRequest, plan_for, plan_for_all
from proctor.service.watch import job_states
from proctor.types import Plan
from proctor.web.addresses import query
from proctor.web.dependencies import Filling, OpenContext, Reader, Runner, Text, go
from proctor.web.render import show
from proctor.web.starting import batch, rollouts
from proctor.web.starting.files import file_facts, held
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
DEFAULTS = {"suite": "glue"}
FIRST = ("what", "suite", "preset", "limit", "data", "provider", "model", "project", "priority")
# What an address may say; Ollama's own parameters also by the names that all models have.
NAMED = {*SHOWN, *OLLAMA, *FIRST, "custom", "difference"}
DRAWN = {option.key: name for name, option in OLLAMA.items()}
QUESTIONS = "questions"


@ROUTER.get("/runs/new")
def empty_form(
    request: Request, context: OpenContext, user: Runner, like: Text = "", what: Text = "", dataset: Text = ""
) -> Response:
    """The form; `like` is a run whose settings it begins with, and what else the address says wins."""
    if what == "tasks":
        return rollouts.empty_form(request, context, user)
    if what == "batch" or (dataset and held(context, dataset) == "requests"):
        return batch.empty_form(request, context, user, like, dataset)
    values: dict[str, str] = {"project": str(access.first_project(context).id)}
    tasks: tuple[str, ...] = ()
    if like:
        cell = job_states.run_of(context, like).cell
        if kind_of(cell.source).holds == "tasks":
            return go(request, "/rollouts/new")
        if kind_of(cell.source).holds == "requests":
            return batch.empty_form(request, context, user, like, dataset)
        if isinstance(cell.source, JudgingRef):
            return go(request, f"/judge?runs={cell.source.run}&like={like}")
        values |= form_values(cell)
        tasks = exam_ref(cell.source).tasks
    return _page(request, context, user, filled(_form(request, values, tasks, dataset, what)))


def _form(
    request: Request, values: Mapping[str, str], tasks: tuple[str, ...], dataset: str, what: str
) -> FormData:
    """The fields of a form as a run, and then the address, say them."""
    asked = request.query_params
    told = {DRAWN.get(name, name): value for name, value in in_address(asked).items()}
    said = {name: value for name, value in told.items() if name in NAMED}
    made = {**values, **({"suite": dataset} if dataset else {}), **said}
    if "suite" not in made and what != QUESTIONS:
        made |= DEFAULTS
    models = [value for value in asked.getlist("models") if value]
    named = asked.getlist("tasks") or tasks
    return FormData(
        [*made.items(), *(("tasks", task) for task in named), *(("models", each) for each in models)]
    )


# The page ----------------------------------------------------------------------------------------


def _what(of: Filled) -> str:
    """A suite of proctor's own, or questions of one's own; an empty choice is as it was shown."""
    suite = of.values.get("suite", "")
    if not suite:
        return QUESTIONS if of.values.get("what") == QUESTIONS else "suite"
    return "suite" if suite.lower() in {each["suite"] for each in suite_facts()} else QUESTIONS


def _page(
    request: Request,
    context: Context,
    user: User,
    of: Filled,
    missing: tuple[Lack, ...] | None = None,
    *,
    look: bool = False,
) -> Response:
    what = _what(of)
    form = form_of(what, _pairs(of))
    look = look or (missing is None and bool(request.query_params.get("look")))
    planned = (
        _planned(request, context, user, of, form) if look else {"found": None, "brief": "", "form": form}
    )
    own = _own(context, of) if what == QUESTIONS else None
    return start_page(
        request,
        context,
        what,
        of.models,
        **{
            "missing": _lacks(context, user, of, form).missing if missing is None else missing,
            **planned,
        },
        values={name: value for name, value in of.values.items() if value},
        chosen_tasks=of.tasks,
        errors={name: why for name, why in of.errors.items() if name not in ("provider", "model", "models")},
        labels=LABELS,
        suites=suite_facts(),
        datasets=_datasets(context, of),
        ollama_fields=OLLAMA_FIELDS,
        asked_fields=ASKED_FIELDS,
        limit_fields=LIMIT_FIELDS,
        advanced=any(value and name not in FIRST for name, value in of.values.items())
        or of.values.get("priority", "high") != "high",
        file=file_facts(own) if own else None,
    )


def _pairs(of: Filled) -> FormData:
    return FormData(
        [
            *((name, value) for name, value in of.values.items() if name not in ("provider", "model")),
            *(("tasks", task) for task in of.tasks),
            *(("models", model) for model in of.models),
        ]
    )


def _datasets(context: Context, of: Filled) -> list[Dataset]:
    project = of.values.get("project", "")
    return kept.listed(context, int(project) if project.isdecimal() and len(project) < 10 else None)


def _own(context: Context, of: Filled) -> Dataset | None:
    """The data set of questions that is chosen, by its name or its id."""
    word = of.values.get("suite", "")
    return next((each for each in _datasets(context, of) if word in (each.id, each.name)), None)


# What is lacking ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Lacks:
    """What a form lacks, and its plan where there is one already."""

    missing: tuple[Lack, ...]
    plan: Plan | None = None


def _lacks(context: Context, user: User, of: Filled, form: FilledForm) -> _Lacks:
    # Nothing is wrong yet with a form that has no model.
    errors = {name: why for name, why in of.errors.items() if of.models or name not in ("provider", "model")}
    lacks = listed(of_errors(errors, LABELS), _choices(of), of_queue(context, user))
    if of.errors or not of.models or not of.values.get("suite"):
        return _Lacks(lacks)
    try:
        plan = plan_for_all(context, of.requests)
    except ProctorError as problem:
        return _Lacks(listed(lacks, [of_problem(problem)]))
    lacks = listed(lacks, of_keys(context, of.models, form), _rows(context, user, plan, form))
    return _Lacks(lacks, plan)


def _choices(of: Filled) -> Iterator[Lack]:
    if not of.values.get("suite"):
        yield Lack("Drop a file, or choose one of your data sets", field="suite")
    if not of.models:
        yield Lack("Choose a model", field="model-search")


def _rows(context: Context, user: User, plan: Plan, form: FilledForm) -> Iterator[Lack]:
    """Rows of a suite that nobody has imported here; the hub is asked where one says so."""
    ref = exam_ref(plan.cells[0].source)
    rows = rows_here(ref, context.settings)
    if not rows.lacking:
        return
    cures = []
    if rows.here:
        count = len(rows.here)
        cures.append(
            Cure(
                f"Run the {count} imported task{'s' if count > 1 else ''}",
                form.but(tasks=rows.here, data="imported"),
            )
        )
    cures += _other_rows(form, hub=not ref.rows and user.may_run)
    some = ", ".join(rows.lacking[:4]) + (
        f" and {len(rows.lacking) - 4} more" if len(rows.lacking) > 4 else ""
    )
    lacking = f"{some} of " if rows.here else ""
    yield Lack(
        f"The rows of {lacking}{plan.cells[0].source.name} are not on this server",
        tuple(cures),
        field="data",
        imports=ref.name if user.scope == "admin" else "",
    )


def _other_rows(form: FilledForm, *, hub: bool) -> Iterator[Cure]:
    yield Cure("Use sample rows", form.but(data="sample"))
    if hub:
        yield Cure("Fetch them from the hub", form.but(data="hub"))


# The plan ----------------------------------------------------------------------------------------


@ROUTER.post("/runs/new/plan")
def plan_piece(request: Request, context: OpenContext, user: Reader, form: Filling) -> Response:
    """What the run would take and could show, beside the form; and what it lacks still."""
    of = filled(form)
    facts = _planned(request, context, user, of, form_of(_what(of), form))
    return show(request, "_plan.html", **facts, ready=not facts["missing"], oob=True)


def _planned(request: Request, context: Context, user: User, of: Filled, form: FilledForm) -> dict[str, Any]:
    lacks = _lacks(context, user, of, form)
    nothing = {"missing": lacks.missing, "found": None, "form": form, "brief": ""}
    if lacks.plan is None or of.request is None:
        return nothing
    if any(each.field == "data" for each in lacks.missing):
        return nothing  # without its rows nothing can be said of them
    plan = lacks.plan
    try:
        sources = open_sources(plan, context.settings, fetch=user.may_run)
        found = forecast(context, plan, sources, difference=of.request.difference)
    except ProctorError as problem:
        told = of_problem(problem)
        if isinstance(problem, DataMissing):
            admin = plan.cells[0].source.name if user.scope == "admin" else ""
            told = Lack(told.words, tuple(_other_rows(form, hub=False)), "data", admin)
        return {**nothing, "missing": listed(lacks.missing, [told])}
    keys = {each.name: each.key_set for each in provider_status(context.settings)}
    return {
        **nothing,
        "found": found,
        "brief": _brief(found.total),
        "keys": [keys.get(cell.model.provider) for cell in plan.cells],
        "durations": [
            estimated_duration(context, cell, calls=each.calls)
            for cell, each in zip(plan.cells, found.cells, strict=True)
        ],
        "curl": curl(of.requests, str(request.base_url).rstrip("/")),
        "command": command(of.request, plan.cells[0], of.models),
    }


def _brief(total: CellForecast) -> str:
    """The plan in a line, for where there is room for no more."""
    words = [f"{total.calls:,} calls"]
    if total.seconds.value is not None:
        words.append(f"about {duration(total.seconds.value)}")
    if total.cost_usd.value is not None:
        words.append(dollars(total.cost_usd.value))
    return ", ".join(words)


@ROUTER.post("/runs/new")
def start(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """Put a run for each model into the queue, all of one plan; go to the run, or to the comparison of all."""
    of = filled(form)
    if form.get("look"):
        return _page(request, context, user, of, look=True)
    lacks = _lacks(context, user, of, form_of(_what(of), form))
    if lacks.missing or lacks.plan is None or of.request is None:
        return _page(request, context, user, of, lacks.missing)
    try:
        ticket = Ticket(user.name, of.request.project_id, of.request.priority)
        runs = queue.submit_all(context, lacks.plan, ticket)
    except ProctorError as problem:
        return _page(request, context, user, of, (of_problem(problem),))
    for run in runs:
        access.note(context, user.name, "submit", run.id, f"{run.cell.model} on {of.request.suite}")
    said = f"Benchmarking started for suite: {runs[0].cell.source.name}"
    if len(runs) > 1:
        return go(request, "/compare" + query({"runs": [run.id for run in runs]}), said)
    return go(request, f"/runs/{runs[0].id}", said)


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
