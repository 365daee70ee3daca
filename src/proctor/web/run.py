"""The dashboard: one run. While it works it is watched live; when it has ended, what it shows."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from starlette.responses import Response, StreamingResponse

from proctor.errors import Conflict, errors
from proctor.findings import NOT_ENFORCED, RunResult, Score, adherence
from proctor.plan import cell_to_json
from proctor.service import access, jobs_view, notes, prune, queue
from proctor.service.desk import Desk
from proctor.service.diagnosis import diagnose
from proctor.service.live import Live, Pulse, live_of, log_tail, pulses_of
from proctor.service.profile import Histogram, profile_of
from proctor.service.pulse import longest_gap_s
from proctor.service.queue import Ticket
from proctor.service.transfer import report_from
from proctor.types import Plan, Run, Status
from proctor.web.door import OpenDesk, Reader, Runner, Text, go
from proctor.web.render import show
from proctor.web.words import ERROR_TITLES

ROUTER = APIRouter()
RunId = Annotated[str, Path(max_length=100)]
TABS = (("summary", "Summary"), ("timeline", "Timeline"), ("log", "Log"), ("config", "Config"))
LOOK_EVERY_S = 0.5
HEARTBEAT_S = 15.0
SCORED_LIVE = 5_000  # items up to which scores are computed anew at each look


@ROUTER.get("/runs/{run_id}")
def run_page(
    request: Request, desk: OpenDesk, user: Reader, run_id: RunId, tab: Text = "summary"
) -> Response:
    if whole := jobs_view.whole_id(desk, run_id):
        return go(request, f"/runs/{whole}")
    live = live_of(desk, run_id)
    chosen = tab if tab in dict(TABS) else "summary"
    facts = _TABS[chosen](desk, live)
    return show(request, "run.html", here="history", tabs=TABS, tab=chosen, **_common(desk, live), **facts)


def _common(desk: Desk, live: Live) -> dict[str, Any]:
    run = live.run
    return {
        "live": live,
        "run": run,
        "state": live.state,
        "pulse": live.pulse,
        "job": live.job,
        "ended": live.state.ended,
        "problem": _problem(run, live.job is not None),
        "restartable": live.job is not None and live.state.ended and _lacks(run),
        "cancelling": live.job is not None
        and live.job.cancel_at is not None
        and run.status is Status.RUNNING,
        "result": _result(desk, live),
        "unenforced": _unenforced(run),
        "now": time.time(),
    }


def _unenforced(run: Run) -> str:
    held = adherence(run.manifest)
    return "" if held is None or held.enforced else f"{held.sentence}; {NOT_ENFORCED}"


def _problem(run: Run, is_job: bool) -> dict[str, str] | None:
    """What stopped the run, and what to do."""
    if not run.error or run.status is Status.COMPLETED:
        return None
    slug = run.error_slug or ""
    kind = errors().get(slug)
    title = ERROR_TITLES.get(slug, ERROR_TITLES[""])
    cure = kind.cure if kind else ""
    if run.status is Status.PENDING:
        cure = "Nothing, if it passes by itself: the job is tried again, at the time below."
    elif is_job and cure:
        by_hand = "`proctor resume RUN`"
        cure = cure.replace(by_hand, "press Restart") if by_hand in cure else f"{cure} Then press Restart."
    return {
        "title": title,
        "detail": run.error,
        "cure": cure,
        "slug": slug,
        "request_id": "",
    }


def _lacks(run: Run) -> bool:
    return run.status in (Status.FAILED, Status.CANCELLED) or run.partial


def _result(desk: Desk, live: Live) -> RunResult | None:
    """What the run shows; None while there is too much of it to count at each look."""
    if not live.state.ended and live.run.settled > SCORED_LIVE:
        return None
    return jobs_view.result_of(desk, live.run.id)


def _summary(desk: Desk, live: Live) -> dict[str, Any]:
    if not live.state.ended:
        return {"profile": None}
    profile = profile_of(desk.store, live.run)
    return {
        "profile": profile,
        "latency_chart": _bars(profile.latency, "seconds") if profile.latency else None,
        "grades_chart": _bars(profile.grades, "grade") if profile.grades else None,
        "outcomes": [name for name in _OUTCOMES if any(found.get(name) for found in profile.tasks.values())],
        "flagged": notes.marked(desk.store, live.run.id),
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


def _timeline(desk: Desk, live: Live) -> dict[str, Any]:
    beats = pulses_of(desk, live.run.id)
    return {"beats": beats, "timeline_chart": _beats_chart(beats)}


def _beats_chart(beats: list[Pulse]) -> dict[str, Any]:
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


def _log(desk: Desk, live: Live) -> dict[str, Any]:
    return {"log": log_tail(desk, live.run.id)}


def _config(desk: Desk, live: Live) -> dict[str, Any]:
    run = live.run
    return {
        "cell": json.dumps(json.loads(cell_to_json(run.cell)), indent=2, ensure_ascii=False),
        "manifest": json.dumps(dict(run.manifest), indent=2, ensure_ascii=False, default=str),
    }


_TABS = {"summary": _summary, "timeline": _timeline, "log": _log, "config": _config}


def by_task(scores: tuple[Score, ...]) -> list[tuple[str, list[Score]]]:
    """The scores under the task that they are of, in their order; the whole is left out."""
    found: dict[str, list[Score]] = {}
    for score in scores:
        if score.task:
            found.setdefault(score.title, []).append(score)
    return list(found.items())


@ROUTER.get("/runs/{run_id}/live")
def live_piece(request: Request, desk: OpenDesk, user: Reader, run_id: RunId) -> Response:
    return show(request, "_live.html", **_common(desk, live_of(desk, run_id)))


@ROUTER.get("/runs/{run_id}/diagnosis")
def diagnosis_piece(request: Request, desk: OpenDesk, user: Reader, run_id: RunId) -> Response:
    """What is off with the run; asked for after the page, because it reads replies."""
    return show(request, "_diagnosis.html", remarks=diagnose(desk.store, jobs_view.result_of(desk, run_id)))


@ROUTER.get("/runs/{run_id}/events")
async def run_events(desk: OpenDesk, user: Reader, run_id: RunId) -> Response:
    """Says `changed` when there is something new to see, and `end` at the end."""
    first = await asyncio.to_thread(live_of, desk, run_id)
    return event_stream(_changes(desk, run_id, first))


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _changes(desk: Desk, run_id: str, live: Live) -> AsyncIterator[bytes]:
    told, beat = live.mark, time.monotonic()
    while not live.state.ended:
        await asyncio.sleep(LOOK_EVERY_S)
        live = await asyncio.to_thread(live_of, desk, run_id)
        if live.mark != told:
            told, beat = live.mark, time.monotonic()
            yield b"event: changed\ndata: 1\n\n"
        elif time.monotonic() - beat > HEARTBEAT_S:
            beat = time.monotonic()
            yield b": still here\n\n"
    yield b"event: end\ndata: 1\n\n"


@ROUTER.post("/runs/{run_id}/stop")
def stop(request: Request, desk: OpenDesk, user: Runner, run_id: RunId) -> Response:
    run = jobs_view.run_of(desk, run_id)
    ended = queue.cancel(desk.store, run.id)
    access.note(desk.store, user.name, "cancel", run.id)
    return go(request, f"/runs/{run.id}", "The job was stopped." if ended else "The job is being stopped.")


@ROUTER.post("/runs/{run_id}/restart")
def restart(request: Request, desk: OpenDesk, user: Runner, run_id: RunId) -> Response:
    run = queue.restart(desk.store, jobs_view.run_of(desk, run_id).id, desk.settings)
    access.note(desk.store, user.name, "restart", run.id)
    return go(request, f"/runs/{run.id}", "The job goes on where it stopped.")


@ROUTER.post("/runs/{run_id}/rerun")
def rerun(request: Request, desk: OpenDesk, user: Runner, run_id: RunId) -> Response:
    """A new run from the same words."""
    run = jobs_view.run_of(desk, run_id)
    if run.cell.source.kind == "log":
        raise Conflict("This run was imported from another tool, which alone can ask again")
    ticket = Ticket(user.name, jobs_view.project_of(desk, run.id), "high")
    made = queue.submit(
        desk.store, Plan((replace(run.cell),), name=run.cell.source.name), ticket, desk.settings
    )
    access.note(desk.store, user.name, "submit", made.id, f"{run.cell.model}, again after {run.id[:8]}")
    return go(request, f"/runs/{made.id}", "The same is being asked once more.")


@ROUTER.post("/runs/{run_id}/delete")
def delete(request: Request, desk: OpenDesk, user: Runner, run_id: RunId) -> Response:
    run = jobs_view.run_of(desk, run_id)
    project = jobs_view.project_of(desk, run.id)
    prune.delete(desk.store, run.id, home=desk.settings.home)
    about = f"{run.cell.model} on {run.source_title}"
    access.note(desk.store, user.name, "delete", run.id, about, project_id=project)
    return go(request, "/runs", f"Run {run.id[:8]} was deleted.")


@ROUTER.get("/runs/{run_id}/report")
def download(desk: OpenDesk, user: Reader, run_id: RunId) -> Response:
    """The run's report as one HTML file that needs no server."""
    run = jobs_view.run_of(desk, run_id)
    return as_file(report_from(desk.store, [run.id], "html"), f"run-{run.id[:8]}.html")


def as_file(text: str, name: str, kind: str = "text/html") -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)
