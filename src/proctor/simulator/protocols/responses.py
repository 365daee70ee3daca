"""OpenAI's newer shape: POST /v1/responses, whole and as a stream of named events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from proctor.simulator.protocols import openai
from proctor.simulator.protocols.tools import called
from proctor.simulator.protocols.wire import (
    Ask,
    JsonBody,
    Known,
    Paced,
    ServerTerms,
    SimulatedReply,
    Stamp,
    count_input,
    read_message,
    split,
)

STREAM_TYPE = openai.STREAM_TYPE
busy, broken, overloaded = openai.busy, openai.broken, openai.overloaded
forbidden, exhausted, cut_off = openai.forbidden, openai.exhausted, openai.cut_off
Json = dict[str, Any]


def read(body: bytes, terms: ServerTerms, known: Known) -> Ask:
    """Raises: Denied."""
    return openai.understood(body, terms, known, parse)


def parse(fields: JsonBody) -> Ask:
    """Raises: ValueError naming the field."""
    model, said = fields.text("model"), fields.fields.get("input")
    if isinstance(said, str):
        said = [{"role": "user", "content": said}]
    if not isinstance(said, list) or not said:
        raise ValueError("input is required and must be a string or a list")
    # Calls and what tools answered stand among the messages.
    messages = tuple(
        read_message(entry, n)
        for n, entry in enumerate(said)
        if not isinstance(entry, dict) or "role" in entry
    )
    told = fields.fields.get("instructions")
    return Ask(
        model=model,
        name=model,
        messages=((("system", told),) if isinstance(told, str) else ()) + (messages or (("user", ""),)),
        stream=fields.flag("stream", default=False),
        input_tokens=count_input(messages),
        limit=fields.count("max_output_tokens"),
        call=called(fields),
    )


def whole(ask: Ask, said: SimulatedReply, stamp: Stamp) -> bytes:
    return orjson.dumps(_response(ask, said, stamp))


def _response(ask: Ask, said: SimulatedReply, stamp: Stamp) -> Json:
    cut = {"length": "max_output_tokens", "blocked": "content_filter"}.get(said.finish)
    usage = openai.usage(ask, said)
    return {
        "id": f"resp_sim{stamp.number}",
        "object": "response",
        "created_at": int(stamp.at),
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": cut} if cut else None,
        "model": ask.model,
        "output": list(_output(said, stamp)),
        "usage": {
            "input_tokens": usage["prompt_tokens"],
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": usage["completion_tokens"],
            "output_tokens_details": usage["completion_tokens_details"],
            "total_tokens": usage["total_tokens"],
        },
    }


def _output(said: SimulatedReply, stamp: Stamp) -> Iterator[Json]:
    if said.reasoning:
        summary = [{"type": "summary_text", "text": said.reasoning}]
        yield {"type": "reasoning", "id": f"rs_sim{stamp.number}", "summary": summary}
    if said.text or said.call is None:
        yield _message(said, stamp)
    if said.call is not None:
        told = {"name": said.call.name, "arguments": said.call.arguments, "status": "completed"}
        yield {
            "type": "function_call",
            "id": f"fc_sim{stamp.number}",
            "call_id": f"call_sim{stamp.number}",
            **told,
        }


def _message(said: SimulatedReply, stamp: Stamp) -> Json:
    part: Json = {"type": "output_text", "text": said.text, "annotations": []}
    if said.finish == "refused":
        part = {"type": "refusal", "refusal": said.text}
    message = {"type": "message", "id": f"msg_sim{stamp.number}", "role": "assistant", "status": "completed"}
    return {**message, "content": [part]}


def pieces(ask: Ask, said: SimulatedReply, stamp: Stamp) -> list[bytes]:
    return [
        (Paced if told["type"].endswith(".delta") else bytes)(
            b"event: " + told["type"].encode() + b"\n" + openai.event({**told, "sequence_number": number})
        )
        for number, told in enumerate(_events(ask, said, stamp))
    ]


def _events(ask: Ask, said: SimulatedReply, stamp: Stamp) -> Iterator[Json]:
    response = _response(ask, said, stamp)
    begun = {**response, "status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for index, item in enumerate(response["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "content": []}}
        kind, text = _said(item)
        for word in split(text):
            place = {"item_id": item["id"], "output_index": index}
            yield {"type": f"response.{kind}.delta", **place, "delta": word}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": f"response.{response['status']}", "response": response}


def _said(item: Json) -> tuple[str, str]:
    """What the deltas of an item are called, and what they add up to."""
    if item["type"] == "reasoning":
        return "reasoning_summary_text", item["summary"][0]["text"]
    if item["type"] == "function_call":
        return "function_call_arguments", item["arguments"]
    part = item["content"][0]
    return ("refusal", part["refusal"]) if part["type"] == "refusal" else ("output_text", part["text"])
