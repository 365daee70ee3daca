"""Gemini's wire shape: POST /v1beta/models/NAME:generateContent and the pages about the models."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.simulator.protocols.wire import (
    Ask,
    Denied,
    JsonBody,
    Known,
    SchemaForm,
    ServerTerms,
    SimulatedReply,
    Stamp,
    count_input,
    read_body,
    read_form,
)

METHOD = "generateContent"
EMBEDDING = "sim-embedding"  # listed, but answers no questions
OUTPUT_TOKENS = 65_536

_FIELDS = frozenset(
    {
        "contents",
        "systemInstruction",
        "generationConfig",
        "safetySettings",
        "tools",
        "toolConfig",
        "cachedContent",
    }
)
_CONFIG = frozenset(
    {
        "stopSequences", "responseMimeType", "responseSchema", "responseJsonSchema", "responseModalities",
        "candidateCount", "maxOutputTokens", "temperature", "topP", "topK", "seed", "presencePenalty",
        "frequencyPenalty", "responseLogprobs", "logprobs", "thinkingConfig",
    }
)  # fmt: skip
_THINKING = frozenset({"thinkingBudget", "thinkingLevel", "includeThoughts"})
_LEVELS = (None, "minimal", "low", "medium", "high")
_THRESHOLDS = ("BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF")
_FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}
# How models complain about what they cannot do; other parameters get the words for an unknown field.
_REJECTIONS = {
    "thinkingLevel": "Thinking level is not supported for this model.",
    "thinkingBudget": "The model does not support setting thinking_budget to 0.",
    "responseLogprobs": "Logprobs is not enabled for this model.",
    "responseSchema": "JSON mode is not enabled for this model.",
}


@dataclass(frozen=True, slots=True)
class GeminiShape:
    """The shape for one model: its name stands in the address, not in the body."""

    model: str
    STREAM_TYPE: str = "application/json"

    def read(self, body: bytes, terms: ServerTerms, known: Known) -> Ask:
        """Understand a request, or raise Denied with Google's status."""
        try:
            fields = read_body(body)
            ask = _read(fields, self.model)
        except ValueError as error:
            raise bad_request(str(error)) from None
        if ask.name not in known:
            raise missing(self.model)
        _check_rejected(fields, terms)
        if ask.input_tokens > terms.context_tokens:
            raise bad_request(
                f"The input token count ({ask.input_tokens}) exceeds the maximum number of tokens allowed "
                f"({terms.context_tokens})."
            )
        return ask

    def whole(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
        return orjson.dumps(_reply(ask, said, stamp))

    def pieces(self, ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
        return [self.whole(ask, said, stamp)]

    def busy(self, retry_after_s: float) -> Denied:
        return _spent("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", 15, retry_after_s)

    def exhausted(self, quota: int) -> Denied:
        return _spent("GenerateRequestsPerDayPerProjectPerModel-FreeTier", quota, 17.0)

    def broken(self) -> Denied:
        return deny(500, "INTERNAL", "An internal error has occurred. Please retry.")

    def overloaded(self) -> Denied:
        return deny(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")

    def forbidden(self) -> Denied:
        return deny(403, "PERMISSION_DENIED", "The caller does not have permission")

    def cut_off(self) -> bytes:
        return self.broken().body


def _read(fields: JsonBody, model: str) -> Ask:
    config, thinking = _known(fields)
    messages = _messages(fields)
    limit = config.count("maxOutputTokens")
    ranked = config.ranked("logprobs")
    if ranked is not None and not config.flag("responseLogprobs", default=False):
        raise ValueError("generation_config.logprobs needs response_logprobs")
    budget, level = thinking.count("thinkingBudget"), thinking.fields.get("thinkingLevel")
    if budget is not None and level is not None:
        raise ValueError("You can only set only one of thinking budget and thinking level.")
    if level not in _LEVELS:
        raise ValueError(f"Invalid value at 'generation_config.thinking_config.thinking_level': {level!r}")
    return Ask(
        model=model,
        name=model,
        messages=messages,
        stream=False,
        input_tokens=count_input(messages),
        limit=limit,
        think=budget != 0,
        form=_form(config),
        ranked=(ranked or 0) if config.flag("responseLogprobs", default=False) else None,
        shows_thoughts=thinking.flag("includeThoughts", default=False),
    )


def _known(fields: JsonBody) -> tuple[JsonBody, JsonBody]:
    """(generationConfig, its thinkingConfig). Raises: ValueError for a field that Google does not know."""
    config = fields.inner("generationConfig")
    thinking = config.inner("thinkingConfig")
    for body, names, where in (
        (fields, _FIELDS, ""),
        (config, _CONFIG, " at 'generation_config'"),
        (thinking, _THINKING, " at 'generation_config.thinking_config'"),
    ):
        if unknown := body.only(names):
            raise ValueError(_unknown(unknown, where))
    for setting in fields.fields.get("safetySettings") or []:
        if setting.get("threshold") not in _THRESHOLDS or not str(setting.get("category")).startswith(
            "HARM_"
        ):
            raise ValueError(f"Invalid value at 'safety_settings': {setting}")
    return config, thinking


def _unknown(name: str, where: str) -> str:
    return f'Invalid JSON payload received. Unknown name "{name}"{where}: Cannot find field.'


def _messages(fields: JsonBody) -> tuple[tuple[str, str], ...]:
    contents = fields.fields.get("contents")
    if not isinstance(contents, list) or not contents:
        raise ValueError("* GenerateContentRequest.contents: contents is not specified")
    system = fields.inner("systemInstruction").fields
    messages = [("system", _text(system))] if system else []
    for content in contents:
        role = content.get("role", "user")
        if role not in ("user", "model"):
            raise ValueError("Please use a valid role: user, model.")
        messages.append(("assistant" if role == "model" else "user", _text(content)))
    return tuple(messages)


def _text(content: dict[str, Any]) -> str:
    parts = content.get("parts")
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError("parts must be a list of objects")
    return "".join(str(part.get("text", "")) for part in parts)


def _form(config: JsonBody) -> SchemaForm | None:
    schema = config.fields.get("responseSchema") or config.fields.get("responseJsonSchema")
    json_wanted = config.fields.get("responseMimeType") == "application/json"
    if schema and not json_wanted:
        raise ValueError("Setting response_schema requires response_mime_type application/json")
    if schema:
        return read_form(schema)
    return SchemaForm("answer", ()) if json_wanted else None


def _check_rejected(fields: JsonBody, terms: ServerTerms) -> None:
    config = fields.inner("generationConfig").fields
    given = {**config, **(config.get("thinkingConfig") or {})}
    for name in sorted(terms.reject):
        if given.get(name) is not None:
            raise bad_request(_REJECTIONS.get(name) or _unknown(name, " at 'generation_config'"))


def _reply(ask: Ask, said: SimulatedReply, stamp: Stamp) -> dict[str, Any]:
    frame = {
        "usageMetadata": _usage(ask, said),
        "modelVersion": ask.model,
        "responseId": f"sim{stamp.number}",
    }
    if said.finish == "blocked":
        frame["usageMetadata"] = {"promptTokenCount": ask.input_tokens, "totalTokenCount": ask.input_tokens}
        return {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **frame}
    candidate: dict[str, Any] = {"index": 0, "finishReason": _FINISH[said.finish]}
    if said.finish == "refused":
        candidate["safetyRatings"] = [
            {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
        ]
        return {"candidates": [candidate], **frame}
    parts: list[dict[str, Any]] = []
    if said.reasoning and ask.shows_thoughts:
        parts.append({"text": said.reasoning, "thought": True})
    if said.text:
        parts.append({"text": said.text})
    # As Google writes it: a model that spent its limit on thoughts leaves a content without parts.
    candidate["content"] = {"role": "model", **({"parts": parts} if parts else {})}
    if ask.ranked is not None:
        candidate["logprobsResult"] = _ranking(said)
    return {"candidates": [candidate], **frame}


def _ranking(said: SimulatedReply) -> dict[str, Any]:
    if not said.tokens:
        return {}
    return {
        "topCandidates": [{"candidates": _ranked(token.top)} for token in said.tokens],
        "chosenCandidates": _ranked((token.text, token.logprob) for token in said.tokens),
    }


def _ranked(top: Iterable[tuple[str, float]]) -> list[dict[str, Any]]:
    return [
        {"token": token, "tokenId": 100 + place, "logProbability": logprob}
        for place, (token, logprob) in enumerate(top)
    ]


def _usage(ask: Ask, said: SimulatedReply) -> dict[str, int]:
    """Thoughts stand beside the candidates' tokens; what is 0 is left out."""
    counts = {
        "promptTokenCount": ask.input_tokens,
        "candidatesTokenCount": said.output_tokens - said.reasoning_tokens,
        "thoughtsTokenCount": said.reasoning_tokens,
        "totalTokenCount": ask.input_tokens + said.output_tokens,
    }
    return {name: count for name, count in counts.items() if count}


def deny(status: int, word: str, message: str, details: list[dict[str, Any]] | None = None) -> Denied:
    """An error as Google writes it."""
    error: dict[str, Any] = {"code": status, "message": message, "status": word}
    return Denied(status, {"error": {**error, **({"details": details} if details else {})}})


def bad_request(message: str) -> Denied:
    return deny(400, "INVALID_ARGUMENT", message)


def missing(model: str) -> Denied:
    message = (
        f"models/{model} is not found for API version v1beta, or is not supported for {METHOD}. Call "
        "ListModels to see the list of available models and their supported methods."
    )
    return deny(404, "NOT_FOUND", message)


def _spent(quota_id: str, limit: int, retry_after_s: float) -> Denied:
    """429 with the quota and the delay in the body; Google sends no Retry-After."""
    message = (
        "You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for "
        "metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, "
        f"limit: {limit}\nPlease retry in {retry_after_s:g}s."
    )
    kind = "type.googleapis.com/google.rpc"
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": quota_id,
        "quotaDimensions": {"location": "global"},
        "quotaValue": str(limit),
    }
    details: list[dict[str, Any]] = [
        {"@type": f"{kind}.QuotaFailure", "violations": [violation]},
        {"@type": f"{kind}.RetryInfo", "retryDelay": f"{retry_after_s:g}s"},
    ]
    return deny(429, "RESOURCE_EXHAUSTED", message, details)


def wrong_key(given: str | None) -> Denied:
    """403 for no key; 400 for another one."""
    if not given:
        return deny(
            403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers. Please use API Key."
        )
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "API_KEY_INVALID",
        "domain": "googleapis.com",
    }
    return deny(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", [info])


def models(known: Known, context_tokens: int) -> bytes:
    """What GET /v1beta/models answers: those that answer questions, and one that does not."""
    return orjson.dumps({"models": [_entry(name, context_tokens) for name in (*known, EMBEDDING)]})


def model(name: str, known: Known, context_tokens: int) -> bytes:
    """What GET /v1beta/models/NAME answers. Raises: Denied."""
    if name not in known and name != EMBEDDING:
        raise missing(name)
    return orjson.dumps(_entry(name, context_tokens))


def _entry(name: str, context_tokens: int) -> dict[str, Any]:
    methods = ["embedContent"] if name == EMBEDDING else [METHOD, "countTokens"]
    return {
        "name": f"models/{name}",
        "version": "1",
        "displayName": f"Simulated {name}",
        "inputTokenLimit": context_tokens,
        "outputTokenLimit": OUTPUT_TOKENS,
        "supportedGenerationMethods": methods,
    }
