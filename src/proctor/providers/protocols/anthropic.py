"""Anthropic's messages protocol: the system prompt apart, a token limit always, a budget of its own for thinking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import orjson

from proctor.errors import ModelNotFound, ProviderError
from proctor.offered import ListedModel
from proctor.providers.contract import Opening, Pacing
from proctor.providers.protocols.parameters import Parameters, within
from proctor.providers.protocols.preflight import look, need_key, need_rows, undescribed
from proctor.providers.protocols.thoughts import ANTHROPIC_BUDGET, ANTHROPIC_EFFORT, ANTHROPIC_HINT
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply, refusal
from proctor.providers.wire.wire_types import JsonTable, table_of, told_usage
from proctor.types import Item, Model, Reply, Sampling, Usage

OFFICIAL = "https://api.anthropic.com"
KEY_VARIABLE = "ANTHROPIC_API_KEY"
ADDRESS_VARIABLE = "ANTHROPIC_BASE_URL"
VERSION = "2023-06-01"
# The protocol wants a limit in every request; this one stands where the user set none.
USUAL_TOKENS = 4096

_FINISH = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refused",
}
# In the order of dropping: of temperature and top_p, which newer models do not take together, top_p goes.
_OPTIONAL = ("top_p", "top_k", "temperature", "stop_sequences", "thinking", "output_config")
_INPUT = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class Anthropic:
    """One model behind /v1/messages. Made by `open_anthropic`."""

    def __init__(
        self, model: Model, sampling: Sampling, opening: Opening, place: Place, key: str | None
    ) -> None:
        self._model = model
        self._http = opening.http
        self._price = opening.prices.of(model)
        self._place = place
        self._key = key
        self._url = f"{place.address}/v1/messages"
        self._headers = {"Content-Type": "application/json", **_authorization(key)}
        self._parameters = _parameters(sampling, place)
        self.unsent: frozenset[str] = _unsent(sampling)
        self.address = place.address
        self.pacing: Pacing | None = Pacing(start=4, most=128)

    @property
    def adjustments(self) -> list[str]:
        return self._parameters.adjustments

    async def check(self) -> ListedModel:
        """The model by its name; the server knows aliases that its list does not hold."""
        need_key(self._key, self._place, OFFICIAL)
        url = f"{self.address}/v1/models/{quote(self._model.name, safe='')}"
        try:
            row = await look(self._http, url, _authorization(self._key), self._place, "model")
        except ModelNotFound:
            raise
        except ProviderError as error:
            return undescribed(self._model, error)
        return replace(_described(row, self._model.name), model=self._model)

    async def warm(self) -> None:
        """Nothing to load."""

    async def __call__(self, item: Item, repeat: int) -> Reply:
        while True:
            sent = self._parameters.fields
            answer = await self._http.post(self._url, self._headers, self._body(item, sent))
            if answer.status == 200:
                try:
                    return self._reply(answer)
                except ProviderError as error:
                    error.usage = told_usage(answer, self._used)
                    raise
            if answer.status != 400 or not self._parameters.adapt(answer.body, sent):
                raise refusal(answer, self._place)

    def _body(self, item: Item, parameters: Mapping[str, Any]) -> bytes:
        # What a model may think with must be less than all that it may write.
        budget = parameters.get("thinking", {}).get("budget_tokens", 0)
        system = "\n\n".join(m.content for m in item.ask.messages if m.role == "system")
        body: dict[str, Any] = {
            "model": self._model.name,
            "messages": [
                {"role": m.role, "content": m.content} for m in item.ask.messages if m.role != "system"
            ],
            **within(parameters, item, least=budget + 1),
        }
        if system:
            body["system"] = system
        return orjson.dumps(body)

    def _reply(self, answer: HttpResponse) -> Reply:
        record = table_of(answer, self._place, "content")
        if record.text("type") == "error":
            raise refusal(replace(answer, status=500), self._place)
        if record.fields.get("content") is None:
            raise bad_reply(answer, self._place, "content")
        blocks = record.tables("content")
        usage = record.table("usage")
        sent, received = usage.sum(*map(usage.count, _INPUT)), usage.count("output_tokens")
        return Reply(
            text=_joined(blocks, "text", "text"),
            reasoning=_joined(blocks, "thinking", "thinking") or None,
            finish=_FINISH.get(record.text("stop_reason") or "", "stop"),
            input_tokens=sent,
            output_tokens=received,
            latency_s=answer.elapsed_s,
            cost_usd=self._price.cost_usd(sent, received) if self._price else None,
            raw=answer.body,
        )

    def _used(self, record: JsonTable) -> Usage:
        usage = record.table("usage")
        sent, received = usage.sum(*map(usage.count, _INPUT)), usage.count("output_tokens")
        return Usage(sent, received, self._price.cost_usd(sent, received) if self._price else None)


def open_anthropic(model: Model, sampling: Sampling, opening: Opening) -> Anthropic:
    place = _place(model.base_url or opening.settings.anthropic_base_url, model.name)
    return Anthropic(model, sampling, opening, place, opening.settings.anthropic_api_key)


async def list_anthropic(opening: Opening) -> list[ListedModel]:
    """Raises: EndpointNotFound, AuthError, NetworkError."""
    key = opening.settings.anthropic_api_key
    place = _place(opening.settings.anthropic_base_url, "")
    need_key(key, place, OFFICIAL)
    url = f"{place.address}/v1/models?limit=1000"
    record = await look(opening.http, url, _authorization(key), place, "list of models")
    return [_listed(row) for row in need_rows(record, "data")]


def _place(address: str, model: str) -> Place:
    return Place("anthropic", address.removesuffix("/v1"), model, KEY_VARIABLE, ADDRESS_VARIABLE)


def _authorization(key: str | None) -> dict[str, str]:
    return {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}


def _listed(row: JsonTable) -> ListedModel:
    return _described(row, row.needed("id"))


def _described(row: JsonTable, name: str) -> ListedModel:
    return ListedModel(
        Model("anthropic", name),
        context_tokens=row.told(row.count, "max_input_tokens"),
        note=row.told(row.text, "display_name"),
    )


def _parameters(sampling: Sampling, place: Place) -> Parameters:
    unsent = _unsent(sampling)
    fields: dict[str, Any] = {
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "temperature": sampling.temperature,
        "stop_sequences": list(sampling.stop) or None,
    }
    fields = {name: value for name, value in fields.items() if value is not None and name not in unsent}
    tokens = sampling.max_tokens or USUAL_TOKENS
    notes = [] if sampling.max_tokens else [f"max_tokens sent as {USUAL_TOKENS}: the protocol wants a limit"]
    instead: dict[str, Mapping[str, Any]] = {}
    if sampling.think:
        budget = ANTHROPIC_BUDGET[sampling.think]
        tokens += budget
        notes.append(f"max_tokens sent as {tokens}: {budget} of them to think with")
        fields["thinking"] = {"type": "enabled", "budget_tokens": budget}
        instead["thinking"] = _adaptive(sampling)
    elif sampling.think is False:
        fields["thinking"] = {"type": "disabled"}
    fields["max_tokens"] = tokens
    return Parameters(
        fields, place, _OPTIONAL, instead, hints={"thinking": ANTHROPIC_HINT}, adjustments=notes
    )


def _adaptive(sampling: Sampling) -> dict[str, Any]:
    effort = ANTHROPIC_EFFORT.get(sampling.think or True)
    thinking = {"thinking": {"type": "adaptive"}}
    return {**thinking, "output_config": {"effort": effort}} if effort else thinking


def _unsent(sampling: Sampling) -> frozenset[str]:
    """Fields without a word in this protocol; a model that thinks takes no say in its sampling either."""
    unsent = {"seed", "context_tokens", "min_p", "repeat_penalty", "repeat_last_n"}
    return frozenset(unsent | ({"temperature", "top_p", "top_k"} if sampling.think else set()))


def _joined(blocks: Sequence[JsonTable], kind: str, field: str) -> str:
    return "".join(block.text(field) or "" for block in blocks if block.text("type") == kind)
