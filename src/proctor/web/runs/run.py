"""The dashboard: one run. While it works it is watched live; when it has ended, what it shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from proctor.errors import Conflict
from proctor.findings import Histogram
from proctor.manifest_json import manifest_document
from proctor.plan import cell_to_json
from proctor.service.admin import access, prune
from proctor.service.context import Context
from proctor.service.data.transfer import report
from proctor.service.handing import over
from proctor.service.kinds import kind_of
from proctor.service.results import notes
from proctor.service.results.diagnosis import diagnose
from proctor.service.results.profile import profile_of
from proctor.service.runs import queue
from proctor.service.runs.pace.progress import longest_gap_s
from proctor.service.runs.queue import Ticket
from proctor.service.watch import job_states
from proctor.service.watch.job_states import (
    JobState,
    Progress,
    log_elsewhere,
    log_tail,
    progress_of,
    state_of,
)
from proctor.types import Plan
from proctor.web.dependencies import OpenContext, Reader, RunId, Runner, Text, go
from proctor.web.events import Events
from proctor.web.files import as_report
from proctor.web.render import show
from proctor.web.runs.cures import in_browser_words
from proctor.web.runs.facts import common, place

ROUTER = APIRouter()
TABS = (("summary", "Summary"), ("timeline", "Timeline"), ("log", "Log"), ("config", "Config"))


@ROUTER.get("/runs/{run_id}")
def run_page(
    request: Request, context: OpenContext, user: Reader, run_id: RunId, tab: Text = "summary"
) -> Response:
    if whole := job_states.whole_id(context, run_id):
        return go(request, f"/runs/{whole}")
    state = state_of(context, run_id)
    chosen = tab if tab in dict(TABS) else "summary"
    if chosen == "summary" and kind_of(state.run.cell.source).holds == "tasks":
        return go(request, f"/rollouts/{state.run.plan_id}")
    facts = _TABS[chosen](context, state)
    return show(
        request, "run.html", here=place(state.run), tabs=TABS, tab=chosen, **common(context, state), **facts
    )


def _summary(context: Context, state: JobState) -> dict[str, Any]:
    if not state.ended:
        return {"profile": None}
    profile = profile_of(context, state.run)
    return {
        "profile": profile,
        "latency_chart": _bars(profile.latency, "seconds") if profile.latency else None,
        "grades_chart": _bars(profile.grades, "grade") if profile.grades else None,
        "outcomes": [name for name in _OUTCOMES if any(found.get(name) for found in profile.tasks.values())],
        "flagged": notes.marked(context, state.run.id),
    }


_OUTCOMES = ("correct", "wrong", "answered", "no_answer", "truncated", "refused", "error")


def _bars(of: Histogram, what: str) -> dict[str, Any]:
    return {
        "labels": [low if low == high else f"{low} to {high}" for low, high in pairwise(_edges(of.edges))],
        "counts": of.counts,
        "x": what,
        "y": "items",
    }


def _edges(edges: Sequence[float]) -> list[str]:
    """The edges with as few digits, two or more, as tell them apart.

    >>> _edges([0.0, 0.5, 1.0]), _edges([1.001, 1.004, 1.011]), _edges([0.25, 0.25])
    (['0', '0.5', '1'], ['1.001', '1.004', '1.011'], ['0.25', '0.25'])
    """
    for digits in range(2, 8):
        texts = [f"{edge:.{digits}g}" for edge in edges]
        if len(set(texts)) == len(texts):
            return texts
    return [f"{edge:.2g}" for edge in edges]


def _timeline(context: Context, state: JobState) -> dict[str, Any]:
    beats = progress_of(context, state.run.id)
    return {"beats": beats, "timeline_chart": _beats_chart(beats)}


def _beats_chart(beats: list[Progress]) -> dict[str, Any]:
    """Throughput on the left axis; requests under way, sent again and failed on the right.

    A line breaks where the next try begins: its process counts anew, and between the two none was at work.
    """
    breaks = {
        number
        for number, (before, after) in enumerate(pairwise(beats), 1)
        if after.retries < before.retries
        or after.errors < before.errors
        or after.at - before.at > longest_gap_s(after.at - beats[0].at)
    }

    def line(name: str, axis: int, values: list[float]) -> dict[str, Any]:
        points: list[list[float | None]] = []
        for number, (beat, value) in enumerate(zip(beats, values, strict=True)):
            if number in breaks:
                points.append([round(beat.at * 1000) - 1, None])  # nothing is drawn across
            points.append([round(beat.at * 1000), value])
        return {"name": name, "axis": axis, "points": points}

    return {
        "series": [
            line("items/s", 0, [round(beat.items_per_s, 3) for beat in beats]),
            line("in flight", 1, [beat.in_flight for beat in beats]),
            line("sent again", 1, [beat.retries for beat in beats]),
            line("errors", 1, [beat.errors for beat in beats]),
        ]
    }


def _log(context: Context, state: JobState) -> dict[str, Any]:
    log = log_tail(context, state.run.id)
    return {"log": log, "log_at": None if log is not None else log_elsewhere(context, state.run.id)}


def _config(context: Context, state: JobState) -> dict[str, Any]:
    run = state.run
    return {
        "cell": json.dumps(json.loads(cell_to_json(run.cell)), indent=2, ensure_ascii=False),
        "manifest": json.dumps(manifest_document(run.manifest), indent=2, ensure_ascii=False),
    }


_TABS = {"summary": _summary, "timeline": _timeline, "log": _log, "config": _config}


@ROUTER.get("/runs/{run_id}/live")
def live_piece(request: Request, context: OpenContext, user: Reader, run_id: RunId) -> Response:
    return show(request, "_live.html", **common(context, state_of(context, run_id)))


@ROUTER.get("/runs/{run_id}/diagnosis")
def diagnosis_piece(request: Request, context: OpenContext, user: Reader, run_id: RunId) -> Response:
    """What is off with the run; asked for after the page, because it reads replies."""
    remarks = diagnose(context, job_states.result_of(context, run_id))
    return show(request, "_diagnosis.html", remarks=[in_browser_words(each) for each in remarks])


@ROUTER.get("/runs/{run_id}/events")
async def run_events(events: Events, user: Reader, run_id: RunId) -> Response:
    """Says `changed` when there is something new to see, and `end` at the end."""
    return await events.of_runs([run_id])


@ROUTER.post("/runs/{run_id}/stop")
def stop(request: Request, context: OpenContext, user: Runner, run_id: RunId) -> Response:
    run = job_states.run_of(context, run_id)
    ended = queue.cancel(context, run.id)
    access.note(context, user.name, "cancel", run.id)
    return go(request, f"/runs/{run.id}", "The job was stopped." if ended else "The job is being stopped.")


@ROUTER.post("/runs/{run_id}/restart")
def restart(request: Request, context: OpenContext, user: Runner, run_id: RunId) -> Response:
    run = queue.restart(context, job_states.run_of(context, run_id).id)
    access.note(context, user.name, "restart", run.id)
    return go(request, f"/runs/{run.id}", "The job goes on where it stopped.")


@ROUTER.post("/runs/{run_id}/resume")
def resume(request: Request, context: OpenContext, user: Runner, run_id: RunId) -> Response:
    """A run of the command line that no process works on becomes a job of the server."""
    run = over.hand_over(context, job_states.run_of(context, run_id), user.name)
    access.note(context, user.name, "restart", run.id, "of the command line")
    return go(request, f"/runs/{run.id}", "The server goes on where it stopped.")


@ROUTER.post("/runs/{run_id}/rerun")
def rerun(request: Request, context: OpenContext, user: Runner, run_id: RunId) -> Response:
    """A new run from the same words."""
    run = job_states.run_of(context, run_id)
    if run.cell.source.imported:
        raise Conflict("This run was imported from another tool, which alone can ask again")
    ticket = Ticket(user.name, job_states.project_of(context, run.id), "high")
    made = queue.submit(context, Plan((replace(run.cell),), name=run.cell.source.name), ticket)
    access.note(context, user.name, "submit", made.id, f"{run.cell.model}, again after {run.id[:8]}")
    return go(request, f"/runs/{made.id}", "The same is being asked once more.")


@ROUTER.post("/runs/{run_id}/delete")
def delete(request: Request, context: OpenContext, user: Runner, run_id: RunId) -> Response:
    run = job_states.run_of(context, run_id)
    project = job_states.project_of(context, run.id)
    prune.delete(context, run.id)
    about = f"{run.cell.model} on {run.source_title}"
    access.note(context, user.name, "delete", run.id, about, project_id=project)
    return go(request, "/runs", f"Run {run.id[:8]} was deleted.")


@ROUTER.get("/runs/{run_id}/report")
def download(request: Request, context: OpenContext, user: Reader, run_id: RunId) -> Response:
    """The run's report as one HTML file that needs no server; with `?view=1` as a page."""
    run = job_states.run_of(context, run_id)
    return as_report(request, report(context, [run.id], "html"), f"run-{run.id[:8]}.html")
