"""OpenAI and every server that speaks its chat completions: vLLM, llama.cpp, LM Studio, gateways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from proctor.errors import AuthError, BadRequest, EndpointNotFound, ModelNotFound, NetworkError, ProviderError
from proctor.providers.contract import Opening, Pacing
from proctor.providers.http import Answer
from proctor.providers.refusals import Place, bad_reply, refusal, server_words
from proctor.types import Item, ListedModel, Model, Reply, Sampling

KEY_VARIABLE = "OPENAI_API_KEY"
OFFICIAL = "https://api.openai.com/v1"
LOOK_S = 30.0

_FINISH = {"length": "length", "content_filter": "refused"}
# Parameters that a server may refuse: dropped once, and the run's manifest says so. A renamed one is tried first.
_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = frozenset(
    {
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
    }
)


class OpenAI:
    """One model behind chat completions. Made by `open_openai`."""

    def __init__(
        self, model: Model, sampling: Sampling, opening: Opening, place: Place, key: str | None
    ) -> None:
        self._model = model
        self._http = opening.http
        self._price = opening.prices.of(model)
        self._place = place
        self._url = f"{place.address}/chat/completions"
        self._headers = {"Content-Type": "application/json", **_authorization(key)}
        self._parameters = _parameters(sampling)
        self.adjustments: list[str] = []
        self.unsent: frozenset[str] = frozenset({"context_tokens", "repeat_last_n"})
        self.address = place.address
        self.pacing: Pacing | None = Pacing(start=8, most=256)

    async def check(self) -> ListedModel:
        if self.address == OFFICIAL and "Authorization" not in self._headers:
            raise AuthError(
                f"No key for {self._place.provider} at {self.address}. Set {KEY_VARIABLE}; a server of "
                "your own is named with OPENAI_BASE_URL or --base-url"
            )
        listed = await self._listed()
        mine = ListedModel(self._model)
        if listed is None:
            return mine
        for other in listed:
            if other.model.name == self._model.name:
                return other
        if self.address == OFFICIAL:
            return mine  # fine-tuned and preview models are not always listed
        names = ", ".join(m.model.name for m in listed[:8]) or "none"
        raise ModelNotFound(
            f"{self._place.provider} at {self.address} does not offer the model "
            f"{self._model.name!r}. It lists: {names}"
        )

    async def warm(self) -> None:
        """Nothing to load."""

    async def _listed(self) -> list[ListedModel] | None:
        """None if the server cannot list its models."""
        try:
            return await _list(self._http, self._place, self._headers, self._model.provider)
        except (EndpointNotFound, BadRequest) as error:
            if error.status is None:
                raise
            return None

    async def __call__(self, item: Item, repeat: int) -> Reply:
        while True:
            parameters = self._parameters
            answer = await self._http.post(self._url, self._headers, self._body(item, repeat, parameters))
            if answer.status == 200:
                return self._reply(answer)
            if answer.status not in (400, 422) or not self._adapt(answer, parameters):
                raise refusal(answer, self._place)

    def _body(self, item: Item, repeat: int, parameters: Mapping[str, Any]) -> bytes:
        messages = [{"role": m.role, "content": m.content} for m in item.prompt]
        body = {"model": self._model.name, "messages": messages, **parameters}
        if repeat and "seed" in body:
            body["seed"] += repeat
        return orjson.dumps(body)

    def _adapt(self, answer: Answer, sent: Mapping[str, Any]) -> bool:
        """Drop or rename the parameter that the server refuses; True if the request is worth sending again."""
        name = _refused_parameter(answer.body, sent)
        if name is None:
            return False
        if name not in self._parameters:
            return True  # another request has just taken it out
        new = _RENAMED.get(name)
        kept = {k: v for k, v in self._parameters.items() if k != name}
        if new:
            kept[new] = self._parameters[name]
        self._parameters = kept
        self.adjustments.append(f"{name} sent as {new}" if new else f"{name} dropped: the server refuses it")
        return True

    def _reply(self, answer: Answer) -> Reply:
        try:
            record = orjson.loads(answer.body)
            choice = record["choices"][0]
            message = choice["message"]
        except (orjson.JSONDecodeError, KeyError, IndexError, TypeError):
            raise self._shapeless(answer) from None
        usage = record.get("usage") or {}
        sent, received = usage.get("prompt_tokens"), usage.get("completion_tokens")
        details = usage.get("completion_tokens_details") or {}
        cost = usage.get("cost")
        if cost is None and self._price:
            cost = self._price.cost_usd(sent, received)
        finish = _FINISH.get(choice.get("finish_reason"), "stop")
        return Reply(
            text=_text(message.get("content")) or message.get("refusal") or "",
            reasoning=message.get("reasoning_content") or message.get("reasoning"),
            finish="refused" if message.get("refusal") else finish,
            input_tokens=sent,
            output_tokens=received,
            reasoning_tokens=details.get("reasoning_tokens"),
            latency_s=answer.elapsed_s,
            cost_usd=cost,
            raw=answer.body,
        )

    def _shapeless(self, answer: Answer) -> ProviderError:
        if b'"error"' in answer.body[:2000]:
            failed = Answer(500, answer.headers, answer.body, answer.elapsed_s)
            return refusal(failed, self._place)
        return bad_reply(answer, self._place, "choices[0].message")


def open_openai(model: Model, sampling: Sampling, opening: Opening) -> OpenAI:
    settings = opening.settings
    address = model.base_url or settings.openai_base_url
    place = Place("openai", address, model.name, KEY_VARIABLE, "OPENAI_BASE_URL")
    return OpenAI(model, sampling, opening, place, settings.openai_api_key)


def open_simulator(model: Model, sampling: Sampling, opening: Opening) -> OpenAI:
    """proctor's own simulator, started for the run; its address stands in `base_url`. It gets no key."""
    place = Place("simulator", model.base_url or "", model.name)
    return OpenAI(model, sampling, opening, place, None)


