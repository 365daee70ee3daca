"""xAI's wire shape: OpenAI's with other errors, counts without the reasoning, exact costs and a list of prices."""

from __future__ import annotations

from typing import Any

import orjson

from proctor.simulator.protocols import openai
from proctor.simulator.protocols.wire import Ask, Denied, Known, ServerTerms, SimulatedReply, Stamp, read_body

STREAM_TYPE = openai.STREAM_TYPE
# US cents per 100 million tokens, which is also the cost of one token in ticks of 1e-10 dollars.
PROMPT_PRICE = 30_000
COMPLETION_PRICE = 150_000

_INVALID = "Client specified an invalid argument"


def read(body: bytes, terms: ServerTerms, known: Known) -> Ask:
    """Understand a request, or raise Denied in xAI's words."""
    try:
        fields = read_body(body)
        ask = openai.parse(fields)
    except ValueError as error:
        raise deny(400, _INVALID, str(error)) from None
    if ask.name not in known:
        raise missing(ask.model)
    for name in sorted(terms.reject):
        if fields.fields.get(name) is not None:
            raise deny(400, _INVALID, f"Model {ask.model} does not support parameter {_camel(name)}.")
    if ask.input_tokens > terms.context_tokens:
        raise deny(
            400,
            _INVALID,
            f"This model's maximum prompt length is {terms.context_tokens} but the request contains "
            f"{ask.input_tokens} tokens.",
        )
    return ask


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def whole(ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
    """The reply in one piece: completion_tokens without the reasoning, and what it cost."""
    reply = openai.reply(ask, said, stamp)
    ticks = ask.input_tokens * PROMPT_PRICE + said.output_tokens * COMPLETION_PRICE
    reply["usage"] |= {
        "completion_tokens": said.output_tokens - said.reasoning_tokens,
        "num_sources_used": 0,
        "cost_in_usd_ticks": ticks,
    }
    return orjson.dumps(reply)


def pieces(ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
    return openai.pieces(ask, said, stamp)


def cut_off() -> bytes:
    return b"data: " + broken().body + b"\n\n"


def deny(status: int, code: str, error: str) -> Denied:
    """An error as xAI writes it."""
    return Denied(status, {"code": code, "error": error})


def missing(model: str) -> Denied:
    message = f"The model {model} does not exist or your team does not have access to it."
    return deny(404, "Some requested entity was not found", message)


def busy(retry_after_s: float) -> Denied:
    message = "Too many requests for the team. Please slow down."
    return deny(429, "Some resource has been exhausted", message)


def broken() -> Denied:
    return deny(500, "Internal error", "The service ran into an error.")


def overloaded() -> Denied:
    return deny(
        503, "The service is currently unavailable", "The model is at capacity. Please try again later."
    )


def forbidden() -> Denied:
    message = "Your API key lacks permission for this model."
    return deny(403, "The caller does not have permission to execute the specified operation", message)


def exhausted(quota: int) -> Denied:
    message = "Your team has either used all available credits or reached its monthly spending limit."
    return deny(429, "Some resource has been exhausted", message)


def wrong_key(given: str | None) -> Denied:
    """401 for no key; 400 for another one."""
    if not given:
        return deny(401, "Unauthenticated", "No credentials were given.")
    masked = given[:2] + "***" + given[-2:] if len(given) > 6 else "***"
    message = f"Incorrect API key provided: {masked}. You can obtain an API key from https://console.x.ai."
    return deny(400, _INVALID, message)


def language_models(known: Known) -> bytes:
    """What GET /v1/language-models answers: models with prices and aliases."""
    common: dict[str, Any] = {
        "object": "model",
        "created": openai.RELEASED,
        "owned_by": "xai",
        "input_modalities": ["text"],
        "output_modalities": ["text"],
        "prompt_text_token_price": PROMPT_PRICE,
        "cached_prompt_text_token_price": PROMPT_PRICE // 4,
        "completion_text_token_price": COMPLETION_PRICE,
    }
    return orjson.dumps({"models": [{"id": name, "aliases": [f"{name}-latest"], **common} for name in known]})
