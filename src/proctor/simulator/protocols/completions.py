"""OpenAI's older shape: POST /v1/completions, where a text goes on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from proctor.simulator.protocols import openai
from proctor.simulator.protocols.wire import (
    Ask,
    JsonBody,
    Known,
    Paced,
    ServerTerms,
    SimulatedReply,
    Stamp,
    count_input,
    split,
)

STREAM_TYPE = openai.STREAM_TYPE
busy, broken, overloaded = openai.busy, openai.broken, openai.overloaded
forbidden, exhausted, cut_off = openai.forbidden, openai.exhausted, openai.cut_off


def read(body: bytes, terms: ServerTerms, known: Known) -> Ask:
    """Raises: Denied."""
    return openai.understood(body, terms, known, parse)


def parse(fields: JsonBody) -> Ask:
    """Raises: ValueError naming the field."""
    model = fields.text("model")
    prompts = texts(fields, "prompt")
    messages = tuple(("user", prompt) for prompt in prompts)
    return Ask(
        model=model,
        name=model,
        messages=messages,
        stream=fields.flag("stream", default=False),
        input_tokens=count_input(messages),
        limit=fields.count("max_tokens"),
        usage=fields.inner("stream_options").flag("include_usage", default=False),
        n=len(prompts) * (fields.count("n") or 1),
    )


def texts(fields: JsonBody, name: str) -> list[str]:
    """A text, or several. Raises: ValueError. Tokens by their numbers stand for as many letters."""
    value = fields.fields.get(name)
    several = value if isinstance(value, list) else [value]
    if several and all(isinstance(each, int) for each in several):
        several = ["x" * 4 * len(several)]
    if not several or not all(isinstance(each, str) for each in several):
        raise ValueError(f"{name} is required and must be a string or a list of strings")
    return [str(each) for each in several]


def whole(ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
    choices = [_choice(index, one.text, openai.FINISH[one.finish]) for index, one in enumerate(said.all)]
    return orjson.dumps({**_frame(ask, stamp), "choices": choices, "usage": openai.usage(ask, said)})


def pieces(ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
    return [*_events(ask, said, stamp), openai.DONE]


def _events(ask: Ask, said: SimulatedReply, stamp: Stamp) -> Iterator[bytes]:
    frame = _frame(ask, stamp)
    for index, one in enumerate(said.all):
        for word in split(one.text):
            yield Paced(openai.event({**frame, "choices": [_choice(index, word, None)]}))
        yield openai.event({**frame, "choices": [_choice(index, "", openai.FINISH[one.finish])]})
    if ask.usage:
        yield openai.event({**frame, "choices": [], "usage": openai.usage(ask, said)})


def _choice(index: int, text: str, finish: str | None) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish}


def _frame(ask: Ask, stamp: Stamp) -> dict[str, Any]:
    made = {"object": "text_completion", "created": int(stamp.at), "model": ask.model}
    return {"id": f"cmpl-sim{stamp.number}", **made}
