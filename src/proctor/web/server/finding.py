"""Looking for something by its name everywhere: a page, and the piece that opens over any page."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import RedirectResponse, Response

from proctor.service.kinds import kind_of
from proctor.service.watch import job_states
from proctor.service.watch.finding import find_everywhere
from proctor.web.dependencies import OpenContext, Reader, Text, is_fragment
from proctor.web.render import show
from proctor.web.words import NAV

ROUTER = APIRouter()


@ROUTER.get("/find")
def find_page(request: Request, context: OpenContext, user: Reader, q: Text = "") -> Response:
    """What holds every word; an id of a run, or its beginning, leads straight there."""
    text = q.strip()
    found = find_everywhere(context, text)
    piece = is_fragment(request)
    if not piece and len(found.runs) == 1 and found.runs[0].id.startswith(text.lower()):
        return RedirectResponse(run_path(context, found.runs[0].id), 303)
    words = text.lower().split()
    pages = [
        (address, icon, label)
        for group in NAV
        for _, address, icon, label in group
        if all(word in label.lower() for word in words)
    ]
    return show(
        request, "_found.html" if piece else "find.html", q=text, found=found, pages=pages if words else []
    )


def run_path(context: OpenContext, run_id: str) -> str:
    """The page of a run; trials of tasks are read on their benchmark's."""
    run = job_states.run_of(context, run_id)
    return f"/rollouts/{run.plan_id}" if kind_of(run.cell.source).holds == "tasks" else f"/runs/{run.id}"
