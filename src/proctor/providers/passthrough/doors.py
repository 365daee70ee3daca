"""Where each provider speaks OpenAI's shapes, whatever its own protocol is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from proctor.errors import ConfigError
from proctor.providers.protocols.dialects import GROK, OPENAI, SIMULATOR, Dialect
from proctor.settings import Settings
from proctor.types import Model

VERSION = "/v1"  # the beginning of every endpoint's path


@dataclass(frozen=True, slots=True)
class Door:
    """The field of Settings that holds the provider's address, its variable, and what the address lacks.

    None: the model's own tells it. `bare`: it lacks that only where it has no path of its own.
    """

    setting: str | None
    variable: str | None = None
    beyond: str = ""
    bare: bool = False
    dialect: Dialect = OPENAI


DOORS: Mapping[str, Door] = {
    "openai": Door("openai_base_url", "OPENAI_BASE_URL", VERSION, bare=True),
    "ollama": Door("ollama_host", "OLLAMA_HOST", VERSION),
    "gemini": Door("gemini_base_url", "GEMINI_BASE_URL", "/v1beta/openai"),
    "grok": Door("grok_base_url", "XAI_BASE_URL", VERSION, bare=True, dialect=GROK),
    "anthropic": Door("anthropic_base_url", "ANTHROPIC_BASE_URL", VERSION),
    "simulator": Door(None, dialect=SIMULATOR),
    "serve": Door(None),
}


def door_of(model: Model) -> Door:
    """Raises: ConfigError for a provider that answers exams alone."""
    door = DOORS.get(model.provider)
    if door is None:
        raise ConfigError(
            f"{model}: {model.provider} answers exams alone, no requests of one's own. Name a model of "
            f"{', '.join(DOORS)}; simulator/sim is there without a key"
        )
    return door


def address_of(model: Model, settings: Settings) -> str:
    """Where requests for a model go: what an endpoint's path without /v1 is put behind. Raises: ConfigError."""
    door = door_of(model)
    address = model.base_url or (getattr(settings, door.setting) if door.setting else "")
    address = address.rstrip("/")
    whole = address.endswith(door.beyond) or (door.bare and urlsplit(address).path)
    return address if whole else address + door.beyond


def native_of(model: Model, settings: Settings) -> Model:
    """The same model at the same server, as the provider's own protocol names it."""
    door, address = door_of(model), address_of(model, settings)
    return replace(model, base_url=address if door.bare else address.removesuffix(door.beyond))


def url_of(address: str, path: str) -> str:
    """Where an endpoint is.

    >>> url_of("http://127.0.0.1:8000/v1", "/v1/embeddings"), url_of("http://127.0.0.1:8000", "/chat/completions")
    ('http://127.0.0.1:8000/v1/embeddings', 'http://127.0.0.1:8000/chat/completions')
    """
    return address + path.removeprefix(VERSION)
