"""OpenAI and every server that speaks its chat completions: vLLM, llama.cpp, LM Studio, gateways, and xAI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from proctor.errors import BadRequest, EndpointNotFound, ModelNotFound, ProviderError
from proctor.providers.contract import Opening, Pacing
from proctor.providers.dialects import ELSEWHERE, OPENAI, SIMULATOR, Dialect
from proctor.providers.http import Answer
from proctor.providers.listing import Row, authorization, list_rows
from proctor.providers.looking import need_key
from proctor.providers.modes import TOP_TOKENS, answer_schema, need_ranking, ranking
from proctor.providers.parameters import Parameters
from proctor.providers.refusals import Place, bad_reply, refusal
from proctor.providers.wire_types import Table, table_of
from proctor.types import Item, ListedModel, Model, Reply, Sampling

OFFICIAL = OPENAI.official
USD_PER_TICK = 1e-10  # xAI's own unit of cost

_FINISH = {"length": "length", "content_filter": "refused"}
_OPTIONAL = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "seed",
    "stop",
    "reasoning_effort",
    "chat_template_kwargs",
    "max_completion_tokens",
)
_NEEDED = {"response_format": "structured", "logprobs": "logprob", "top_logprobs": "logprob"}


class OpenAI:
    """One model behind chat completions. Made by `open_openai` and its like."""

    def __init__(
        self,
        model: Model,
        sampling: Sampling,
        opening: Opening,
        place: Place,
        key: str | None,
        dialect: Dialect = OPENAI,
    ) -> None:
        self._model = model
        self._mode = sampling.mode
        self._http = opening.http
        self._price = opening.prices.of(model)
        self._place = place
        self._key = key
        self._dialect = dialect
        self._url = f"{place.address}/chat/completions"
        self._headers = {"Content-Type": "application/json", **authorization(key)}
        self._parameters = _parameters(sampling, dialect, place)
        self.unsent: frozenset[str] = _unsent(sampling, dialect)
        self.address = place.address
        self.pacing: Pacing | None = dialect.pacing if place.address == dialect.official else ELSEWHERE
        if sampling.think is not None and sampling.think in dialect.notes:
            self._parameters.adjustments.append(dialect.notes[sampling.think])

    @property
    def adjustments(self) -> list[str]:
        return self._parameters.adjustments

    async def check(self) -> ListedModel:
        official = self.address == self._dialect.official
        need_key(self._key, self._place, self._dialect.official)
        listed = await self._listed()
        mine = ListedModel(self._model)
        if listed is None:
            return mine
        for row in listed:
            if self._model.name in row.names:
                self._price = self._price or row.price
                return replace(row.model, model=self._model)
        if official:
            return mine  # fine-tuned and preview models are not always listed
        names = ", ".join(row.model.model.name for row in listed[:8]) or "none"
        raise ModelNotFound(
            f"{self._place.provider} at {self.address} does not offer the model "
            f"{self._model.name!r}. It lists: {names}"
        )

    async def warm(self) -> None:
        """Nothing to load."""

    async def _listed(self) -> list[Row] | None:
        """None if the server cannot list its models."""
        try:
            return await list_rows(self._http, self._place, self._key, self._dialect)
        except (EndpointNotFound, BadRequest) as error:
            if error.status is None:
                raise
            return None

    async def __call__(self, item: Item, repeat: int) -> Reply:
        while True:
            sent = self._parameters.fields
            answer = await self._http.post(self._url, self._headers, self._body(item, repeat, sent))
            if answer.status == 200:
                return self._reply(answer)
            if answer.status not in (400, 422) or not self._parameters.adapt(answer.body, sent):
                raise refusal(answer, self._place)

    def _body(self, item: Item, repeat: int, parameters: Mapping[str, Any]) -> bytes:
        messages = [{"role": m.role, "content": m.content} for m in item.prompt]
        body = {"model": self._model.name, "messages": messages, **parameters}
        if repeat and "seed" in body:
            body["seed"] += repeat
        if self._mode == "structured":
            schema = {**answer_schema(item.options), "additionalProperties": False}
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        return orjson.dumps(body)

    def _reply(self, answer: Answer) -> Reply:
        record = table_of(answer, self._place, "choices[0].message")
        choice = next(iter(record.tables("choices")), None)
        if choice is None or choice.fields.get("message") is None:
            raise self._shapeless(answer, record, choice)
        message = choice.table("message")
        refused = message.text("refusal")
        finish = _FINISH.get(choice.text("finish_reason") or "", "stop")
        usage = record.table("usage")
        received, reasoning_tokens = self._output(usage)
        reply = Reply(
            text=_text(message) or refused or "",
            reasoning=message.text("reasoning_content") or message.text("reasoning"),
            finish="refused" if refused else finish,
            input_tokens=usage.count("prompt_tokens"),
            output_tokens=received,
            reasoning_tokens=reasoning_tokens,
            latency_s=answer.elapsed_s,
            cost_usd=self._cost_usd(usage, received),
            raw=answer.body,
        )
        return self._ranked(reply, choice) if self._mode == "logprob" else reply

    def _output(self, usage: Table) -> tuple[int | None, int | None]:
        """(output tokens with the reasoning, reasoning tokens)."""
        received, whole = usage.count("completion_tokens"), usage.count("total_tokens")
        thought = usage.table("completion_tokens_details").count("reasoning_tokens")
        if self._dialect.reasoning_inside or received is None or not thought:
            return received, thought
        # A gateway before xAI may have added them already; then the total shows it.
        inside = whole == (usage.count("prompt_tokens") or 0) + received
        return (received if inside else usage.sum(received, thought)), thought

    def _cost_usd(self, usage: Table, received: int | None) -> float | None:
        """What the server says it charged, else the price table's word."""
        ticks, cost = usage.amount("cost_in_usd_ticks"), usage.amount("cost")
        if ticks is not None:
            return ticks * USD_PER_TICK
        if cost is None and self._price:
            return self._price.cost_usd(usage.count("prompt_tokens"), received)
        return cost

    def _ranked(self, reply: Reply, choice: Table) -> Reply:
        """The reply with its first token ranked. It was cut after that token by design: no word about length."""
        tokens = choice.table("logprobs").tables("content")[:1]
        first = ranking(row for token in tokens for row in token.tables("top_logprobs")) or ranking(tokens)
        if reply.finish != "refused":
            need_ranking(first, f"{self._place.provider} at {self.address}")
            reply = replace(reply, finish="stop")
        return replace(reply, first_token=first)

    def _shapeless(self, answer: Answer, record: Table, choice: Table | None) -> ProviderError:
        """Gateways send an error in place of the choices, or inside the only one."""
        places = (record,) if choice is None else (record, choice)
        if any(place.fields.get("error") is not None for place in places):
            return refusal(replace(answer, status=500), self._place)
        return bad_reply(answer, self._place, "choices[0].message")


