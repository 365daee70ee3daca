"""OpenAI's shape of vectors: POST /v1/embeddings. They are drawn from the text, so the same text has the same."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import replace
from math import sqrt
from struct import pack

import orjson

from proctor.simulator.behaviour import draw
from proctor.simulator.protocols import completions, openai
from proctor.simulator.protocols.wire import (
    Ask,
    JsonBody,
    Known,
    ServerTerms,
    SimulatedReply,
    Stamp,
    count_input,
)

STREAM_TYPE = openai.STREAM_TYPE
USUAL, MOST = 8, 4096  # numbers in a vector
busy, broken, overloaded = openai.busy, openai.broken, openai.overloaded
forbidden, exhausted, cut_off = openai.forbidden, openai.exhausted, openai.cut_off


def read(body: bytes, terms: ServerTerms, known: Known) -> Ask:
    """Raises: Denied."""
    return openai.understood(body, terms, known, parse)


def parse(fields: JsonBody) -> Ask:
    """Raises: ValueError naming the field."""
    model = fields.text("model")
    messages = tuple(("user", text) for text in completions.texts(fields, "input"))
    size = fields.count("dimensions") or USUAL
    if not 1 <= size <= MOST:
        raise ValueError(f"dimensions is {size}; it must be from 1 to {MOST}")
    form = fields.fields.get("encoding_format", "float")
    if form not in ("float", "base64"):
        raise ValueError("encoding_format must be float or base64")
    ask = Ask(model, model, messages, stream=False, input_tokens=count_input(messages), limit=None)
    return replace(ask, vector=(size, form))


def whole(ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
    size, form = ask.vector or (USUAL, "float")
    data = [
        {"object": "embedding", "index": n, "embedding": _vector(text, size, form)}
        for n, (_, text) in enumerate(ask.messages)
    ]
    usage = {"prompt_tokens": ask.input_tokens, "total_tokens": ask.input_tokens}
    return orjson.dumps({"object": "list", "data": data, "model": ask.model, "usage": usage})


def pieces(ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
    return [whole(ask, said, stamp)]


def _vector(text: str, size: int, form: str) -> list[float] | str:
    numbers = [draw("vector", text, place) - 0.5 for place in range(size)]
    length = sqrt(sum(number * number for number in numbers)) or 1.0
    numbers = [number / length for number in numbers]
    return b64encode(pack(f"<{size}f", *numbers)).decode() if form == "base64" else numbers
