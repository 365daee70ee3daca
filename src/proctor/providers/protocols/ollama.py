"""Ollama's native protocol: every option is sent explicitly and nothing may be cut silently."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson

from proctor.errors import (
    BadReply,
    ContextOverflow,
    EndpointNotFound,
    ModelNotFound,
    NetworkError,
    ProviderError,
)
from proctor.offered import ListedModel
from proctor.providers.contract import Opening, Pacing
from proctor.providers.modes import TOP_TOKENS, answer_schema, need_ranking, ranking
from proctor.providers.protocols.ollama_context import loaded_context, own_context
from proctor.providers.protocols.parameters import within
from proctor.providers.protocols.preflight import need_rows, unlisted
from proctor.providers.protocols.server_clock import possible
from proctor.providers.wire.http import Http, HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply, refusal
from proctor.providers.wire.wire_types import NS, JsonTable, table_of, told_usage
from proctor.types import Item, Model, Reply, Sampling, Usage

LOOK_S = 10.0
FREE = -1  # no limit as `num_predict`, another seed each time as `seed`
MOST_NAMES = 8  # of the models that are there, in the error that one is not
EMBEDDINGS = "embeddings only"
_DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
_WORK = ("prompt_eval_duration", "eval_duration")  # one that is 0 is left out
_HEADERS = {"Content-Type": "application/json"}
# proctor's word -> Ollama's, for what stands under `options`.
_OPTIONS = (
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("min_p", "min_p"),
    ("repeat_penalty", "repeat_penalty"),
    ("repeat_last_n", "repeat_last_n"),
    ("seed", "seed"),
    ("max_tokens", "num_predict"),
    ("context_tokens", "num_ctx"),
)


class Ollama:
    """One model on an Ollama server. Made by `open_ollama`."""

    def __init__(self, model: Model, sampling: Sampling, opening: Opening, place: Place) -> None:
        self._model = model
        self._sampling = sampling
        self._http = opening.http
        self._price = opening.prices.of(model)
        self._place = place
        self._url = f"{place.address}/api/chat"
        self._options = _options(sampling)
        # What the prompt may fill: as asked for, or as the server has it.
        self._context: int | None = self._options.get("num_ctx")
        self.adjustments: list[str] = []
        self.unsent: frozenset[str] = frozenset({"max_tokens"} if sampling.mode == "logprob" else ())
        self.address = place.address
        # Ollama queues silently and by default works on one request at a time.
        self.pacing: Pacing | None = Pacing(start=1, most=32)

    async def check(self) -> ListedModel:
        try:
            listed = await _list(self._http, self._place)
        except ProviderError as error:
            problem = unlisted(error)
            await self.warm()  # loading it shows whether it is there
            remark = f"the server has no list of models (GET /api/tags {problem})"
            return ListedModel(self._model, remarks=(f"{remark}; it loaded {self._model.name} all the same",))
        found = next((m for m in listed if same_name(m.model.name, self._model.name)), None)
        if found is None:
            names = _alike_first([m.model.name for m in listed], self._model.name)
            raise ModelNotFound(
                f"Ollama at {self.address} has no model {self._model.name!r}; it has: {names}. "
                f"`ollama pull {self._model.name}` fetches it"
            )
        return await self._fitted(found)

    async def _fitted(self, found: ListedModel) -> ListedModel:
        """The model with its own context. More than that is never asked for: Ollama would cut it unsaid."""
        own = await own_context(self._http, self._place) or found.context_tokens
        asked = self._context
        if own is not None and asked is not None and asked > own:
            self._context = own
            self._options = {**self._options, "num_ctx": own}
            self.adjustments.append(f"context_tokens {asked} sent as {own}, the model's own maximum")
        return replace(found, context_tokens=own)

    async def warm(self) -> None:
        load = self._request([], self._options)
        answer = await self._http.post(self._url, _HEADERS, orjson.dumps(load))
        if answer.status != 200:
            raise refusal(answer, self._place)
        loaded = await loaded_context(self._http, self._place, self._is_ours)
        self._context = min(filter(None, (self._context, loaded)), default=None)

    def _is_ours(self, name: str) -> bool:
        return same_name(name, self._model.name)

    def _request(self, messages: list[dict[str, str]], options: dict[str, Any]) -> dict[str, Any]:
        """What loading and asking share: a model that was loaded with anything else would be loaded anew."""
        return {
            "model": self._model.name,
            "messages": messages,
            "stream": False,
            "options": options,
            # Without these two the server drops messages or cuts the middle of the prompt and says nothing.
            "truncate": False,
            "shift": False,
        }

    async def __call__(self, item: Item, repeat: int) -> Reply:
        answer = await self._http.post(self._url, _HEADERS, self._body(item, repeat))
        if answer.status != 200:
            raise refusal(answer, self._place)
        try:
            return self._reply(answer)
        except ProviderError as error:
            error.usage = told_usage(answer, self._used)
            raise

    def _body(self, item: Item, repeat: int) -> bytes:
        options = dict(within(self._options, item))
        if repeat and options["seed"] != FREE:
            options = {**options, "seed": options["seed"] + repeat}
        body = self._request([{"role": m.role, "content": m.content} for m in item.ask.messages], options)
        if self._sampling.think is not None:
            body["think"] = self._sampling.think
        if self._sampling.mode == "structured":
            body["format"] = answer_schema(item.options)
        elif self._sampling.mode == "logprob":
            body |= {"logprobs": True, "top_logprobs": TOP_TOKENS, "think": False}
        return orjson.dumps(body)

    def _reply(self, answer: HttpResponse) -> Reply:
        record = _table(answer, self._place)
        if record.fields.get("error") is not None:
            raise refusal(replace(answer, status=500), self._place)
        if record.fields.get("message") is None:
            raise bad_reply(answer, self._place, "message")
        message = record.table("message")
        sent, received = record.count("prompt_eval_count"), record.count("eval_count")
        # All of them, though one is used: a server that writes one as text counts as it likes elsewhere too.
        took = {name: record.seconds(name, unit_s=NS) for name in _DURATIONS}
        if sent is not None and self._context is not None and sent >= self._context:
            # A server too old to know `truncate` fills the whole context with what is left of the prompt.
            raise ContextOverflow(
                f"Ollama at {self.address}: the prompt filled the context of {self._context} tokens, so part "
                "of it was cut. Raise --context-tokens or update Ollama"
            )
        reply = Reply(
            text=message.text("content") or "",
            reasoning=message.text("thinking"),
            finish="length" if record.text("done_reason") == "length" else "stop",
            input_tokens=sent,
            output_tokens=received,
            latency_s=max(0.0, answer.elapsed_s - (took["load_duration"] or 0.0)),
            cost_usd=self._price.cost_usd(sent, received) if self._price else None,
            service_s=possible(sum(took[name] or 0.0 for name in _WORK), answer.elapsed_s),
            raw=answer.body,
        )
        return self._ranked(reply, record) if self._sampling.mode == "logprob" else reply

    def _used(self, record: JsonTable) -> Usage:
        sent, received = record.count("prompt_eval_count"), record.count("eval_count")
        return Usage(sent, received, self._price.cost_usd(sent, received) if self._price else None)

    def _ranked(self, reply: Reply, record: JsonTable) -> Reply:
        """The reply with its first token ranked; it was cut after that token by design."""
        tokens = record.tables("logprobs")[:1]
        first = ranking(row for token in tokens for row in token.tables("top_logprobs")) or ranking(tokens)
        need_ranking(first, f"Ollama at {self.address}")
        return replace(reply, finish="stop", first_token=first)


def open_ollama(model: Model, sampling: Sampling, opening: Opening) -> Ollama:
    address = (model.base_url or opening.settings.ollama_host).removesuffix("/v1")
    return Ollama(model, sampling, opening, Place("ollama", address, model.name, None, "OLLAMA_HOST"))


async def list_ollama(opening: Opening) -> list[ListedModel]:
    """Raises: EndpointNotFound when no Ollama answers at the address."""
    return await _list(opening.http, Place("ollama", opening.settings.ollama_host, "", None, "OLLAMA_HOST"))


def _alike_first(offered: Sequence[str], wanted: str) -> str:
    """Some names of many, and how many more there are; those that begin as the wanted one does come first."""
    stem = wanted.casefold().partition(":")[0]
    near = sorted(offered, key=lambda name: not name.casefold().startswith(stem))
    more = f" and {len(near) - MOST_NAMES} more" if len(near) > MOST_NAMES else ""
    return ", ".join(near[:MOST_NAMES]) + more or "none"


def same_name(first: str, second: str) -> bool:
    """Ollama's `a` is `a:latest`."""
    return _tagged(first) == _tagged(second)


