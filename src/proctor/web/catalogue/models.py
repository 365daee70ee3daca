"""The dashboard: providers and the models they offer, a model's own page, and the suites with what they ask."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Path, Request
from starlette.responses import HTMLResponse

from proctor.errors import ConfigError, NotFound
from proctor.service.data import suite_data
from proctor.service.opening.catalogue import provider_status, suite_facts
from proctor.service.opening.offers import Offer, Probe, offers, probe
from proctor.service.opening.sources import WITHOUT_SERVER, model_named
from proctor.service.watch import counts
from proctor.settings import Settings
from proctor.web.dependencies import OpenContext, Reader, Runner
from proctor.web.render import show

ROUTER = APIRouter()
SHOWN = 50


@ROUTER.get("/models")
def models_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    return _models(request, context)


@ROUTER.post("/models/test")
def try_provider(
    request: Request,
    context: OpenContext,
    user: Runner,
    provider: Annotated[str, Form(max_length=50)] = "",
    model: Annotated[str, Form(max_length=300)] = "",
) -> HTMLResponse:
    """Asks the provider for its models; with `model`, also that one a sample question."""
    (offer,) = offers(context.settings, (provider,))
    tried = _try(provider, model.strip(), context.settings) if model.strip() else None
    return _models(request, context, offer, tried)


def _try(provider: str, model: str, settings: Settings) -> Probe:
    if provider in WITHOUT_SERVER:
        raise ConfigError(f"{provider} is part of proctor and comes up with a run: there is no server to ask")
    named = model_named(f"{provider}/{model}", settings)
    if named.provider != provider:
        raise ConfigError(f"Unknown provider {provider!r}")
    (tried,) = probe((named,), settings)
    return tried


def _models(
    request: Request, context: OpenContext, offer: Offer | None = None, tried: Probe | None = None
) -> HTMLResponse:
    return show(
        request,
        "models.html",
        here="models",
        providers=provider_status(context.settings),
        runs=counts.runs_by_provider(context),
        within=WITHOUT_SERVER,
        offer=offer,
        tried=tried,
    )


@ROUTER.get("/models/{provider}/{name:path}")
def model_page(
    request: Request,
    context: OpenContext,
    user: Reader,
    provider: Annotated[str, Path(max_length=50)],
    name: Annotated[str, Path(max_length=300)],
) -> HTMLResponse:
    """A model's runs, newest first, of every suite."""
    runs, total = counts.model_runs(context, f"{provider}/{name}", limit=SHOWN)
    if not runs and provider not in {each.name for each in provider_status(context.settings)}:
        raise NotFound(f"No provider {provider}, and no run of {provider}/{name}")
    return show(
        request,
        "model.html",
        here="models",
        model=f"{provider}/{name}",
        provider=provider,
        runs=runs,
        total=total,
        sources=list(dict.fromkeys(each.line.source for each in runs)),
    )


@ROUTER.get("/suites")
def suites_page(request: Request, context: OpenContext, user: Reader) -> HTMLResponse:
    origins = suite_data.origins(context.settings)
    suites = [_with_prompts(suite, context.settings) for suite in suite_facts()]
    return show(
        request,
        "suites.html",
        here="suites",
        suites=suites,
        origins=origins,
        hub=suite_data.hub_pages(context.settings),
    )


def _with_prompts(suite: dict[str, Any], settings: Settings) -> dict[str, Any]:
    return {**suite, "prompts": suite_data.example_prompts(suite["suite"], settings)}
