"""The dashboard's place in the application: its routes, its files, and errors as pages."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote, urlsplit

from fastapi import FastAPI, Request
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from proctor.web.batches import compare as batches_compare
from proctor.web.batches import labels as batches_labels
from proctor.web.batches import listing as batches
from proctor.web.batches import requests as batches_requests
from proctor.web.catalogue import datasets, models, one_model, suites
from proctor.web.dependencies import is_fragment
from proctor.web.evidence import boards, compare
from proctor.web.judging import judge, label, verdicts
from proctor.web.overview import bulk, history, overview
from proctor.web.render import error_page
from proctor.web.rollouts import benchmark as rollouts
from proctor.web.rollouts import trajectory as rollouts_trajectory
from proctor.web.rollouts import trial as rollouts_trial
from proctor.web.rollouts import trials as rollouts_trials
from proctor.web.runs import items, results, run
from proctor.web.server import access, finding, schedules, system
from proctor.web.sharing import shares
from proctor.web.starting import batch, files, new_run, offered
from proctor.web.starting import rollouts as rollouts_new

MOST_PATH = 300
STATIC = Path(__file__).parent / "static"
ROOMS = (
    overview,
    new_run,
    offered,
    files,
    history,
    bulk,
    run,
    results,
    items,
    compare,
    batches,
    batch,
    batches_compare,
    batches_labels,
    batches_requests,
    rollouts_new,
    rollouts,
    rollouts_trajectory,
    rollouts_trial,
    rollouts_trials,
    judge,
    label,
    verdicts,
    boards,
    models,
    one_model,
    suites,
    datasets,
    system,
    schedules,
    shares,
    finding,
    access,
)


def add_pages(app: FastAPI) -> FastAPI:
    """The same application with the dashboard beside its API."""
    for room in ROOMS:
        app.include_router(room.ROUTER, include_in_schema=False)
    app.mount("/assets", StaticFiles(directory=STATIC), name="assets")
    # Streams of events are left alone by it.
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)
    app.state.paint = _paint
    return app


def _to_the_door(request: Request) -> Response:
    """To the log-in, and from there back to the page: not to a piece of it, and not to what its form did."""
    headers = request.headers
    piece = is_fragment(request)
    seen = headers.get("hx-current-url") if piece else headers.get("referer")
    page = urlsplit(str(request.url) if request.method == "GET" and not piece else seen or "/")
    whole = f"{page.path}?{page.query}" if page.query else page.path
    # What the log-in takes; without its filters the page is still the one that was wanted.
    door = f"/login?to={quote(whole if len(whole) <= MOST_PATH else page.path[:MOST_PATH])}"
    if piece:
        # A redirect would be followed unseen, and the log-in drawn inside the page.
        return Response(status_code=401, headers={"HX-Redirect": door})
    return RedirectResponse(door, 303)


def _paint(request: Request, status: int, detail: str, slug: str) -> Response | None:
    """The error as a page, for whoever asked for one; None for a program, which gets it as JSON."""
    if request.url.path.startswith(
        ("/api/", "/admin/", "/v1/", "/healthz", "/readyz", "/metrics", "/openapi")
    ):
        return None
    if status == 401:
        return _to_the_door(request)
    if "text/html" not in request.headers.get("accept", "") and "hx-request" not in request.headers:
        return None
    return error_page(request, status, detail, slug)