def open_openai(model: Model, sampling: Sampling, opening: Opening) -> OpenAI:
    settings = opening.settings
    address = model.base_url or settings.openai_base_url
    place = place_of(OPENAI, "openai", address, model.name)
    return OpenAI(model, sampling, opening, place, settings.openai_api_key)


def open_simulator(model: Model, sampling: Sampling, opening: Opening) -> OpenAI:
    """proctor's own simulator, started for the run; its address stands in `base_url`. It gets no key."""
    place = Place("simulator", model.base_url or "", model.name)
    return OpenAI(model, sampling, opening, place, None, SIMULATOR)


async def list_openai(opening: Opening) -> list[ListedModel]:
    """Raises: EndpointNotFound, AuthError, NetworkError."""
    settings = opening.settings
    place = place_of(OPENAI, "openai", settings.openai_base_url, "")
    need_key(settings.openai_api_key, place, OFFICIAL)
    return [row.model for row in await list_rows(opening.http, place, settings.openai_api_key, OPENAI)]


def place_of(dialect: Dialect, provider: str, address: str, model: str) -> Place:
    return Place(provider, address, model, dialect.key_variable, dialect.address_variable)


def _parameters(sampling: Sampling, dialect: Dialect, place: Place) -> Parameters:
    """The request's fields beside model and messages."""
    fields: dict[str, Any] = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "repetition_penalty": sampling.repeat_penalty,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
    }
    fields = {k: v for k, v in fields.items() if v is not None and _ours(k) not in dialect.foreign}
    think = sampling.think
    if sampling.mode == "logprob":
        fields |= {"logprobs": True, "top_logprobs": TOP_TOKENS, "max_tokens": 1}
        # The vendor's own models that rank tokens do not think; elsewhere a template may have to be told.
        think = None if place.address == dialect.official else False
    if think is not None:
        fields |= dialect.thinking[think]
    limit = fields.get("max_tokens")
    # Newer models of OpenAI's know the limit by another name only.
    instead: dict[str, Mapping[str, Any]] = (
        {} if limit is None else {"max_tokens": {"max_completion_tokens": limit}}
    )
    needed = {name: mode for name, mode in _NEEDED.items() if mode == sampling.mode}
    return Parameters(fields, place, _OPTIONAL, instead, needed)


def _ours(name: str) -> str:
    return "repeat_penalty" if name == "repetition_penalty" else name


def _unsent(sampling: Sampling, dialect: Dialect) -> frozenset[str]:
    unsent = set(dialect.foreign)
    if sampling.think is not None and not dialect.thinking[sampling.think]:
        unsent.add("think")
    if sampling.mode == "logprob":
        unsent.add("max_tokens")
    return frozenset(unsent)


def _text(message: Table) -> str | None:
    """The text of a message whose content may be a list of parts."""
    if not isinstance(message.fields.get("content"), list):
        return message.text("content")
    return "".join(part.text("text") or "" for part in message.tables("content"))
