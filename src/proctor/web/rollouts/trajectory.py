"""The dashboard: the trajectory of a trial. Calls to scale over the agent's time, one of them whole, and downloads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response, StreamingResponse

from proctor.service.rollouts import benchmark, trajectory, trial
from proctor.service.rollouts.trajectory import Trajectory
from proctor.service.rollouts.trajectory_text import text_of
from proctor.trial_record import AgentCall
from proctor.web.dependencies import OpenContext, Reader
from proctor.web.render import show
from proctor.web.rollouts.named import HERE, Named, Try, as_file, file_headers

ROUTER = APIRouter()
MOST_WIDTH = 1000.0  # of the time line, in its own units
TOUCHING = 0.4  # units: bars that are nearer are drawn as one
AT_ONCE = 30  # calls on a page
SHOWN = 100_000  # characters of a body on the page of its call
NAMES = {"atif": "trajectory.json", "jsonl": "trajectory.jsonl", "text": "trajectory.txt"}
Number = Annotated[int, Path(ge=0, le=10**9)]


@dataclass(frozen=True, slots=True)
class CallBar:
    """One call on the time line, or several that touch: `x` and `width` are to scale, of MOST_WIDTH."""

    x: float
    width: float
    answered: bool


@dataclass(frozen=True, slots=True)
class CallsShown:
    """The calls of a trial, of which a page has those from `first` to before `end`; `before` and `after` begin others.

    `span_s` is what the time line shows, from the agent's beginning.
    """

    of: Trajectory
    first: int
    end: int
    total: int
    before: int | None
    after: int | None
    bars: Sequence[CallBar]
    span_s: float


def calls_shown(of: Trajectory, first: int | None, *, live: bool) -> CallsShown | None:
    """None for a trial whose calls are not kept. Of one at work the last are shown, unless others are asked for."""
    if of.turns is None:
        return None
    calls, total = [turn.call for turn in of.turns], len(of.turns)
    if first is None:
        first = max(0, total - AT_ONCE) if live else 0
    ends = [call.at + (call.seconds or 0.0) for call in calls]
    agent_s = of.record.agent_s if of.record else None
    span_s = max([agent_s or 0.0, *ends, 1e-6])
    return CallsShown(
        of,
        first,
        min(total, first + AT_ONCE),
        total,
        max(0, first - AT_ONCE) if first else None,
        first + AT_ONCE if first + AT_ONCE < total else None,
        _bars(calls, MOST_WIDTH / span_s),
        span_s,
    )


def _bars(calls: Sequence[AgentCall], scale: float) -> Sequence[CallBar]:
    bars: list[CallBar] = []
    for call in sorted(calls, key=lambda each: each.at):
        x = min(call.at * scale, MOST_WIDTH - 1.0)
        width = min(max(1.0, (call.seconds or 0.0) * scale), MOST_WIDTH - x)
        answered = call.ended == "answered"
        last = bars[-1] if bars else None
        if last and last.answered == answered and x - (last.x + last.width) < TOUCHING:
            bars[-1] = replace(last, width=max(last.width, x + width - last.x))
        else:
            bars.append(CallBar(x, width, answered))
    return bars


@ROUTER.get(HERE + "/trajectory")
def download(
    context: OpenContext,
    user: Reader,
    name: Named,
    shape: Annotated[Literal["atif", "jsonl", "text"], Query(alias="format")] = "atif",
    attempt: Try = None,
) -> Response:
    """The trajectory as a file."""
    if shape == "jsonl":
        lines = trajectory.calls_of(context, name, attempt=attempt)
        return StreamingResponse(
            lines, media_type="application/octet-stream", headers=file_headers(NAMES[shape])
        )
    if shape == "text":
        text = text_of(trajectory.trajectory_of(context, name, attempt=attempt))
        return as_file(text.encode(), NAMES[shape])
    return as_file(trajectory.atif_of(context, name, attempt=attempt), NAMES[shape])


@ROUTER.get(HERE + "/calls/{number}")
def one_call(
    request: Request, context: OpenContext, user: Reader, name: Named, number: Number, attempt: Try = None
) -> Response:
    """A page for one call, with its whole request and response."""
    found = trajectory.one_call(context, name, number, attempt=attempt)
    of = trial.one_trial(context, name, attempt=attempt)
    return show(
        request,
        "rollout_call.html",
        here="rollouts",
        of=benchmark.one(context, of.plan),
        found=of,
        cell=of.cell,
        one=found,
        turn=found.turn,
        bodies=[("Request", "request", found.request), ("Response", "response", found.response)],
        most=SHOWN,
        asked_try=attempt,
        long=SHOWN,
    )


@ROUTER.get(HERE + "/calls/{number}/body")
def body(
    context: OpenContext,
    user: Reader,
    name: Named,
    number: Number,
    which: Literal["request", "response"],
    attempt: Try = None,
) -> Response:
    """The request or the response of a call as a file."""
    found = trajectory.one_call(context, name, number, attempt=attempt)
    told = found.request if which == "request" else found.response
    return as_file(told.encode("utf-8", "replace"), f"call-{number + 1}-{which}.json")
