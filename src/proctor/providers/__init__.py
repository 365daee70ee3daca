"""How a model is asked. One file per wire protocol; one entry per provider in the table below."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast, get_args

from proctor.errors import ConfigError
from proctor.offered import ListedModel
from proctor.providers.contract import Opening, Provider
from proctor.providers.modes import check_mode
from proctor.types import Mode, Model, Sampling

EVERY_MODE: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Entry:
    """A provider, and where its code is: named by text, so that only what a run uses is imported.

    `brand` is its name in sentences. `key` is the field of Settings that holds its key, and `key_variables`
    says where that comes from; None where no key is needed. `modes` are those it offers; none where
    answers need no server, so that any will do.
    """

    title: str
    module: str
    opener: str
    lister: str | None
    brand: str
    key: str | None = None
    key_variables: str | None = None
    modes: tuple[Mode, ...] = EVERY_MODE


PROVIDERS: dict[str, Entry] = {
    "ollama": Entry(
        "Ollama, native protocol (OLLAMA_HOST)", "protocols.ollama", "open_ollama", "list_ollama", "Ollama"
    ),
    "openai": Entry(
        "OpenAI and compatible servers (OPENAI_BASE_URL, --base-url)",
        "protocols.openai",
        "open_openai",
        "list_openai",
        "OpenAI",
        key="openai_api_key",
        key_variables="OPENAI_API_KEY",
    ),
    "gemini": Entry(
        "Google Gemini (GOOGLE_API_KEY or GEMINI_API_KEY)",
        "protocols.gemini",
        "open_gemini",
        "list_gemini",
        "Gemini",
        key="gemini_api_key",
        key_variables="GOOGLE_API_KEY or GEMINI_API_KEY",
    ),
    "grok": Entry(
        "xAI Grok (GROK_API_KEY or XAI_API_KEY)",
        "protocols.grok",
        "open_grok",
        "list_grok",
        "Grok",
        key="grok_api_key",
        key_variables="GROK_API_KEY or XAI_API_KEY",
        modes=("generate", "structured"),
    ),
    "anthropic": Entry(
        "Anthropic (ANTHROPIC_API_KEY)",
        "protocols.anthropic",
        "open_anthropic",
        "list_anthropic",
        "Anthropic",
        key="anthropic_api_key",
        key_variables="ANTHROPIC_API_KEY",
        modes=("generate",),
    ),
    "baseline": Entry(
        "answers without a model: majority, random",
        "baseline",
        "open_baseline",
        "list_baselines",
        "baseline",
        modes=(),
    ),
    "replay": Entry(
        "replies made elsewhere (--replies FILE)", "replay", "open_replay", "list_replay", "replay", modes=()
    ),
    "simulator": Entry(
        "proctor's own model server, started for the run",
        "protocols.openai",
        "open_simulator",
        None,
        "simulator",
    ),
    "serve": Entry(
        "a server of one's own, started for the run (proctor.toml)",
        "served",
        "open_served",
        "list_served",
        "serve",
    ),
}
OFFERED: Mapping[Mode, tuple[str, ...]] = {
    mode: tuple(name for name, entry in PROVIDERS.items() if mode in entry.modes) for mode in EVERY_MODE
}


def open_provider(model: Model, sampling: Sampling, opening: Opening) -> Provider:
    """Raises: ConfigError for an unknown provider or a mode it lacks, ModelNotFound for an unknown built-in model."""
    if entry(model.provider).modes:
        check_mode(model, sampling, OFFERED)
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
