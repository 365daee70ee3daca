"""The dashboard: one item. What was asked, what was said, what was read of it, and the same item elsewhere."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from proctor.manifest_json import sampling_document
from proctor.service.admin import access
from proctor.service.kinds import kind_of
from proctor.service.results import notes
from proctor.service.watch import job_states
from proctor.service.watch.item import Filter, answer
from proctor.types import Item, Run
from proctor.web.addresses import query, request_path, trial_path
from proctor.web.dependencies import Filling, OpenContext, Reader, RunId, Runner, go
from proctor.web.markdown import markdown
from proctor.web.render import show
from proctor.web.runs.results import Filtered

ROUTER = APIRouter()
ItemId = Annotated[str, Path(max_length=500)]


@dataclass(frozen=True, slots=True)
class Which:
    """Which asking of the item, and which attempt at it; None is the latest."""

    repeat: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0
    attempt: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None


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
    found = answer(context, run, item_id, repeat=which.repeat, attempt=which.attempt, wanted=asked.filter())
    payload = found.payload or {}
    text = payload.get("text") or ""
    return show(
        request,
        "item.html",
        here="history",
        run=run,
        found=found,
        row=found.row,
        item=found.item,
        payload=payload,
        text=text,
        as_markdown=markdown(text),
        as_json=_json(text),
        raw=_json(payload.get("raw") or "") or payload.get("raw"),
        sent=_sent(run, found.item),
        asked=asked.query(),
        again=query(asked.query(), repeat=which.repeat or None),
    )


def _sent(run: Run, item: Item) -> str:
    """What the model was asked, laid out as JSON for reading; the template escapes it, once."""
    said = [asdict(message) for message in item.ask.messages]
    request = {
        "model": str(run.cell.model),
        "messages": said,
        "sampling": sampling_document(run.manifest.sampling) if run.manifest.sampling else {},
    }
    return json.dumps(request, indent=2, ensure_ascii=False)


def _json(text: str) -> str | None:
    """The text laid out, if it is a JSON object or list."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return json.dumps(found, indent=2, ensure_ascii=False)


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
        answer(context, run, item_id, repeat=repeat, wanted=Filter())
        flag = given.get("flag") == "on"
        notes.add(context, run.id, item_id, repeat, user=user.name, text=given.get("text", ""), flag=flag)
        access.note(context, user.name, "note", run.id, item_id)
    back = given.get("back", "")
    # Only the query of the page it came from; the rest of the address is ours.
    return go(
        request, f"/runs/{run.id}/items/{quote(item_id, safe='/')}{back if back.startswith('?') else ''}"
    )
