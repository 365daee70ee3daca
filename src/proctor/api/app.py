"""The REST API as one application: routes, errors, guard, metrics, and documents that need no other host."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles

from proctor import __version__
from proctor.api import (
    admin_benchmarks,
    admin_datasets,
    admin_models,
    benchmarking,
    datasets,
    jobs,
    judging,
    labels,
    openai_batches,
    openai_files,
    openai_models,
    resources,
    rollouts,
)
from proctor.api.dependencies import PREFIX, OpenContext, Reader, only_known_query
from proctor.api.errors import RESPONSES, add_handlers
from proctor.api.examples import add_examples
from proctor.api.guard import Guard
from proctor.api.metrics import CONTENT_TYPE, Metrics
from proctor.service.batches.openai.models import ModelList
from proctor.service.batches.openai.steps import Keeper
from proctor.service.context import Context, open_context
from proctor.service.runs import queue
from proctor.service.watch import job_states
from proctor.service.watch.hub import WatchHub
from proctor.settings import Settings

ROUTERS = (
    benchmarking.ROUTER,
    jobs.ROUTER,
    resources.ROUTER,
    datasets.ROUTER,
    rollouts.ROUTER,
    judging.ROUTER,
    labels.ROUTER,
)
# Routes whose addresses are documented elsewhere, and stand as they are.
ELSEWHERE = (
    admin_datasets.ROUTER,
    admin_benchmarks.ROUTER,
    admin_models.ROUTER,
    openai_files.ROUTER,
    openai_batches.ROUTER,
    openai_models.ROUTER,
)
STATIC = Path(__file__).parent / "static"
WORKER_SILENT_S = 60.0
DOCS_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>proctor API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/assets/vendor/swagger-ui/swagger-ui.css"></head>
<body><div id="docs"></div>
<script src="/docs/assets/vendor/swagger-ui/swagger-ui-bundle.js"></script>
<script src="/docs/assets/docs.js"></script></body></html>
"""
ABOUT = (
    "Benchmarks, comparisons and leaderboards of AI models. Errors have one shape: `detail`, `error` (a slug), "
    "`request_id`. Keys travel as `Authorization: Bearer KEY` or `X-API-Key`; on loopback none is needed."
)


def create_app(settings: Settings) -> FastAPI:
    """The application; its store is opened when it starts. Guarded: see guard.py."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        with open_context(settings) as context:
            app.state.context = context
            app.state.hub = hub = WatchHub()
            app.state.models = ModelList(settings)
            app.state.keeper = keeper = Keeper(context)
            keeper.start()
            try:
                yield
            finally:
                await hub.close()
                keeper.close()

    app = FastAPI(
        title="proctor",
        version=__version__,
        description=ABOUT,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        responses=RESPONSES,
    )

    def context_of() -> Context:
        context: Context = app.state.context
        return context

    metrics = Metrics()
    for router in ROUTERS:
        app.include_router(router, prefix=PREFIX, dependencies=[Depends(only_known_query)])
    for router in ELSEWHERE:
        app.include_router(router, dependencies=[Depends(only_known_query)])
    add_handlers(app)
    _add_health(app, context_of, metrics)
    app.mount("/docs/assets", StaticFiles(directory=STATIC), name="docs-assets")
    app.add_middleware(
        Guard,
        context_of=context_of,
        hosts=settings.hosts,
        auth=settings.auth,
        per_minute=settings.requests_per_minute,
    )
    app.add_middleware(metrics.counting)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]  # FastAPI's own way to change it
    return app


def _add_health(app: FastAPI, context_of: Any, metrics: Metrics) -> None:
    @app.get("/healthz", tags=["health"], summary="Is the server there")
    def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get(
        "/readyz",
        tags=["health"],
        summary="Can the server take and do work",
        response_model=None,
    )
    def readyz() -> JSONResponse:
        """503 with what is wrong if the database does not answer; a missing worker is said, and is no error.

        `redis` is there where PROCTOR_REDIS_URL is set; without it jobs are taken from the database, which is no error.
        """
        context = context_of()
        job_states.states(context)
        redis = {"redis": queue.redis_away(context.settings) or "ok"} if context.settings.redis_url else {}
        return JSONResponse({"status": "ok", "worker": _worker(context), **redis})

    @app.get("/metrics", tags=["health"], summary="Figures for Prometheus", response_class=Response)
    def figures(context: OpenContext, user: Reader) -> Response:
        """Runs and the queue are of the projects that the key reaches; requests are the whole server's, by route."""
        return Response(metrics.text(context), media_type=CONTENT_TYPE)

    @app.get("/docs", include_in_schema=False)
    def docs() -> HTMLResponse:
        return HTMLResponse(DOCS_PAGE)


def _worker(context: Context) -> str:
    """Whether a worker looked into the queue lately, on any machine."""
    seen = queue.worker_seen(context)
    if seen is None:
        return "none seen"
    return "at work" if time.time() - seen < WORKER_SILENT_S else "silent"


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's document without its 422: a body that cannot be meant is a 400 here."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        for path in document["paths"].values():
            for operation in path.values():
                operation["responses"].pop("422", None)
        for name in ("HTTPValidationError", "ValidationError"):
            document.get("components", {}).get("schemas", {}).pop(name, None)
        add_examples(
            document
        )  # only now: FastAPI drops every null, and in an example null is what a field says
        app.openapi_schema = document
    return app.openapi_schema
