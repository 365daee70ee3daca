"""The dashboard: Judge the answers. Choose whose answers, which judge and by what; see what it takes; start."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from proctor.errors import ConfigError, ProctorError
from proctor.plan.rubrics import rubric_text
from proctor.references import GradingRubric, JudgingRef
from proctor.service.admin import access
from proctor.service.checked.at_hand import judgings_here, runs_judged
from proctor.service.context import Context
from proctor.service.forecast.duration import estimated_duration
from proctor.service.forecast.forecast import CellForecast, takes
from proctor.service.judges import requests
from proctor.service.judges.wanted import MOST_VOTES, judging_plan
from proctor.service.kinds import kind_of
from proctor.service.opening.catalogue import provider_status
from proctor.service.runs.lifecycle import open_sources
from proctor.service.watch import job_states
from proctor.service.watch.job_states import RunFilter
from proctor.types import Cell, Plan, Run, Status
from proctor.web.addresses import query
from proctor.web.dependencies import Filling, OpenContext, Runner, Text, go
from proctor.web.judging.judge_form import (
    FIELDS,
    OWN,
    SCALES,
    JudgeFilled,
    RubricChoice,
    RubricChoices,
    judge_filled,
    rows_of,
    with_room,
)
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
READ_FIRST = 200  # replies whose length tells what all will take
MOST_RUNS = 8
OTHERS = 20  # runs of the same questions that are offered
ASK_NOBODY = ("baseline", "replay")  # they answer exams alone
RunIds = Annotated[list[str], Query(min_length=1, max_length=MOST_RUNS)]


@ROUTER.get("/judge")
def judge_form(
    request: Request, context: OpenContext, user: Runner, runs: RunIds, how: Text = "", like: Text = ""
) -> Response:
    """The form; `like` is a judging whose judge and rubric it begins with."""
    found = judged_runs(context, runs)
    values = {"provider": found[0].cell.model.provider, "how": how}
    rows: Sequence[Any] = ()
    if like:
        model, ref = (run := job_states.run_of(context, like)).cell.model, run.cell.source
        values |= {"provider": model.provider, "model": model.name, "votes": str(run.cell.repeats)}
        if isinstance(ref, JudgingRef):
            values |= {"rubric": _value_of(ref.rubric), "how": "pairs" if ref.against else ""}
            rows = rows_of(ref.rubric)
    return _page(request, context, JudgeFilled(values, tuple(run.id for run in found), tuple(rows)))


def judged_runs(context: Context, names: Sequence[str]) -> list[Run]:
    """The runs; of a judging that which it judged. Raises NotFound."""
    found = []
    for name in dict.fromkeys(names):
        run = job_states.run_of(context, name)
        ref = run.cell.source
        found.append(job_states.run_of(context, ref.run) if isinstance(ref, JudgingRef) else run)
    return found


def _value_of(rubric: GradingRubric) -> str:
    return "" if rubric == GradingRubric() else rubric.words


def rubric_choices(context: Context, run_id: str) -> RubricChoices:
    """The built-in rubric, and those by which this run was judged before, the newest first."""
    made = [RubricChoice("", GradingRubric(), "built in")]
    for run in reversed(judgings_here(context, run_id)):
        ref = run.cell.source
        assert isinstance(ref, JudgingRef)
        if all(each.rubric != ref.rubric for each in made):
            made.append(RubricChoice(_value_of(ref.rubric), ref.rubric, "of an earlier judging"))
    return RubricChoices(made)


@dataclass(frozen=True, slots=True)
class Judgeable:
    """A run whose replies may be judged along."""

    id: str
    model: str
    source: str
    created_at: float
    replies: int


def judgeable(context: Context, first: Run, chosen: Sequence[str]) -> list[Judgeable]:
    """Runs that have ended on the same questions, the chosen ones first."""
    wanted = RunFilter(source=first.cell.source.listed, status=Status.COMPLETED)
    lines = job_states.run_lines(context, wanted, limit=500)[0]
    alike = [each.id for each in lines if each.exam == first.exam and each.id not in chosen]
    runs = [job_states.run_of(context, name) for name in (*chosen, *alike[:OTHERS])]
    return [
        Judgeable(run.id, str(run.cell.model), run.source_title, run.created_at, run.settled) for run in runs
    ]


def _page(
    request: Request, context: Context, of: JudgeFilled, problem: ProctorError | None = None
) -> Response:
    first = job_states.run_of(context, of.runs[0])
    said = problem_facts(problem or of.problem)
    return show(
        request,
        "judge.html",
        200 if said is None else 400,
        here="history",
        values={name: value for name, value in of.values.items() if value},
        errors={},
        problem=said,
        first=first,
        chosen=of.runs,
        offered=judgeable(context, first, of.runs),
        rubrics=rubric_choices(context, first.id).of,
        rubric_text=rubric_text,
        rows=with_room(of.rows),
        scales=SCALES,
        own=OWN,
        fields=FIELDS,
        most_votes=MOST_VOTES,
        providers=[each for each in provider_status(context.settings) if each.name not in ASK_NOBODY],
    )


def _read(context: Context, form: Any) -> JudgeFilled:
    runs = [job_states.run_of(context, str(each)).id for each in form.getlist("runs")]
    if not runs:
        runs = [job_states.run_of(context, str(form.get("first") or "")).id]
        return JudgeFilled(
            {}, tuple(runs), (), problem=ConfigError("Tick the run whose answers are to be judged")
        )
    return judge_filled(form, rubric_choices(context, runs[0]))


@ROUTER.post("/judge/plan")
def plan_piece(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """What the judging would take, beside the form."""
    of = _read(context, form)
    facts: dict[str, Any] = {"problem": problem_facts(of.problem), "found": None}
    if of.request is None:
        return show(request, "_judge_plan.html", **facts)
    try:
        plan = judging_plan(context, of.request.wanted())
        found = [_takes(context, cell) for cell in plan.cells]
    except ProctorError as problem:
        return show(request, "_judge_plan.html", **{**facts, "problem": problem_facts(problem)})
    keys = {each.name: each.key_set for each in provider_status(context.settings)}
    facts |= {
        "found": found,
        "calls": sum(each.calls for each in found),
        "most": any(each.calls > READ_FIRST for each in found),
        "votes": plan.cells[0].repeats,
        "judged": [_judged_words(context, cell) for cell in plan.cells],
        "lacking": [str(cell.model) for cell in plan.cells if keys.get(cell.model.provider) is False],
        "durations": [
            estimated_duration(context, cell, calls=each.calls)
            for cell, each in zip(plan.cells, found, strict=True)
        ],
    }
    return show(request, "_judge_plan.html", **facts)


def _judged_words(context: Context, cell: Cell) -> str:
    """Who judges whom."""
    ref = cell.source
    assert isinstance(ref, JudgingRef)
    models = [str(run.cell.model) for run in runs_judged(context, ref)]
    return f"{cell.model} judges {' against '.join(models)}"


def _takes(context: Context, cell: Cell) -> CellForecast:
    """What a judge will take: exactly of few replies, of many as the first ones tell."""
    ref = cell.source
    assert isinstance(ref, JudgingRef)
    first = replace(cell, source=replace(ref, limit=min(ref.limit or READ_FIRST, READ_FIRST)))
    (source,) = open_sources(Plan((first,)), context.settings)
    run = runs_judged(context, ref)[0]
    replies = min(run.planned, ref.limit or run.planned)
    items = len(source) if replies <= READ_FIRST else kind_of(ref).sized(ref, context)
    return takes(context, Plan((cell,)), source, items).cell


@ROUTER.post("/judge")
def start_judging(request: Request, context: OpenContext, user: Runner, form: Filling) -> Response:
    """Put a job for each judge and run into the queue, and go where they are watched."""
    of = _read(context, form)
    if of.request is None:
        return _page(request, context, of, of.problem or ConfigError("Choose a model that judges"))
    try:
        made = requests.begin(context, of.request, user.name)
    except ProctorError as problem:
        return _page(request, context, of, problem)
    for run in made:
        access.note(context, user.name, "submit", run.id, f"{run.cell.model} judges {run.source_title}")
    return go(request, "/verdict" + query({"runs": list(of.runs)}), "The answers are being judged.")
