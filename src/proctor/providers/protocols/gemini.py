"""Google's Gemini over REST: generateContent, with thoughts counted as output and blocked prompts as refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import orjson

from proctor.errors import ModelNotFound, ProviderError
from proctor.offered import ListedModel
from proctor.providers.contract import Opening, Pacing
from proctor.providers.modes import ANSWER, TOP_TOKENS, need_ranking, ranking
from proctor.providers.protocols.parameters import Parameters, within
from proctor.providers.protocols.preflight import look, need_key, undescribed
from proctor.providers.protocols.thoughts import GEMINI_HINT, GEMINI_NOTES, GEMINI_THINKING
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply, refusal
from proctor.providers.wire.wire_types import JsonTable, table_of, told_usage
from proctor.types import Item, Model, Reply, Sampling, Usage

OFFICIAL = "https://generativelanguage.googleapis.com"
KEY_VARIABLE = "GOOGLE_API_KEY or GEMINI_API_KEY"
ADDRESS_VARIABLE = "GEMINI_BASE_URL"
METHOD = "generateContent"

# Medical questions trip the default filters; what is blocked all the same counts as refused.
_SAFETY = [
    {"category": f"HARM_CATEGORY_{category}", "threshold": "BLOCK_NONE"}
    for category in ("HARASSMENT", "HATE_SPEECH", "SEXUALLY_EXPLICIT", "DANGEROUS_CONTENT")
]
# Some reasons are the server's refusal to show what the model said; OTHER and unknown ones are no refusal.
_FINISH = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "refused",
    "RECITATION": "refused",
    "LANGUAGE": "refused",
    "BLOCKLIST": "refused",
    "PROHIBITED_CONTENT": "refused",
    "SPII": "refused",
}
_OPTIONAL = ("temperature", "topP", "topK", "maxOutputTokens", "seed", "stopSequences", "thinkingConfig")
_NEEDED = {
    "responseSchema": "structured",
    "responseMimeType": "structured",
    "responseLogprobs": "logprob",
    "logprobs": "logprob",
}
MOST_PAGES = 20  # of a list, each of a thousand models
# Refusals that do not name the field as it was sent.
_HINTS = {
    "thinkingConfig": GEMINI_HINT,
    "responseSchema": re.compile(r"json mode|response[ _]?schema", re.I),
    "responseLogprobs": re.compile("logprobs", re.I),
}


class Gemini:
    """One model behind generateContent. Made by `open_gemini`."""

    def __init__(
        self, model: Model, sampling: Sampling, opening: Opening, place: Place, key: str | None
    ) -> None:
        self._model = model
        self._mode = sampling.mode
        self._http = opening.http
        self._price = opening.prices.of(model)
        self._place = place
        self._key = key
        self._model_url = f"{place.address}/v1beta/{_path(model.name)}"
        self._url = f"{self._model_url}:{METHOD}"
        self._headers = {"Content-Type": "application/json", **_authorization(key)}
        self._parameters = _parameters(sampling, place)
        self.unsent: frozenset[str] = _unsent(sampling)
        self.address = place.address
        self.pacing: Pacing | None = Pacing(start=4, most=256)

    @property
    def adjustments(self) -> list[str]:
        return self._parameters.adjustments

    async def check(self) -> ListedModel:
        need_key(self._key, self._place, OFFICIAL)
        try:
            row = await look(self._http, self._model_url, _authorization(self._key), self._place, "model")
        except ModelNotFound:
            raise
        except ProviderError as error:
            return undescribed(self._model, error)
        if not _answers(row):
            raise ModelNotFound(
                f"gemini at {self.address}: {self._model.name!r} does not answer questions ({METHOD}); "
                "`proctor models gemini` lists those that do"
            )
        return replace(_listed(row, self._model.name), model=self._model)

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
                    error.usage = told_usage(answer, self._used)
                    raise
            if answer.status != 400 or not self._parameters.adapt(answer.body, sent):
                raise refusal(answer, self._place)

    def _body(self, item: Item, repeat: int, parameters: Mapping[str, Any]) -> bytes:
        config = dict(within(parameters, item))
        if repeat and "seed" in config:
            config["seed"] += repeat
        if self._mode == "structured":
            config |= {"responseMimeType": "application/json", "responseSchema": _schema(item.options)}
        system = "\n\n".join(m.content for m in item.ask.messages if m.role == "system")
        body: dict[str, Any] = {
            "contents": [
                {"role": "model" if m.role == "assistant" else "user", "parts": [{"text": m.content}]}
                for m in item.ask.messages
                if m.role != "system"
            ],
            "generationConfig": config,
            "safetySettings": _SAFETY,
        }
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        return orjson.dumps(body)

    def _reply(self, answer: HttpResponse) -> Reply:
        record = table_of(answer, self._place, "candidates")
        candidates = record.tables("candidates")
        blocked = record.table("promptFeedback").text("blockReason")
        if not candidates and not blocked:
            raise bad_reply(answer, self._place, "candidates")
        candidate = candidates[0] if candidates else JsonTable({}, "", record.where)
        parts = candidate.table("content").tables("parts")
        sent, received, thought = _tokens(record.table("usageMetadata"))
        finish = _FINISH.get(candidate.text("finishReason") or "", "stop")
        reply = Reply(
            text=_joined(parts, thought=False),
            reasoning=_joined(parts, thought=True) or None,
            finish="refused" if blocked else finish,
            input_tokens=sent,
            output_tokens=received,
            reasoning_tokens=thought,
            latency_s=answer.elapsed_s,
            cost_usd=self._price.cost_usd(sent, received) if self._price else None,
            raw=answer.body,
        )
        return self._ranked(reply, candidate) if self._mode == "logprob" else reply

    def _used(self, record: JsonTable) -> Usage:
        sent, received, _ = _tokens(record.table("usageMetadata"))
        return Usage(sent, received, self._price.cost_usd(sent, received) if self._price else None)

    def _ranked(self, reply: Reply, candidate: JsonTable) -> Reply:
        """The reply with its first token ranked; it was cut after that token by design."""
        result = candidate.table("logprobsResult")
        top = (row for step in result.tables("topCandidates")[:1] for row in step.tables("candidates"))
        first = ranking(top, logprob="logProbability") or ranking(
            result.tables("chosenCandidates")[:1], logprob="logProbability"
        )
        if reply.finish != "refused":
            need_ranking(first, f"gemini at {self.address}")
            reply = replace(reply, finish="stop")
        return replace(reply, first_token=first)


def open_gemini(model: Model, sampling: Sampling, opening: Opening) -> Gemini:
    place = _place(model.base_url or opening.settings.gemini_base_url, model.name)
    return Gemini(model, sampling, opening, place, opening.settings.gemini_api_key)


async def list_gemini(opening: Opening) -> list[ListedModel]:
    """The models that answer generateContent. Raises: EndpointNotFound, AuthError, NetworkError."""
    key = opening.settings.gemini_api_key
    place = _place(opening.settings.gemini_base_url, "")
    need_key(key, place, OFFICIAL)
    found: list[ListedModel] = []
    token = ""
    for _ in range(MOST_PAGES):  # a server may name a next page for ever
        url = f"{place.address}/v1beta/models?pageSize=1000{token and f'&pageToken={quote(token)}'}"
        page = await look(opening.http, url, _authorization(key), place, "list of models")
        rows = [row for row in page.tables("models") if _answers(row)]
        found += [_listed(row, row.needed("name").removeprefix("models/")) for row in rows]
        token = page.text("nextPageToken") or ""
        if not token:
            break
    return found


def _place(address: str, model: str) -> Place:
    return Place("gemini", address.removesuffix("/v1beta"), model, KEY_VARIABLE, ADDRESS_VARIABLE)


def _authorization(key: str | None) -> dict[str, str]:
    return {"x-goog-api-key": key} if key else {}


def _path(name: str) -> str:
    """A resource name: `models/NAME`, or `tunedModels/NAME` as it stands."""
    return quote(name if name.startswith(("models/", "tunedModels/")) else f"models/{name}", safe="/")


def _answers(row: JsonTable) -> bool:
    return METHOD in (row.told(row.texts, "supportedGenerationMethods") or (METHOD,))


def _listed(row: JsonTable, name: str) -> ListedModel:
    return ListedModel(
        Model("gemini", name),
        context_tokens=row.told(row.count, "inputTokenLimit"),
        note=row.told(row.text, "displayName"),
    )


def _parameters(sampling: Sampling, place: Place) -> Parameters:
    fields: dict[str, Any] = {
        "temperature": sampling.temperature,
        "topP": sampling.top_p,
        "topK": sampling.top_k,
        "maxOutputTokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stopSequences": list(sampling.stop) or None,
    }
    fields = {name: value for name, value in fields.items() if value is not None}
    think = sampling.think
    if sampling.mode == "logprob":
        fields |= {"responseLogprobs": True, "logprobs": TOP_TOKENS, "maxOutputTokens": 1}
        think = False
    if think is not None:
        fields["thinkingConfig"] = GEMINI_THINKING[think]
    needed = {name: mode for name, mode in _NEEDED.items() if mode == sampling.mode}
    notes = [GEMINI_NOTES[think]] if think is not None and think in GEMINI_NOTES else []
    return Parameters(fields, place, _OPTIONAL, needed=needed, hints=_HINTS, adjustments=notes)


def _unsent(sampling: Sampling) -> frozenset[str]:
    unsent = {"context_tokens", "min_p", "repeat_penalty", "repeat_last_n"}
    return frozenset(unsent | ({"max_tokens"} if sampling.mode == "logprob" else set()))


def _schema(options: tuple[str, ...]) -> dict[str, Any]:
    """Google's own form of a schema: the names of types in capitals."""
    answer: dict[str, Any] = {"type": "STRING"}
    if options:
        answer["enum"] = list(options)
    return {"type": "OBJECT", "properties": {ANSWER: answer}, "required": [ANSWER]}


def _joined(parts: Sequence[JsonTable], *, thought: bool) -> str:
    return "".join(part.text("text") or "" for part in parts if bool(part.flag("thought")) == thought)


def _tokens(usage: JsonTable) -> tuple[int | None, int | None, int | None]:
    """(input, output with the thoughts, thoughts): thoughts are billed as output but stand apart."""
    spoken, thought = usage.count("candidatesTokenCount"), usage.count("thoughtsTokenCount")
    return usage.count("promptTokenCount"), usage.sum(spoken, thought), thought
