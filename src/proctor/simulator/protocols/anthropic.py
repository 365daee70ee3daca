"""Anthropic's wire shape: POST /v1/messages and the pages about the models."""

from __future__ import annotations

from typing import Any

import orjson

from proctor.simulator.protocols.wire import (
    Ask,
    Denied,
    JsonBody,
    Known,
    ServerTerms,
    SimulatedReply,
    Stamp,
    count_input,
    read_body,
)

STREAM_TYPE = "text/event-stream"
VERSION = "2023-06-01"
LEAST_BUDGET = 1024
CREATED = "2026-01-01T00:00:00Z"

_FIELDS = frozenset(
    {
        "model", "messages", "max_tokens", "system", "metadata", "stop_sequences", "stream", "temperature",
        "top_k", "top_p", "tools", "tool_choice", "thinking", "output_config", "service_tier", "container",
    }
)  # fmt: skip
_STOP = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal", "blocked": "refusal"}
_ADAPTIVE_ONLY = (
    '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and '
    '"output_config.effort" to control thinking behavior.'
)


def read(body: bytes, terms: ServerTerms, known: Known) -> Ask:
    """Understand a request, or raise Denied with Anthropic's status and type."""
    try:
        fields = read_body(body)
        ask = _read(fields)
        _check_thinking(fields, terms)
    except ValueError as error:
        raise bad_request(str(error)) from None
    if ask.name not in known:
        raise missing(ask.model)
    for name in sorted(terms.reject):
        if fields.fields.get(name) is not None:
            raise bad_request(f"`{name}` is deprecated for this model.")
    if ask.input_tokens > terms.context_tokens:
        raise bad_request(f"prompt is too long: {ask.input_tokens} tokens > {terms.context_tokens} maximum")
    return ask


def _read(fields: JsonBody) -> Ask:
    if unknown := fields.only(_FIELDS):
        raise ValueError(f"{unknown}: Extra inputs are not permitted")
    model, messages = fields.text("model"), fields.messages()
    if not messages or any(role not in ("user", "assistant") for role, _ in messages):
        raise ValueError("messages: at least one message is required, with the roles user and assistant")
    limit = fields.count("max_tokens")
    if limit is None:
        raise ValueError("max_tokens: Field required")
    if fields.flag("stream", default=False):
        raise ValueError("stream: the simulator answers in one piece only")
    if fields.fields.get("system"):
        messages = (("system", fields.text("system")), *messages)
    kind = fields.inner("thinking").fields.get("type", "disabled")
    return Ask(
        model=model,
        name=model,
        messages=messages,
        stream=False,
        input_tokens=count_input(messages),
        limit=limit,
        think=kind != "disabled",
    )


def _check_thinking(fields: JsonBody, terms: ServerTerms) -> None:
    thinking = fields.inner("thinking")
    kind = thinking.fields.get("type", "disabled")
    if kind not in ("enabled", "disabled", "adaptive"):
        raise ValueError(f"thinking.type: {kind!r} is none of enabled, disabled, adaptive")
    if kind == "enabled":
        if "thinking.enabled" in terms.reject:
            raise ValueError(_ADAPTIVE_ONLY)
        budget = thinking.count("budget_tokens") or 0
        if not LEAST_BUDGET <= budget < (fields.count("max_tokens") or 0):
            raise ValueError(f"thinking.budget_tokens: {LEAST_BUDGET} or more, and less than max_tokens")
    if kind != "disabled" and fields.fields.get("temperature") not in (None, 1):
        raise ValueError("`temperature` may only be set to 1 when thinking is enabled or in adaptive mode.")


def whole(ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
    """The reply in one piece. A refusal says nothing."""
    refused = said.finish in ("refused", "blocked")
    content: list[dict[str, Any]] = []
    if said.reasoning:
        content.append({"type": "thinking", "thinking": said.reasoning, "signature": "c2ltdWxhdGVk"})
    if said.text and not refused:
        content.append({"type": "text", "text": said.text})
    return orjson.dumps({
        "id": f"msg_sim{stamp.number}",
        "type": "message",
        "role": "assistant",
        "model": ask.model,
        "content": content,
        "stop_reason": _STOP[said.finish],
        "stop_sequence": None,
        "usage": {
            # A part of the prompt as if it came from the cache, so that readers have to add up.
            "input_tokens": ask.input_tokens - ask.input_tokens // 2,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": ask.input_tokens // 2,
            "output_tokens": said.output_tokens,
        },
    })  # fmt: skip


def pieces(ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
    return [whole(ask, said, stamp)]


def deny(status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> Denied:
    """An error as Anthropic writes it."""
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_simulated"}
    return Denied(status, body, headers)


def bad_request(message: str) -> Denied:
    return deny(400, "invalid_request_error", message)


def missing(model: str) -> Denied:
    return deny(404, "not_found_error", f"model: {model}")


def busy(retry_after_s: float) -> Denied:
    message = "This request would exceed the rate limit for your organization."
    return deny(429, "rate_limit_error", message, {"retry-after": f"{retry_after_s:g}"})


def broken() -> Denied:
    return deny(500, "api_error", "Internal server error")


def overloaded() -> Denied:
    return deny(529, "overloaded_error", "Overloaded")


def forbidden() -> Denied:
    return deny(
        403, "permission_error", "Your API key does not have permission to use the specified resource"
    )


def exhausted(quota: int) -> Denied:
    return bad_request("Your credit balance is too low to access the Anthropic API.")


def cut_off() -> bytes:
    return b"event: error\ndata: " + overloaded().body + b"\n\n"


def wrong_key(given: str | None) -> Denied:
    message = "invalid x-api-key" if given else "x-api-key header is required"
    return deny(401, "authentication_error", message)


def models(known: Known) -> bytes:
    """What GET /v1/models answers."""
    entries = [_entry(name) for name in known]
    return orjson.dumps(
        {
            "data": entries,
            "has_more": False,
            "first_id": entries[0]["id"] if entries else None,
            "last_id": entries[-1]["id"] if entries else None,
        }
    )


def model(name: str, known: Known) -> bytes:
    """What GET /v1/models/NAME answers. Raises: Denied."""
    if name not in known:
        raise missing(name)
    return orjson.dumps(_entry(name))


def _entry(name: str) -> dict[str, str]:
    return {"type": "model", "id": name, "display_name": f"Simulated {name}", "created_at": CREATED}