def _tagged(name: str) -> str:
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


async def _list(http: Http, place: Place) -> list[ListedModel]:
    try:
        answer = await http.get(f"{place.address}/api/tags", {}, timeout_s=LOOK_S)
    except NetworkError as error:
        raise EndpointNotFound(
            f"{error}. Is Ollama running (`ollama serve`)? OLLAMA_HOST says where"
        ) from error
    if answer.status != 200:
        raise refusal(answer, place)
    record = table_of(answer, place, "list of models")
    return [_listed(row) for row in need_rows(record, "models")]


def _listed(row: JsonTable) -> ListedModel:
    details = row.told(row.table, "details") or JsonTable({}, "", row.where)
    return ListedModel(
        Model("ollama", row.needed("name")),
        digest=row.told(row.text, "digest"),
        parameters=details.told(details.text, "parameter_size"),
        quantization=details.told(details.text, "quantization_level"),
        size_bytes=row.told(row.size, "size"),
        context_tokens=details.told(details.count, "context_length"),
        note=_note(row, details),
    )


def _note(row: JsonTable, details: JsonTable) -> str | None:
    if row.told(row.text, "remote_host"):
        return "runs in Ollama's cloud"
    capabilities = row.told(row.texts, "capabilities") or ("completion",)
    # Servers that do not tell capabilities tell the family, and those of embedding models end so.
    if "completion" not in capabilities or (details.told(details.text, "family") or "").endswith("bert"):
        return EMBEDDINGS
    return None


def _table(answer: HttpResponse, place: Place) -> JsonTable:
    """The reply. A proxy that streams all the same may end its lines with an error."""
    try:
        return table_of(answer, place, "message")
    except BadReply:
        last = replace(answer, body=answer.body.rstrip().rpartition(b"\n")[2])
        with suppress(BadReply):
            if "error" in (record := table_of(last, place, "message")).fields:
                return record
        raise


def _options(sampling: Sampling) -> dict[str, Any]:
    options = {theirs: getattr(sampling, ours) for ours, theirs in _OPTIONS}
    # Left out, they would be those of the model's own Modelfile, which nobody chose here.
    options |= {name: FREE for name in ("seed", "num_predict") if options[name] is None}
    if sampling.mode == "logprob":
        options["num_predict"] = 1
    if sampling.stop:
        options["stop"] = list(sampling.stop)
    return {name: value for name, value in options.items() if value is not None}
