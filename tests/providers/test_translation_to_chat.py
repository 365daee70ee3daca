"""Responses put into Chat Completions for agents that know no other shape, whole and as streams."""

from __future__ import annotations

import orjson
from translated import (
    FULL,
    USAGE,
    events,
    of_chat,
    of_responses,
    output,
    read,
    stream,
)


def test_a_response_stream_becomes_the_pieces_of_a_chat() -> None:
    text = of_chat().reader.piece(FULL)
    reader = of_responses(stream_options={"include_usage": True}).reader
    said = b"".join(reader.piece(bytes([byte])) for byte in text) + reader.end()
    told = events(said)
    assert said.endswith(b"data: [DONE]\n\n")
    deltas = [each["choices"][0]["delta"] for each in told if each["choices"]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert [delta["content"] for delta in deltas if "content" in delta] == ["", "He", "llo \N{SNOWMAN}"]
    assert "".join(delta.get("reasoning_content", "") for delta in deltas) == "I look"
    made: dict[int, list[str]] = {}
    for delta in deltas:
        for each in delta.get("tool_calls", ()):
            inner = each.get("function") or each["custom"]
            made.setdefault(each["index"], []).append(inner.get("arguments", inner.get("input")))
    assert ["".join(pieces) for pieces in made.values()] == ['{"cmd":"ls"}', "*** ä", "{}"]
    assert [each["choices"][0]["finish_reason"] for each in told if each["choices"]][-1] == "tool_calls"
    assert told[-1]["usage"]["total_tokens"] == 12


def test_a_response_stream_of_whole_items_alone_is_enough() -> None:
    """As small servers of Responses send it: no deltas."""
    items = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{}"},
    ]
    text = stream(
        {"type": "response.created", "response": {"id": "r"}},
        *(
            {"type": "response.output_item.done", "output_index": n, "item": item}
            for n, item in enumerate(items)
        ),
        {
            "type": "response.completed",
            "response": {"id": "r", "usage": {"input_tokens": 1, "output_tokens": 2}},
        },
        done=False,
    )
    deltas = [each["choices"][0]["delta"] for each in read(of_responses().reader, text)]
    assert [delta.get("content") for delta in deltas[:2]] == ["", "Hi"]
    assert deltas[3]["tool_calls"] == [{"index": 0, "function": {"arguments": "{}"}}]


def test_a_response_that_fails_or_is_cut_ends_the_chat_with_an_error() -> None:
    created = {"type": "response.created", "response": {"id": "r"}}
    failed = {"type": "response.failed", "response": {"error": {"code": "server_error", "message": "boom"}}}
    for text, words in (
        (stream(created, failed, done=False), "boom"),
        (stream(created, done=False), "middle"),
    ):
        reader = of_responses().reader
        said = reader.piece(text) + reader.end()
        assert words in events(said)[-1]["error"]["message"]
        assert b"[DONE]" not in said


def test_whole_replies_and_streams_of_them_say_the_same() -> None:
    message = {"role": "assistant", "content": "Hi", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}},
        {"id": "c2", "type": "function", "function": {"name": "apply_patch", "arguments": '{"input":"p"}'}},
    ]}  # fmt: skip
    choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
    body = orjson.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 5,
            "model": "m",
            "choices": choices,
            "usage": USAGE,
        }
    )
    reader = of_chat().reader
    told = events(reader.streamed(body))
    assert orjson.loads(reader.whole(body)) == told[-1]["response"]
    assert [item["type"] for item in output(told)] == ["message", "function_call", "custom_tool_call"]
    back = of_responses().reader
    chunks = events(back.streamed(orjson.dumps(told[-1]["response"])))
    assert chunks[1]["choices"][0]["delta"] == {"content": "Hi"}
    for broken in (b"", b"{}", b'{"choices": []}', b'{"error": {"message": "boom"}}'):
        assert orjson.loads(of_chat().reader.whole(broken))["status"] == "failed"
        assert "error" in orjson.loads(of_responses().reader.whole(broken))
