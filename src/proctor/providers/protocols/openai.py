"""OpenAI and every server that speaks its chat completions: vLLM, llama.cpp, LM Studio, gateways, and xAI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from proctor.errors import ProviderError
from proctor.offered import ListedModel, Server
from proctor.providers.contract import Opening, Pacing
from proctor.providers.modes import TOP_TOKENS, answer_schema, need_ranking, ranking
from proctor.providers.protocols.completions import Bill, completion
from proctor.providers.protocols.dialects import ELSEWHERE, OPENAI, SIMULATOR, Dialect, pacing_of
from proctor.providers.protocols.first_question import first_question
from proctor.providers.protocols.listing import ServerListing, authorization, list_rows, listing
from proctor.providers.protocols.parameters import Parameters, within
from proctor.providers.protocols.preflight import need_key, unlisted
from proctor.providers.protocols.servers import identified
from proctor.providers.protocols.spellings import OFFICIAL, UNKNOWN, Spelling, spelling_of
from proctor.providers.wire.http import Http, HttpResponse
from proctor.providers.wire.refusals import Place, refusal
from proctor.providers.wire.wire_types import JsonTable, told_usage
from proctor.types import Item, Model, Reply, Sampling

_OPTIONAL = (
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "repetition_penalty",
    "repeat_penalty",
    "repeat_last_n",
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
        self._sampling = sampling
        self._mode = sampling.mode
        self._http = opening.http
        self._bill = Bill(dialect, opening.prices.of(model))
        self._place = place
        self._key = key
        self._dialect = dialect
        self._url = f"{place.address}/chat/completions"
        self._headers = {"Content-Type": "application/json", **authorization(key)}
        self.unsent: frozenset[str] = frozenset()
        self.address = place.address
        self.pacing: Pacing | None = dialect.pacing if place.address == dialect.official else ELSEWHERE
        self._spell(dialect.spelling or UNKNOWN)

    @property
    def adjustments(self) -> list[str]:
        return self._parameters.adjustments

    async def check(self) -> ListedModel:
        """The model as the server lists it, else as it answers a first question. What answers decides the spelling.

        Raises: ModelNotFound, EndpointNotFound, AuthError, and what the first question was refused with.
        """
        official = self.address == self._dialect.official
        need_key(self._key, self._place, self._dialect.official)
        listed = await listing(self._http, self._place, self._key, self._dialect)
        row = listed.row(self._model.name)
        remarks: tuple[str, ...] = ()
        # Fine-tuned and preview models are not always in a vendor's list.
        if row is None and not official:
            remarks = (await first_question(self._http, self._place, authorization(self._key), listed),)
        if row is not None:
            self._bill = replace(self._bill, price=self._bill.price or row.price)
        server = await server_of(self._http, self._place, self._key, self._dialect, listed)
        if not official:
            self.pacing = pacing_of(server)
        spelling = self._dialect.spelling or (OFFICIAL if official else spelling_of(server))
        self._spell(spelling)
        return replace(
            row.model if row else ListedModel(self._model),
            model=self._model,
            server=server,
            remarks=(*remarks, *spelling.remarks(self._sampling, server)),
        )

    def _spell(self, spelling: Spelling) -> None:
        """Have requests say the settings in the words of whoever answers."""
        think = self._sampling.think
        self._parameters = _parameters(self._sampling, self._dialect, self._place, spelling)
        self.unsent = spelling.unsent(self._sampling)
        if think is not None and think in spelling.notes:
            self._parameters.adjustments.append(spelling.notes[think])

    async def warm(self) -> None:
        """Nothing to load."""

    async def __call__(self, item: Item, repeat: int) -> Reply:
        while True:
            sent = self._parameters.fields
            answer = await self._http.post(self._url, self._headers, self._body(item, repeat, sent))
            if answer.status == 200:
                try:
                    return self._reply(answer)
                except ProviderError as error:
                    error.usage = told_usage(answer, self._bill.used)
                    raise
            if answer.status not in (400, 422) or not self._parameters.adapt(answer.body, sent):
                raise refusal(answer, self._place)

    def _body(self, item: Item, repeat: int, parameters: Mapping[str, Any]) -> bytes:
        messages = [{"role": m.role, "content": m.content} for m in item.ask.messages]
        body = {"model": self._model.name, "messages": messages, **within(parameters, item)}
        if repeat and "seed" in body:
            body["seed"] += repeat
        if self._mode == "structured":
            schema = {**answer_schema(item.options), "additionalProperties": False}
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": schema},
            }
        return orjson.dumps(body)

    def _reply(self, answer: HttpResponse) -> Reply:
        reply, record = completion(answer, self._place, self._bill)
        return self._ranked(reply, record.tables("choices")[0]) if self._mode == "logprob" else reply

    def _ranked(self, reply: Reply, choice: JsonTable) -> Reply:
        """The reply with its first token ranked. It was cut after that token by design: no word about length."""
        tokens = choice.table("logprobs").tables("content")[:1]
        first = ranking(row for token in tokens for row in token.tables("top_logprobs")) or ranking(tokens)
        if reply.finish != "refused":
            need_ranking(first, f"{self._place.provider} at {self.address}")
            reply = replace(reply, finish="stop")
        return replace(reply, first_token=first)


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
    need_key(settings.openai_api_key, place, OPENAI.official)
    return await served_models(opening, place, settings.openai_api_key, OPENAI)


async def served_models(
    opening: Opening, place: Place, key: str | None, dialect: Dialect
) -> list[ListedModel]:
    """What a server lists, with the program that it is. Raises what keeps it from listing."""
    try:
        found = await list_rows(opening.http, place, key, dialect)
    except ProviderError as error:
        unlisted(error)
        raise type(error)(
            f"{str(error).rstrip('.')}. A model that answers there can be run by its name all the same",
            status=error.status,
        ) from error
    server = await server_of(opening.http, place, key, dialect, found)
    return [replace(row.model, server=server) for row in found.rows]


async def server_of(
    http: Http, place: Place, key: str | None, dialect: Dialect, found: ServerListing
) -> Server | None:
    """The program behind a list; None for a vendor's own address, and where the dialect settles what is sent."""
    if place.address == dialect.official or dialect.spelling is not None:
        return None
    return await identified(http, place, authorization(key), found.owners, found.software)


def place_of(dialect: Dialect, provider: str, address: str, model: str) -> Place:
    return Place(provider, address, model, dialect.key_variable, dialect.address_variable)


def _parameters(sampling: Sampling, dialect: Dialect, place: Place, spelling: Spelling) -> Parameters:
    """The request's fields beside model and messages."""
    said = {theirs: getattr(sampling, ours) for ours, theirs in spelling.names.items()}
    fields: dict[str, Any] = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in said.items()
        if value not in (None, ())
    }
    think = sampling.think
    if sampling.mode == "logprob":
        fields |= {"logprobs": True, "top_logprobs": TOP_TOKENS, "max_tokens": 1}
        # The vendor's own models that rank tokens do not think; elsewhere a template may have to be told.
        think = None if place.address == dialect.official else False
    if think is not None:
        fields |= spelling.thinking[think]
    limit = fields.get("max_tokens")
    # Newer models of OpenAI's know the limit by another name only.
    instead: dict[str, Mapping[str, Any]] = (
        {} if limit is None else {"max_tokens": {"max_completion_tokens": limit}}
    )
    needed = {name: mode for name, mode in _NEEDED.items() if mode == sampling.mode}
    return Parameters(fields, place, _OPTIONAL, instead, needed)
