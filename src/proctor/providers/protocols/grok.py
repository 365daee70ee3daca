"""xAI's Grok: the OpenAI protocol with token counts, costs and a list of prices of its own."""

from __future__ import annotations

from proctor.offered import ListedModel
from proctor.providers.contract import Opening
from proctor.providers.protocols.dialects import GROK
from proctor.providers.protocols.openai import OpenAI, place_of, served_models
from proctor.providers.protocols.preflight import need_key
from proctor.types import Model, Sampling


def open_grok(model: Model, sampling: Sampling, opening: Opening) -> OpenAI:
    settings = opening.settings
    place = place_of(GROK, "grok", model.base_url or settings.grok_base_url, model.name)
    return OpenAI(model, sampling, opening, place, settings.grok_api_key, GROK)


async def list_grok(opening: Opening) -> list[ListedModel]:
    """Raises: EndpointNotFound, AuthError, NetworkError."""
    settings = opening.settings
    place = place_of(GROK, "grok", settings.grok_base_url, "")
    need_key(settings.grok_api_key, place, GROK.official)
    return await served_models(opening, place, settings.grok_api_key, GROK)
