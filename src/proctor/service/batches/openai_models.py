"""The models that OpenAI's API lists, and which model a name in a request means."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proctor.errors import NotFound
from proctor.plan import parse_model
from proctor.providers import PROVIDERS
from proctor.providers.contract import Opening
from proctor.providers.passthrough import DOORS
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.service.context import Context
from proctor.service.opening.offers import Offer, _offer, chat_models
from proctor.settings import Settings
from proctor.types import Model

FRESH_S = 15.0
WITHIN_S = 0.9


@dataclass(frozen=True, slots=True)
class OfferedModel:
    model: Model
    created: float


_LOCK = threading.Lock()
_KNOWN: dict[int, tuple[float, list[OfferedModel]]] = {}


def listing(context: Context) -> list[OfferedModel]:
    names = [name for name in DOORS if name != "simulator"]
    now = time.time()
    return [
        OfferedModel(m, now)
        for offer in asyncio.run(_offers(context.settings, names))
        for m in chat_models(offer)
    ]


async def _offers(settings: Settings, names: Sequence[str]) -> list[Offer]:
    http = Http(parallel=8, timeout_s=2, secrets=settings.secrets)
    opening = Opening(settings, http, read_prices(settings.home))

    async def ask(name: str) -> Offer:
        try:
            async with asyncio.timeout(WITHIN_S):
                return await _offer(name, opening)
        except TimeoutError:
            return Offer(name, name)

    try:
        return list(await asyncio.gather(*(ask(name) for name in names)))
    finally:
        await http.close()


def resolved(context: Context, name: str) -> Model:
    if not isinstance(name, str) or not name:
        raise NotFound("no model")
    model = parse_model(name, tuple(PROVIDERS))
    if model is not None:
        return model
    for each in listing(context):
        if each.model.name == name:
            return each.model
    raise NotFound(f"The model '{name}' does not exist")


def one(context: Context, ident: str) -> OfferedModel:
    for each in listing(context):
        if str(each.model) == ident:
            return each
    raise NotFound(f"The model '{ident}' does not exist")


def document(of: OfferedModel) -> dict[str, Any]:
    return {"id": str(of.model), "object": "model", "created": int(of.created), "owned_by": of.model.provider}
