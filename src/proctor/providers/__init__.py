"""How a model is asked. One file per wire protocol; one line per provider in the table below."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import cast

from proctor.errors import ConfigError
from proctor.providers.contract import Opening, Provider
from proctor.providers.modes import check_mode
from proctor.types import ListedModel, Model, Sampling


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a provider's code is. Named by text, so that only what a run uses is imported."""

    title: str
    module: str
    opener: str
    lister: str | None


PROVIDERS: dict[str, Entry] = {
    "ollama": Entry("Ollama, native protocol (OLLAMA_HOST)", "ollama", "open_ollama", "list_ollama"),
    "openai": Entry(
        "OpenAI and compatible servers (OPENAI_BASE_URL, --base-url)", "openai", "open_openai", "list_openai"
    ),
    "gemini": Entry(
        "Google Gemini (GOOGLE_API_KEY or GEMINI_API_KEY)", "gemini", "open_gemini", "list_gemini"
    ),
    "grok": Entry("xAI Grok (GROK_API_KEY or XAI_API_KEY)", "grok", "open_grok", "list_grok"),
    "anthropic": Entry("Anthropic (ANTHROPIC_API_KEY)", "anthropic", "open_anthropic", "list_anthropic"),
    "baseline": Entry(
        "answers without a model: majority, random", "baseline", "open_baseline", "list_baselines"
    ),
    "replay": Entry("replies made elsewhere (--replies FILE)", "replay", "open_replay", "list_replay"),
    "simulator": Entry("proctor's own model server, started for the run", "openai", "open_simulator", None),
}


def open_provider(model: Model, sampling: Sampling, opening: Opening) -> Provider:
    """Raises: ConfigError for an unknown provider or a mode it lacks, ModelNotFound for an unknown built-in model."""
    entry(model.provider)
    check_mode(model, sampling)
    opener = _load(model.provider, entry(model.provider).opener)
    return cast(Callable[[Model, Sampling, Opening], Provider], opener)(model, sampling, opening)


async def list_models(provider: str, opening: Opening) -> list[ListedModel]:
    """What the provider offers now. Raises: ConfigError, EndpointNotFound, AuthError."""
    lister = entry(provider).lister
    if lister is None:
        return []
    return await cast(Callable[[Opening], Awaitable[list[ListedModel]]], _load(provider, lister))(opening)


def entry(provider: str) -> Entry:
    if provider not in PROVIDERS:
        raise ConfigError(f"No provider {provider!r}. Known: {', '.join(PROVIDERS)}")
    return PROVIDERS[provider]


def _load(provider: str, name: str) -> object:
    return getattr(import_module(f"proctor.providers.{PROVIDERS[provider].module}"), name)
