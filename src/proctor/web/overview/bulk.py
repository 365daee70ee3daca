"""The dashboard: what is done with several runs of History at once. Deleting asks first, with the number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated

from fastapi import APIRouter, Form, Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from proctor.errors import ConfigError, ProctorError
from proctor.service.admin import access, prune
from proctor.service.admin.access import User
from proctor.service.context import Context
from proctor.service.handing import over
from proctor.service.runs import queue
from proctor.service.watch import job_states
from proctor.types import Run
from proctor.web.dependencies import OpenContext, Runner, go
from proctor.web.overview.asked import MOST_IDS
from proctor.web.render import show

ROUTER = APIRouter()
DONE = {"restart": "restarted", "stop": "stopped or asked to stop", "delete": "deleted"}
MOST_TOLD = 3  # reasons why something could not be done


class Bulk(BaseModel):
    """What is done to which runs; `only` is the one of a row's own menu, `sure` says that the question was answered."""

    runs: list[str] = Field(default_factory=list, max_length=MOST_IDS)
    do: str = Field("", max_length=20)
    only: str = Field("", max_length=40)
    sure: str = Field("", max_length=1)


@ROUTER.post("/runs/bulk")
def bulk(
    request: Request,
    context: OpenContext,
    user: Runner,
    form: Annotated[Bulk, Form()],
    act: Annotated[str, Query(alias="do", max_length=20)] = "",
) -> Response:
    """Stop, restart or delete the runs that are named.

    Raises NotFound if one of them is not there, before anything is done to the others; ConfigError.
    """
    wanted = form.do or act
    if wanted not in DONE:
        raise ConfigError(f"do={wanted[:20]!r}: choose from {', '.join(DONE)}")
    named = list(dict.fromkeys([form.only] if form.only else form.runs))
    if not named:
        raise ConfigError("No run was ticked: tick those that are meant")
    found = [job_states.run_of(context, each) for each in named]
    if wanted == "delete" and not form.sure:
        return show(request, "delete_runs.html", here="history", runs=found)
    done, refused = _each(context, user, found, _ACTS[wanted])
    return go(request, "/runs", _said(wanted, done, refused))


def _each(
    context: Context, user: User, runs: Sequence[Run], act: Callable[[Context, User, Run], None]
) -> tuple[int, list[str]]:
    """How many it was done to, and why not to the others."""
    refused = []
    for run in runs:
        try:
            act(context, user, run)
        except ProctorError as error:
            refused.append(str(error))
    return len(runs) - len(refused), refused


def _stop(context: Context, user: User, run: Run) -> None:
    queue.cancel(context, run.id)
    access.note(context, user.name, "cancel", run.id)


def _restart(context: Context, user: User, run: Run) -> None:
    """A run of the command line becomes a job by it."""
    if job_states.state_of(context, run.id).job is None:
        over.hand_over(context, run, user.name)
    else:
        queue.restart(context, run.id)
    access.note(context, user.name, "restart", run.id)


def _delete(context: Context, user: User, run: Run) -> None:
    project = job_states.project_of(context, run.id)
    prune.delete(context, run.id)
    about = f"{run.cell.model} on {run.source_title}"
    access.note(context, user.name, "delete", run.id, about, project_id=project)


_ACTS = {"stop": _stop, "restart": _restart, "delete": _delete}


def _said(wanted: str, done: int, refused: Sequence[str]) -> str:
    """
    >>> _said("delete", 2, []), _said("stop", 0, ["Run 1 has ended."])
    ('2 runs were deleted.', '0 runs were stopped or asked to stop; 1 could not be: Run 1 has ended.')
    """
    told = f"{done:,} run{'s were' if done != 1 else ' was'} {DONE[wanted]}"
    if not refused:
        return f"{told}."
    more = f" And {len(refused) - MOST_TOLD} more." if len(refused) > MOST_TOLD else ""
    return f"{told}; {len(refused):,} could not be: {' '.join(refused[:MOST_TOLD])}{more}"
