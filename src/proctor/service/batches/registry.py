"""The models that may be run: what is known of each, by providers, people and runs; and which one a name means."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace

import orjson

from proctor.errors import ConfigError, NotFound
from proctor.offered import ListedModel
from proctor.plan import need_name, parse_model
from proctor.providers import PROVIDERS
from proctor.service.context import Context
from proctor.service.opening.offers import Offer, chat_models, offers
from proctor.settings import Settings
from proctor.store.admin import registry
from proctor.store.admin.registry import ModelRow
from proctor.types import Model

LIST_S = 1.0  # what a provider that is away may cost
NO_PROMPTS = ("baseline", "replay")  # which answer items of exams, and no free prompts
BILLIONS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![a-zA-Z0-9])")
BITS = re.compile(r"(?:^|[^a-z])(?:i?q|int|fp|bf|f)_?(\d{1,2})", re.IGNORECASE)
FOUR_BITS = re.compile("awq|gptq", re.IGNORECASE)
FACTS = ("name", "parameters", "size_bytes", "memory_bytes", "context_tokens", "quantization", "note")


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that may be run. None is what nobody told.

    `memory_from` says where `memory_bytes` is from: "told" by a person; "weights" or "parameters", whose bytes are the
    least that serving it takes. `tokens_per_s` is of the output of the last batch that ended. `offered`: its provider
    lists it now.
    """

    model_id: str
    name: str
    provider: str
    parameters: str | None = None
    size_bytes: float | None = None
    memory_bytes: float | None = None
    memory_from: str | None = None
    context_tokens: int | None = None
    quantization: str | None = None
    tokens_per_s: float | None = None
    measured_at: float | None = None
    note: str | None = None
    edited: bool = False
    offered: bool = False


@dataclass(frozen=True, slots=True)
class SilentProvider:
    """A provider whose models are not known now, and why."""

    provider: str
    error: str
    detail: str


def offered(settings: Settings, providers: Sequence[str] = ()) -> list[Offer]:
    """What the providers that answer free prompts list now: all asked at once, for a second at most."""
    asked = providers or tuple([name for name in PROVIDERS if name not in NO_PROMPTS])
    return offers(settings, asked, within_s=LIST_S)


def models(context: Context) -> tuple[list[KnownModel], list[SilentProvider]]:
    """All models on record and on offer, by their ids; and the providers that do not tell theirs now."""
    offers = offered(context.settings)
    listed = {str(each.model): each for offer in offers for each in _answering(offer)}
    _keep(context, listed.values())
    speeds = _speeds(context)
    found = [_known(row, row.model_id in listed, speeds) for row in registry.rows(context.store)]
    away = [
        SilentProvider(each.provider, each.problem.slug, str(each.problem))
        for each in offers
        if each.problem is not None
    ]
    return found, away


def of_offer(context: Context, offer: Offer) -> dict[str, KnownModel]:
    """What is on record of the models that one provider lists now, by their ids."""
    answering = {str(each.model): each for each in _answering(offer)}
    _keep(context, answering.values())
    speeds = _speeds(context)
    rows = {row.model_id: row for row in registry.rows(context.store)}
    return {name: _known(rows[name], True, speeds) for name in answering if name in rows}


def _answering(offer: Offer) -> list[ListedModel]:
    prompts = set(chat_models(offer))
    return [each for each in offer.models if each.model in prompts]


def _keep(context: Context, listed: Iterable[ListedModel]) -> None:
    """What providers tell is kept, for when they are away. What is told already is not written again."""
    there = {row.model_id: row for row in registry.rows(context.store)}
    told = [_row_of(each) for each in listed]
    registry.listed(context.store, [row for row in told if not _same(there.get(row.model_id), row)])


def _same(there: ModelRow | None, told: ModelRow) -> bool:
    return there is not None and (there.edited or replace(there, updated_at=told.updated_at) == told)


def _row_of(listed: ListedModel) -> ModelRow:
    model = listed.model
    told = BILLIONS.search(model.name)
    return ModelRow(
        str(model),
        short_name(model),
        time.time(),
        parameters=listed.parameters or (f"{told[1]}B" if told else None),
        size_bytes=listed.size_bytes,
        context_tokens=listed.context_tokens,
        quantization=listed.quantization,
        note=listed.note,
    )


def short_name(model: Model) -> str:
    """A model's name without who made it.

    >>> short_name(Model("openai", "allenai/OLMo-2-1124-7B-Instruct"))
    'OLMo-2-1124-7B-Instruct'
    """
    return model.name.rpartition("/")[2] or model.name


