"""The dashboard: one item. What was asked, what was said, what was read of it, and the same item elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from proctor.service.admin import access
from proctor.service.kinds import kind_of
from proctor.service.results import notes
from proctor.service.watch import job_states
from proctor.service.watch.answers import sorting_of
from proctor.service.watch.item import AnswerAsked, answer
from proctor.web.addresses import query, request_path, trial_path
from proctor.web.dependencies import Filling, OpenContext, Reader, RunId, Runner, go
from proctor.web.render import show
from proctor.web.runs.one import facts_of
from proctor.web.runs.results import Filtered

ROUTER = APIRouter()
ItemId = Annotated[str, Path(max_length=500)]


@dataclass(frozen=True, slots=True)
class Which:
    """Which asking of the item, which attempt at it (None is the latest), and the reply that it is compared with."""

    repeat: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
    attempt: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None
    beside: Annotated[str, Query(max_length=100)] = ""


@ROUTER.get("/runs/{run_id}/items/{item_id:path}")
def item_page(
    request: Request,
    context: OpenContext,
    user: Reader,
    run_id: RunId,
    item_id: ItemId,
    asked: Filtered,
    which: Annotated[Which, Depends()],
) -> Response:
    run = job_states.run_of(context, run_id)
    if kind_of(run.cell.source).holds == "requests":
        return go(request, request_path(run.id, item_id))
    if kind_of(run.cell.source).holds == "tasks":
        return go(request, trial_path(run.plan_id, run.id, item_id, which.repeat))
    sorting = sorting_of(context, run, asked.by, descending=asked.order == "desc")
    asking = AnswerAsked(item_id, which.repeat, which.attempt, which.beside, (asked.filter(), sorting))
    found = answer(context, run, asking)
    return show(
        request,
        "item.html",
        here="history",
        run=run,
        asked=asked.query(),
        again=query(asked.query(), repeat=which.repeat or None),
        **facts_of(run, found),
    )


@ROUTER.post("/runs/{run_id}/notes/{item_id:path}")
def add_note(
    request: Request, context: OpenContext, user: Runner, run_id: RunId, item_id: ItemId, form: Filling
) -> Response:
    """A note, a flag, or the end of a note; the page then shows the item again."""
    run = job_states.run_of(context, run_id)
    given = {name: str(value) for name, value in form.items()}
    repeat = int(given["repeat"]) if given.get("repeat", "").isdigit() else 0
    if given.get("remove", "").isdigit():
        notes.remove(context, run.id, int(given["remove"]), by=user.name)
    else:
        # The item must be there: a note on nothing would never be seen.
        answer(context, run, AnswerAsked(item_id, repeat))
        flag = given.get("flag") == "on"
        notes.add(context, run.id, item_id, repeat, user=user.name, text=given.get("text", ""), flag=flag)
        access.note(context, user.name, "note", run.id, item_id)
    back = given.get("back", "")
    # Only the query of the page it came from; the rest of the address is ours.
    asked = back if back.startswith("?") else ""
    if given.get("to") == "list":
        return go(request, f"/runs/{run.id}/results{asked}")
    return go(request, f"/runs/{run.id}/items/{quote(item_id, safe='/')}{asked}")
