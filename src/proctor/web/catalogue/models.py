"""The dashboard: every model with its scores, runs, speed and cost; the providers, and what a key may use."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from starlette.responses import HTMLResponse

from proctor.errors import ConfigError
from proctor.service.opening.catalogue import key_variables, provider_status
from proctor.service.opening.offers import Offer, Probe, offers, priced, probe
from proctor.service.opening.sources import WITHOUT_SERVER, model_named
from proctor.service.watch import counts
from proctor.service.watch.models import Catalogue, ModelLine, catalogue, sorted_by
from proctor.settings import Settings
from proctor.web.dependencies import OpenContext, Reader, Runner, Text, is_fragment
from proctor.web.render import show

ROUTER = APIRouter()
SHOWN = 100  # models in the list
COLUMNS = 4  # sources with a column of their own
MODELS_TESTED = 200  # of a provider's list
UNSORTED = "last"
Flag = Annotated[str, Query(max_length=10)]


@ROUTER.get("/models")
def models_page(
    request: Request,
    context: OpenContext,
    user: Reader,
    q: Text = "",
    sort: Text = UNSORTED,
    provider: Text = "",
    without: Flag = "",
) -> HTMLResponse:
    asked = {"q": q, "sort": sort, "provider": provider, "without": without}
    facts = _listed(catalogue(context), asked)
    if is_fragment(request):
        return show(request, "_model_rows.html", **facts)
    return _page(request, context, facts)


def _listed(of: Catalogue, asked: dict[str, str]) -> dict[str, Any]:
    """The models that fit, in the order that was asked for; those without a run only where they are asked for."""
    fitting = [each for each in of.models if _fits(each, asked)]
    chosen = sorted_by(asked["sort"], fitting)
    return {
        "models": chosen[:SHOWN],
        "more": len(chosen) - SHOWN,
        "total": len(of.models) - of.without,
        "without": of.without,
        "columns": of.sources[:COLUMNS],
        "highest": of.highest,
        "sampled": [source for source in of.sources if _sample_alone(source, of)],
        "asked": asked,
    }


def _sample_alone(source: str, of: Catalogue) -> bool:
    """Whether all its scores are of sample rows: then its head says so once."""
    return all(each.scores[source].sample for each in of.models if source in each.scores)


def _fits(model: ModelLine, asked: dict[str, str]) -> bool:
    if not model.runs and not (asked["without"] or asked["q"]):
        return False
    if asked["provider"] and model.provider != asked["provider"]:
        return False
    return all(word in model.name.lower() for word in asked["q"].lower().split())


def _page(request: Request, context: OpenContext, facts: dict[str, Any], **tested: Any) -> HTMLResponse:
    providers = provider_status(context.settings)
    return show(
        request,
        "models.html",
        here="models",
        providers=providers,
        keys={each.name: each.key_set for each in providers},
        variables=key_variables(),
        runs=counts.runs_by_provider(context),
        within=WITHOUT_SERVER,
        **{"offer": None, "tried": None, "prices": {}, "most": MODELS_TESTED, **tested},
        **facts,
    )


@ROUTER.post("/models/test")
def try_provider(
    request: Request,
    context: OpenContext,
    user: Runner,
    provider: Annotated[str, Form(max_length=50)] = "",
    model: Annotated[str, Form(max_length=300)] = "",
) -> HTMLResponse:
    """Asks the provider what its key may use; with `model`, also that one a sample question."""
    (offer,) = offers(context.settings, (provider,))
    tested = {
        "offer": offer,
        "tried": _try(provider, model.strip(), context.settings) if model.strip() else None,
        "prices": _prices(offer, context.settings),
    }
    if is_fragment(request):
        keys = {each.name: each.key_set for each in provider_status(context.settings)}
        return show(
            request,
            "_tested.html",
            within=WITHOUT_SERVER,
            keys=keys,
            variables=key_variables(),
            most=MODELS_TESTED,
            **tested,
        )
    asked = {"q": "", "sort": UNSORTED, "provider": "", "without": ""}
    return _page(request, context, _listed(catalogue(context), asked), **tested)


def _prices(offer: Offer, settings: Settings) -> dict[str, tuple[float, float]]:
    """Of the models on offer; a table that cannot be read is said where a run is planned, and stops no test."""
    try:
        known = priced(settings)
    except ConfigError:
        return {}
    return {str(each.model): known[str(each.model)] for each in offer.models if str(each.model) in known}


def _try(provider: str, model: str, settings: Settings) -> Probe:
    if provider in WITHOUT_SERVER:
        raise ConfigError(f"{provider} is part of proctor and comes up with a run: there is no server to ask")
    named = model_named(f"{provider}/{model}", settings)
    if named.provider != provider:
        raise ConfigError(f"Unknown provider {provider!r}")
    (tried,) = probe((named,), settings)
    return tried
