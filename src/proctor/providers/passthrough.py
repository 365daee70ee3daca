"""Requests sent as their users wrote them, to the endpoint that a provider has in OpenAI's shapes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import orjson

from proctor.errors import ConfigError
from proctor.offered import ListedModel
from proctor.providers import entry
from proctor.providers.contract import ALL_SAMPLING, Opening, Pacing
from proctor.providers.protocols.dialects import ELSEWHERE, GROK, OPENAI, SIMULATOR, Dialect
from proctor.providers.protocols.openai import OpenAI, place_of
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import refusal
from proctor.settings import Settings
from proctor.types import Item, Model, Reply, Request, Sampling

VERSION = "/v1"  # the beginning of every endpoint's path


@dataclass(frozen=True, slots=True)
class Door:
    """Where a provider speaks OpenAI's shapes: a field of Settings, and what its address lacks."""

    setting: str | None
    beyond: str = ""
    dialect: Dialect = OPENAI


DOORS: Mapping[str, Door] = {
    "openai": Door("openai_base_url"),
    "ollama": Door("ollama_host", "/v1"),
    "gemini": Door("gemini_base_url", "/v1beta/openai"),
    "grok": Door("grok_base_url", dialect=GROK),
    "anthropic": Door("anthropic_base_url", "/v1"),
    "simulator": Door(None, dialect=SIMULATOR),
}


def address_of(model: Model, settings: Settings) -> str:
    """Where requests for a model go. Raises: ConfigError for a provider that answers no requests of this shape."""
    door = DOORS.get(model.provider)
    if door is None:
        raise ConfigError(f"{model}: {model.provider} answers exams alone, no requests of one's own")
    address = model.base_url or (getattr(settings, door.setting) if door.setting else "")
    return address if address.endswith(door.beyond) else address + door.beyond


class Passthrough:
    """A model behind requests of its users. Made by `open_passthrough`."""

    unsent = ALL_SAMPLING  # what is drawn how stands in each request

    def __init__(self, model: Model, opening: Opening, *, stream: bool = False) -> None:
        door = DOORS[model.provider]
        key_name = entry(model.provider).key
        key = getattr(opening.settings, key_name) if key_name else None
        self._place = place_of(door.dialect, model.provider, address_of(model, opening.settings), model.name)
        self._listing = OpenAI(model, Sampling(), opening, self._place, key, door.dialect)
        self._http = opening.http
        self._headers = {"Content-Type": "application/json"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._name = model.name
        self._stream = stream
        self.address = self._place.address
        self.pacing: Pacing | None = ELSEWHERE
        self.adjustments: Sequence[str] = ()

    async def check(self) -> ListedModel:
        listed = await self._listing.check()
        self.pacing = self._listing.pacing
        return listed

    async def warm(self) -> None:
        """Nothing to load."""

    async def __call__(self, item: Item, repeat: int) -> Reply:
        assert isinstance(item.ask, Request)
        body = orjson.dumps({**orjson.loads(item.ask.body), "model": self._name})
        url = self.address + item.ask.url.removeprefix(VERSION)
        answer = await self._http.post(url, self._headers, body)
        if answer.status != 200:
            error = refusal(answer, self._place)
            error.raw = answer.body
            raise error
        return self._reply(answer)

    def _reply(self, answer: HttpResponse) -> Reply:
        reply = self._listing._reply(answer)
        return replace(reply, request_id=answer.headers.get("x-request-id"))


def open_passthrough(model: Model, opening: Opening, *, stream: bool = False) -> Passthrough:
    """Raises: ConfigError."""
    address_of(model, opening.settings)
    return Passthrough(model, opening, stream=stream)
