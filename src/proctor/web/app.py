"""The dashboard's place in the application: its routes, its files, and errors as pages."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI, Request
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from proctor.web import (
    access,
    boards,
    compare,
    history,
    items,
    models,
    new_run,
    overview,
    results,
    run,
    system,
)
from proctor.web.render import error_page

STATIC = Path(__file__).parent / "static"
ROOMS = (overview, new_run, history, run, results, items, compare, boards, models, system, access)


def add_pages(app: FastAPI) -> FastAPI:
    """The same application with the dashboard beside its API."""
    for room in ROOMS:
        app.include_router(room.ROUTER, include_in_schema=False)
    app.mount("/assets", StaticFiles(directory=STATIC), name="assets")
    # Streams of events are left alone by it.
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=6)
    app.state.paint = _paint
    return app


def _paint(request: Request, status: int, detail: str, slug: str) -> Response | None:
    """The error as a page, for whoever asked for one; None for a program, which gets it as JSON."""
    if request.url.path.startswith(("/api/", "/healthz", "/readyz", "/metrics", "/openapi")):
        return None
    if status == 401:
        # Only what is looked at is come back to: a form that was sent is not sent again.
        to = f"{request.url.path}?{request.url.query}" if request.method == "GET" else "/"
        return RedirectResponse(f"/login?to={quote(to.removesuffix('?'), safe='/')}", 303)
    if "text/html" not in request.headers.get("accept", "") and "hx-request" not in request.headers:
        return None
    return error_page(request, status, detail, slug)