async def list_openai(opening: Opening) -> list[ListedModel]:
    """Raises: EndpointNotFound, AuthError, NetworkError."""
    settings = opening.settings
    place = Place("openai", settings.openai_base_url, "", KEY_VARIABLE, "OPENAI_BASE_URL")
    if place.address == OFFICIAL and not settings.openai_api_key:
        raise AuthError(f"No key: set {KEY_VARIABLE}, or OPENAI_BASE_URL to a server of your own")
    return await _list(opening.http, place, _authorization(settings.openai_api_key), "openai")


async def _list(http: Any, place: Place, headers: Mapping[str, str], provider: str) -> list[ListedModel]:
    url = f"{place.address}/models"
    try:
        answer = await http.get(url, headers, timeout_s=LOOK_S)
    except NetworkError as error:
        raise EndpointNotFound(
            f"{error}. Is the server running? {place.address_variable or 'The address'} "
            "or --base-url says where it is"
        ) from error
    if answer.status != 200:
        raise refusal(answer, place)
    try:
        rows = orjson.loads(answer.body)["data"]
        return [
            ListedModel(Model(provider, row["id"]), context_tokens=row.get("max_model_len")) for row in rows
        ]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise bad_reply(answer, place, "list of models") from None


def _authorization(key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"} if key else {}


def _parameters(sampling: Sampling) -> dict[str, Any]:
    """The request's fields; context_tokens and repeat_last_n have no place in this protocol."""
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
    if isinstance(sampling.think, bool):
        fields["chat_template_kwargs"] = {"enable_thinking": sampling.think}
    elif sampling.think:
        fields["reasoning_effort"] = sampling.think
    return {name: value for name, value in fields.items() if value is not None}


def _refused_parameter(body: bytes, sent: Mapping[str, Any]) -> str | None:
    """The parameter of ours that an error names, in its `param` field or quoted in its words."""
    try:
        error = orjson.loads(body).get("error")
    except (orjson.JSONDecodeError, AttributeError):
        error = None
    named = error.get("param") if isinstance(error, dict) else None
    droppable = [name for name in sent if name in _OPTIONAL or name in _RENAMED]
    if named in droppable:
        return str(named)
    words = server_words(body)
    quoted = [
        name for name in droppable if f"'{name}'" in words or f'"{name}"' in words or f"`{name}`" in words
    ]
    return quoted[0] if quoted else None


def _text(content: object) -> str:
    """The text of a message whose content may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part.get("text", "") for part in parts if isinstance(part, dict))