def _known(row: ModelRow, is_offered: bool, speeds: dict[str, tuple[float, float]]) -> KnownModel:
    memory, source = _memory(row)
    tokens_per_s, measured_at = speeds.get(row.model_id, (row.tokens_per_s, row.measured_at))
    facts = {name: getattr(row, name) for name in FACTS if name != "memory_bytes"}
    return KnownModel(
        row.model_id,
        provider=row.model_id.partition("/")[0],
        memory_bytes=memory,
        memory_from=source,
        tokens_per_s=tokens_per_s,
        measured_at=measured_at,
        edited=row.edited,
        offered=is_offered,
        **facts,
    )


def _memory(row: ModelRow) -> tuple[float | None, str | None]:
    """What serving it takes, or at least: its weights, which must all be in memory; what is cached comes on top."""
    if row.memory_bytes is not None:
        return row.memory_bytes, "told"
    if row.size_bytes is not None:
        return row.size_bytes, "weights"
    told = BILLIONS.search(row.parameters or "")
    if told is None:
        return None, None
    return float(told[1]) * 1e9 * _bits(row.quantization or row.model_id) / 8, "parameters"


def _bits(text: str) -> int:
    """Of a weight, by the name of a quantisation; 16 where none is told.

    >>> [_bits(text) for text in ("Q4_K_M", "fp8", "x-7B-AWQ", "BF16", "")]
    [4, 8, 4, 16, 16]
    """
    found = BITS.search(text)
    bits = int(found[1]) if found else 4 if FOUR_BITS.search(text) else 16
    return bits if 1 <= bits <= 32 else 16


def _speeds(context: Context) -> dict[str, tuple[float, float]]:
    """Output tokens a second of each model's last batch that ended and counted them, and when that was."""
    found: dict[str, tuple[float, float]] = {}
    for run in registry.ended_batches(context.store):
        if run.model_id not in found:
            tokens = orjson.loads(run.summary)["profile"].get("output_tokens")
            if tokens:
                found[run.model_id] = tokens / run.elapsed_s, run.finished_at
    return found


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a person writes of a model; None leaves what is known already."""

    name: str | None = None
    parameters: str | None = None
    size_bytes: float | None = None
    memory_bytes: float | None = None
    context_tokens: int | None = None
    quantization: str | None = None
    note: str | None = None


def edit(context: Context, model_id: str, facts: ModelFacts) -> KnownModel:
    """Register a model, or correct what is known of it: from then on no list changes it. Raises: ConfigError."""
    model = parse_model(model_id, tuple(PROVIDERS))
    if model is None or str(model) != model_id:
        raise ConfigError(
            f"model_id {model_id[:80]!r}: write PROVIDER/NAME; providers: {', '.join(PROVIDERS)}"
        )
    told = {each.name: value for each in fields(facts) if (value := getattr(facts, each.name)) is not None}
    if facts.name is not None:
        need_name("name", facts.name)
    there = registry.row(context.store, model_id) or ModelRow(model_id, short_name(model), 0.0)
    row = replace(there, **told, updated_at=time.time(), edited=True)
    registry.put(context.store, row)
    return _known(row, False, _speeds(context))


def forget(context: Context, model_id: str) -> None:
    """Raises: NotFound. A model that its provider lists is there again with the next list."""
    if not registry.remove(context.store, model_id):
        raise NotFound(f"Model {model_id} is not on record")


def remember(context: Context, model: Model) -> None:
    """Have a row of a model that is run, whoever lists it or not."""
    if registry.row(context.store, str(model)) is None:
        registry.listed(context.store, [_row_of(ListedModel(model))])


def name_of(context: Context, model: Model) -> str:
    """As people call it."""
    row = registry.row(context.store, str(model))
    return short_name(model) if row is None else row.name


def model_of(context: Context, asked: str) -> Model:
    """The model that an id or a name means: `provider/name`; or a name on record or on offer, whoever has it.

    Raises: NotFound; ConfigError where several are called so.
    """
    need_name("model_id", asked)
    found = _called(asked, registry.rows(context.store))
    if len(found) == 1:
        return found[0]
    if not found and (model := parse_model(asked, tuple(PROVIDERS))) is not None:
        return model
    known, away = models(context)
    now = _called(asked, [each for each in known if each.offered]) or found
    if len(now) == 1:
        return now[0]
    if now:
        raise ConfigError(
            f"Several models are called {asked!r}: {', '.join(map(str, now))}. Name one of them so"
        )
    silent = f" (no list from {', '.join(each.provider for each in away)})" if away else ""
    raise NotFound(
        f"Model {asked} is not on record, and no provider offers it{silent}; GET /admin/models lists them"
    )


def _called(asked: str, among: Sequence[ModelRow | KnownModel]) -> list[Model]:
    exact = [each.model_id for each in among if each.model_id == asked]
    called = [each.model_id for each in among if asked in (each.model_id.partition("/")[2], each.name)]
    return [Model(*each.split("/", 1)) for each in exact or called]
