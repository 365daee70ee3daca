"""The dashboard: Rollouts. Benchmarks of tasks for agents: those at work, live; those that ended; and one of them."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path as FilePath
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from proctor.errors import errors
from proctor.service.admin import access
from proctor.service.context import Context
from proctor.service.rollouts import benchmark, changing, listing
from proctor.service.rollouts.benchmark import BenchmarkRow, RolloutBenchmark, TaskColumn, TrialCell
from proctor.service.rollouts.listing import BenchmarkLine, BenchmarkWish
from proctor.service.watch import job_states
from proctor.types import Status
from proctor.web.addresses import query
from proctor.web.dependencies import OpenContext, Project, Reader, Runner, Text, go, is_fragment
from proctor.web.events import Events
from proctor.web.heat import HeatAsked
from proctor.web.render import show
from proctor.web.rollouts.figures import figures_of, tasks_heat, verdict_of
from proctor.web.rollouts.words import STATES, UNSCORED

ROUTER = APIRouter()
LISTED = 20  # ended benchmarks on a page
MOST_ACTIVE = 100
TASKS_SHOWN = 50  # of a benchmark, on a page
ROOMY = 80  # trials on a page up to which each shows its score beside its letter
Ident = Annotated[str, Path(max_length=100)]
Word = Annotated[str, Query(max_length=30)]
Named = Annotated[str, Query(max_length=100)]


@ROUTER.get("/rollouts")
def page(
    request: Request, context: OpenContext, user: Reader, project: Project, after: Named = ""
) -> Response:
    facts = _listed(context, project, after)
    return show(request, "rollouts.html", here="rollouts", project=project, after=after, **facts)


@ROUTER.get("/rollouts/live")
def live_list(request: Request, context: OpenContext, user: Reader, project: Project) -> Response:
    return show(request, "_rollouts.html", project=project, after="", **_listed(context, project))


@ROUTER.get("/rollouts/events")
async def list_events(following: Events, context: OpenContext, user: Reader, project: Project) -> Response:
    """Says `changed` whenever a benchmark that works or waits has moved."""

    def look() -> list[tuple[object, ...]]:
        return [
            (line.id, line.state, line.ended, line.errors, line.planned) for line in at_work(context, project)
        ]

    return await following.of(("rollouts", project), look)


def at_work(context: Context, project: int | None) -> list[BenchmarkLine]:
    """Benchmarks that work or wait, the newest first."""
    found: list[BenchmarkLine] = []
    for status in (Status.RUNNING, Status.PENDING):
        found += listing.listed(context, BenchmarkWish(status, project), limit=MOST_ACTIVE).benchmarks
    return sorted(found, key=lambda line: -line.created_at)


def _listed(context: Context, project: int | None, after: str = "") -> dict[str, Any]:
    found = listing.listed(context, BenchmarkWish(None, project, None, after or None), limit=LISTED)
    shown = [line for line in found.benchmarks if line.over]
    return {
        "success": listing.successes(context, shown),
        "active": [] if after else at_work(context, project),
        "ended": shown,
        "total": found.total,
        "more": found.after,
    }


@dataclass(frozen=True, slots=True)
class MatrixQuery:
    """Which part of a benchmark's matrix, as the address has it; `start` is the first task's place.

    `view` "heat" shows of how many of a task's trials passed in place of each trial.
    """

    state: Word = ""
    task: Text = ""
    agent: Text = ""
    start: Annotated[int, Query(ge=0, le=10**6)] = 0
    view: Word = ""

    def query(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value}


Asked = Annotated[MatrixQuery, Depends()]
Drawn = Annotated[HeatAsked, Depends()]


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """A part of a benchmark: tasks by rows of its table. `fits` tells which of its trials are asked for."""

    tasks: list[TaskColumn]
    found: int
    columns: list[BenchmarkRow]
    roomy: bool
    state: str

    def fits(self, cell: TrialCell) -> bool:
        return _fits(cell, self.state)


def _fits(cell: TrialCell, state: str) -> bool:
    return not state or cell.state == state or (state == "unscored" and cell.state in UNSCORED)


def matrix_of(of: RolloutBenchmark, asked: MatrixQuery) -> MatrixPart:
    """The tasks that have a trial as it is asked for, from the place that is asked for."""
    columns = [row for row in of.rows if not asked.agent or row.label == asked.agent] or list(of.rows)
    words = asked.task.casefold().strip()
    found = [
        task
        for task in of.tasks
        if words in task.id.casefold()
        if not asked.state or any(_fits(c, asked.state) for c in _trials(of, task, columns))
    ]
    shown = found[asked.start : asked.start + TASKS_SHOWN]
    room = sum(len(_trials(of, task, columns)) for task in shown)
    return MatrixPart(shown, len(found), columns, room <= ROOMY, asked.state)


def _trials(of: RolloutBenchmark, task: TaskColumn, columns: list[BenchmarkRow]) -> list[TrialCell]:
    return [cell for row in columns for cell in of.trials.get((row.run, task.id), ())]


@ROUTER.get("/rollouts/{ident}")
def one(
    request: Request, context: OpenContext, user: Reader, ident: Ident, asked: Asked, drawn: Drawn
) -> Response:
    of = benchmark.one(context, ident)
    if ident != of.id:
        return go(request, f"/rollouts/{of.id}{query(asked.query())}".removesuffix("?"))
    piece = "_rollout_matrix.html" if request.headers.get("hx-target") == "matrix" else "_rollout_live.html"
    name = piece if is_fragment(request) else "rollout.html"
    return show(request, name, here="rollouts", **_facts(context, of, asked, drawn))


@ROUTER.get("/rollouts/{ident}/events")
async def events(following: Events, context: OpenContext, user: Reader, ident: Ident) -> Response:
    """Says `changed` whenever a trial of the benchmark has begun another phase or has ended."""

    def look() -> list[tuple[object, ...]]:
        return [benchmark.one(context, ident).mark]

    return await following.of(("benchmark", ident), look)


def _facts(context: Context, of: RolloutBenchmark, asked: MatrixQuery, drawn: HeatAsked) -> dict[str, Any]:
    over = of.line.over
    wanted = {name: value for name, value in asked.query().items() if name not in ("start", "view")}
    short, verdict = verdict_of(context, of)
    lacking = [row for row in of.rows if over and row.ended < row.planned]
    return {
        "of": of,
        "asked": wanted,
        "heat": tasks_heat(context, of, drawn, wanted, TASKS_SHOWN) if asked.view == "heat" else None,
        "matrix": matrix_of(of, asked),
        "start": asked.start,
        "step": TASKS_SHOWN,
        "states": STATES,
        "working": [cell for cell in of.all_trials if cell.state == "working"],
        "stoppable": any(row.job and row.status in _LIVE for row in of.rows),
        "restartable": any(row.job for row in lacking),
        "by_hand": [row for row in lacking if not row.job],
        "cures": {row.run: _cure(row) for row in of.rows if row.error},
        "contained": sorted({row.sandbox or of.sandbox for row in of.rows}),
        "uncontained": of.sandbox == "local",
        "folder": f"{_folder(context, of)}",
        "now": time.time(),
        "figures": figures_of(context, of),
        "short": short,
        "verdict": verdict,
    }


_LIVE = (Status.RUNNING, Status.PENDING)


def _folder(context: Context, of: RolloutBenchmark) -> FilePath:
    """Where the documented files of the benchmark are written."""
    return context.settings.home.absolute() / "rollouts" / of.name / of.line.stamp


def _cure(row: BenchmarkRow) -> str:
    kind = errors().get(row.error_slug or "")
    return kind.cure if kind else ""


@ROUTER.post("/rollouts/{ident}/cancel")
def cancel(request: Request, context: OpenContext, user: Runner, ident: Ident) -> Response:
    runs = benchmark.runs_of(context, ident)
    ended = changing.cancel(context, ident)
    access.note(context, user.name, "cancel", runs[0].id, f"benchmark {runs[0].cell.source.listed}")
    said = (
        "The benchmark was stopped."
        if ended
        else "The benchmark is being stopped; trials that ended are kept."
    )
    return go(request, f"/rollouts/{runs[0].plan_id}", said)


@ROUTER.post("/rollouts/{ident}/resume")
def resume(request: Request, context: OpenContext, user: Runner, ident: Ident) -> Response:
    runs = changing.resume(context, ident)
    access.note(context, user.name, "restart", runs[0].id, f"benchmark {runs[0].cell.source.listed}")
    return go(request, f"/rollouts/{runs[0].plan_id}", "The benchmark goes on; what has a verdict is kept.")


@ROUTER.post("/rollouts/{ident}/delete")
def delete(request: Request, context: OpenContext, user: Runner, ident: Ident) -> Response:
    first = benchmark.runs_of(context, ident)[0]
    project = job_states.project_of(context, first.id)
    changing.delete(context, ident)
    name = first.cell.source.listed
    access.note(context, user.name, "delete", first.id, f"benchmark {name}", project_id=project)
    return go(request, "/rollouts", f"Benchmark {name} was deleted.")
