"""Streams as model servers send them, and what becomes of them in the other of OpenAI's shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from proctor.providers.translation import ReplyReader, Translation, translate

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
Json = dict[str, Any]
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
TOOLS = [
    {"type": "function", "name": "run", "parameters": {}},
    {"type": "custom", "name": "apply_patch"},
    {"type": "namespace", "name": "agents", "tools": [{"type": "function", "name": "close"}]},
    {"type": "local_shell"},
]


def of_chat(**asked: Any) -> Translation:
    return translate(RESPONSES, orjson.dumps({"input": "x", "tools": TOOLS, **asked}), CHAT, unique="u")


def of_responses(**asked: Any) -> Translation:
    return translate(CHAT, orjson.dumps({"messages": [], **asked}), RESPONSES, unique="u")


def chunk(delta: Json, finish: str | None = None, **more: Any) -> Json:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "x",
        "object": "chat.completion.chunk",
        "created": 5,
        "model": "m",
        "choices": choices,
        **more,
    }


def call(index: int | None, name: str | None, arguments: Any, ident: str | None = None, **more: Any) -> Json:
    told = {"index": index, "id": ident, "function": {"name": name, "arguments": arguments}, **more}
    told["function"] = {k: v for k, v in told["function"].items() if v is not None}
    return {"tool_calls": [{k: v for k, v in told.items() if v is not None}]}


def stream(*chunks: Json, done: bool = True) -> bytes:
    return b"".join(b"data: " + orjson.dumps(each) + b"\n\n" for each in chunks) + b"data: [DONE]\n\n" * done


def events(text: bytes) -> list[Json]:
    """The events of a stream; each is whole and, in Responses, named as its data says."""
    found = []
    for event in text.split(b"\n\n")[:-1]:
        name, said = event[: event.rfind(b"\n") + 1], event.rpartition(b"\n")[2]
        data = said.removeprefix(b"data: ")
        if data != b"[DONE]":
            found.append(orjson.loads(data))
            assert name in (b"", b"event: " + str(found[-1].get("type")).encode() + b"\n")
    return found


def read(reader: ReplyReader, text: bytes) -> list[Json]:
    return events(reader.piece(text) + reader.end())


def output(told: Sequence[Json]) -> list[Json]:
    """What the reply is in the end, having held that every item was told of from its beginning to its end."""
    last = told[-1]["response"]
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert [event["type"] for event in told[:2]] == ["response.created", "response.in_progress"]
    ended = {
        event["output_index"]: event["item"] for event in told if event["type"] == "response.output_item.done"
    }
    begun = [event["output_index"] for event in told if event["type"] == "response.output_item.added"]
    assert begun == sorted(begun) == sorted(ended)
    assert last["output"] == [ended[place] for place in begun]
    for place, item in ended.items():
        pieces = [e["delta"] for e in told if e["type"].endswith(".delta") and e["output_index"] == place]
        if item["type"] in ("function_call", "custom_tool_call"):
            assert "".join(pieces) == (item.get("arguments") or item.get("input") or "")
        if item["type"] == "message":
            assert "".join(pieces) == "".join(
                part.get("text") or part.get("refusal") or "" for part in item["content"]
            )
    return [ended[place] for place in begun]


def calls(items: Sequence[Json]) -> list[tuple[str, str]]:
    return [(item["call_id"], item["arguments"]) for item in items if item["type"] == "function_call"]


FULL = stream(
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning": "I lo"}),
    chunk({"reasoning": "ok"}),
    chunk({"content": "He"}),
    chunk({"content": "llo \N{SNOWMAN}"}),
    chunk(call(0, "run", "", "c1")),
    chunk(call(1, "apply_patch", '{"inp', "c2")),
    chunk(call(0, None, '{"cmd"')),
    chunk(call(1, None, 'ut":"*** \\u00e4"}')),
    chunk(call(0, None, ':"ls"}')),
    chunk(call(2, "agents__close", "", "c3", extra_content={"google": {"thought_signature": "S"}})),
    chunk({}, "tool_calls"),
    {"id": "x", "choices": [], "usage": {**USAGE, "prompt_tokens_details": {"cached_tokens": 3}}},
)
