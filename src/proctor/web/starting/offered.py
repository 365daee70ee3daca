"""The dashboard: what each provider offers now, as a list to tick; kept for seconds, so that a form is quick."""

from __future__ import annotations

import time
from threading import Lock
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from proctor.errors import NotFound
from proctor.figures import rate, room
from proctor.service.batches import registry
from proctor.service.batches.registry import KnownModel
from proctor.service.context import Context
from proctor.service.opening.catalogue import brand, provider_status
from proctor.service.opening.offers import Offer, chat_models, offers
from proctor.settings import Settings
from proctor.web.dependencies import OpenContext, Reader, Text
from proctor.web.render import problem_facts, show

ROUTER = APIRouter()
KEPT_S = 15.0
ANSWER_S = 5.0  # what a server that is away may cost
SHOWN = 500

_lists: dict[tuple[Settings, str], tuple[float, Offer]] = {}
_alone = Lock()


@ROUTER.get("/runs/new/offers")
def offer_list(request: Request, context: OpenContext, user: Reader, provider: Text = "ollama") -> Response:
    """The models that a provider offers at this moment, to be ticked; or why there is no list."""
    facts = _listed(context, provider)
    return show(
        request, "_offer.html", **{**facts, "listed": facts["listed"][:SHOWN], "count": len(facts["listed"])}
    )


@ROUTER.get("/runs/new/models")
def model_list(
    request: Request, context: OpenContext, user: Reader, provider: Text = "ollama", model: Text = ""
) -> Response:
    """The same as a field of a form that takes one model."""
    facts = _listed(context, provider)
    names = {each.model.name for each in facts["listed"]}
    return show(request, "_models.html", **facts, chosen=_on_offer(model, provider, names), wanted=model)


def _listed(context: Context, provider: str) -> dict[str, Any]:
    """Raises: NotFound."""
    states = {each.name: each for each in provider_status(context.settings)}
    if provider not in states:
        raise NotFound(f"No provider {provider}")
    offer = _offer(context.settings, provider)
    names = {model.name for model in chat_models(offer)}
    return {
        "provider": provider,
        "brand": brand(provider),
        "listed": [each for each in offer.models if each.model.name in names],
        "problem": problem_facts(offer.problem),
        "key_set": states[provider].key_set,
        "facts": _facts(context, offer),
    }


def _on_offer(model: str, provider: str, names: set[str]) -> str:
    """The name under which the server lists the model; as it stands if it does not.

    >>> _on_offer("mistral", "ollama", {"mistral:latest"}), _on_offer("gone", "ollama", set())
    ('mistral:latest', 'gone')
    """
    tagged = f"{model}:latest"
    return tagged if provider == "ollama" and model not in names and tagged in names else model


def _offer(settings: Settings, provider: str) -> Offer:
    """What it lists, no older than some seconds. A list that could not be had is asked for again."""
    key = (settings, provider)
    with _alone:
        at, kept = _lists.get(key, (0.0, None))
    if kept is not None and time.monotonic() - at < KEPT_S:
        return kept
    (offer,) = offers(settings, (provider,), within_s=ANSWER_S)
    if offer.problem is None:
        with _alone:
            _lists[key] = (time.monotonic(), offer)
    return offer


def _facts(context: Context, offer: Offer) -> dict[str, str]:
    """What is known of each model, in a few words, by its name."""
    known = registry.of_offer(context, offer)
    found = {}
    for each in offer.models:
        of = known.get(str(each.model))
        size = each.size_bytes or (of.size_bytes if of else None)
        words = [
            each.parameters or (of.parameters if of else None),
            each.quantization,
            room(size) if size else None,
            _memory(of),
            f"context {each.context_tokens:,}" if each.context_tokens else None,
            rate(of.tokens_per_s) if of and of.tokens_per_s else None,
            each.note,
        ]
        found[each.model.name] = ", ".join(word for word in words if word)
    return found


def _memory(of: KnownModel | None) -> str | None:
    if of is None or of.memory_bytes is None:
        return None
    return f"needs {'' if of.memory_from == 'told' else 'at least '}{room(of.memory_bytes)}"
