"""What models there are, and how long a run on them would take."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import EndpointNotFound, ProctorError
from proctor.offered import ListedModel
from proctor.providers import PROVIDERS, entry, list_models, open_provider
from proctor.providers.contract import Opening
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.references import ExamRef
from proctor.settings import Settings
from proctor.sources.exams.source import open_suite
from proctor.types import Model, Sampling

PROBE_S = 30.0
UNSUITED = "embeddings only"  # a note of providers/protocols/ollama.py


@dataclass(frozen=True, slots=True)
class Offer:
    """What one provider offers, or why that is not known."""

    provider: str
    title: str
    models: tuple[ListedModel, ...] = ()
    problem: ProctorError | None = None


def offers(
    settings: Settings, providers: Sequence[str] = (), *, within_s: float | None = None
) -> list[Offer]:
    """What each provider lists, all asked at once; `within_s` is how long one that is away may take.

    Raises ConfigError for an unknown provider.
    """
    return asyncio.run(_offers(settings, providers or tuple(PROVIDERS), within_s))


async def _offers(settings: Settings, providers: Sequence[str], within_s: float | None) -> list[Offer]:
    http = Http(parallel=2 * len(providers), timeout_s=within_s or PROBE_S, secrets=settings.secrets)
    try:
        opening = Opening(settings, http, read_prices(settings.home))
        return list(await asyncio.gather(*(_offer(name, opening, within_s) for name in providers)))
    finally:
        await http.close()


async def _offer(provider: str, opening: Opening, within_s: float | None) -> Offer:
    title = entry(provider).title
    if provider == "simulator":
        from proctor.simulator import NAMED

        return Offer(provider, title, tuple(ListedModel(Model(provider, name)) for name in NAMED))
    try:
        async with asyncio.timeout(within_s):
            return Offer(provider, title, tuple(await list_models(provider, opening)))
    except TimeoutError:
        late = EndpointNotFound(f"{provider}: no list of models within {within_s:g} s")
        return Offer(provider, title, problem=late)
    except ProctorError as error:
        return Offer(provider, title, problem=error)


def chat_models(offer: Offer) -> list[Model]:
    """The models of an offer that can be asked questions."""
    return [m.model for m in offer.models if m.note != UNSUITED]


def priced(settings: Settings) -> dict[str, tuple[float, float]]:
    """`provider/name` -> US dollars for a million tokens in, and out, by the user's own table.

    Raises ConfigError naming what is wrong in that file.
    """
    return {name: (each.input, each.output) for name, each in read_prices(settings.home).table.items()}


@dataclass(frozen=True, slots=True)
class Probe:
    """How long one sample question took a model; None with a reason if it did not answer."""

    model: Model
    seconds: float | None
    problem: str | None = None


def probe(models: Sequence[Model], settings: Settings) -> list[Probe]:
    """Ask each model one sample question, after it is loaded; at most 30 s for each."""
    return asyncio.run(_probe_all(models, settings))


async def _probe_all(models: Sequence[Model], settings: Settings) -> list[Probe]:
    http = Http(parallel=4, timeout_s=PROBE_S, secrets=settings.secrets)
    try:
        return [await _probe(model, Opening(settings, http, read_prices(settings.home))) for model in models]
    finally:
        await http.close()


async def _probe(model: Model, opening: Opening) -> Probe:
    source = open_suite(ExamRef("suite", "superglue", rows="sample", limit=1), opening.settings.home)
    try:
        async with asyncio.timeout(PROBE_S):
            provider = open_provider(model, Sampling(), opening)
            await provider.warm()
            began = time.monotonic()
            await provider(next(iter(source.items())), 0)
            return Probe(model, time.monotonic() - began)
    except TimeoutError:
        return Probe(model, None, f"no answer to one question within {PROBE_S:.0f} s")
    except ProctorError as error:
        return Probe(model, None, str(error))
