"""What agents ask and servers answer, on its way between OpenAI's two shapes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

from fuzz import wire_seeds as seeds
from fuzz.contract import Parser, reads
from proctor.providers.translation import ReplyReader, translate

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
OTHER = {CHAT: RESPONSES, RESPONSES: CHAT}
PNG = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"}
TURN: dict[str, Any] = {
    "model": "m",
    "stream": True,
    "instructions": "Be brief.",
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Know this."}]},
        {"role": "user", "content": "Do it."},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}],
         "encrypted_content": "proctor-chat-1.eyJhcyI6InJlYXNvbmluZyIsImNhbGxzIjp7ImMxIjp7ImciOjF9fX0="},
        {"type": "function_call", "call_id": "c1", "name": "run", "arguments": '{"cmd":"ls"}', "namespace": "n"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin"},
        {"type": "local_shell_call", "call_id": "c3", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "function_call_output", "call_id": "c1", "output": [PNG, {"type": "input_text", "text": "x"}]},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": "Done."},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
    ],
    "tools": [
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True},
        {"type": "custom", "name": "patch", "format": {"type": "grammar", "syntax": "lark", "definition": "s: x"}},
        {"type": "namespace", "name": "n", "tools": [{"type": "function", "name": "run"}]},
        {"type": "web_search"},
    ],
    "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]},
    "text": {"format": {"type": "json_schema", "name": "s", "schema": {}}, "verbosity": "low"},
    "reasoning": {"effort": "low"},
    "include": ["message.output_text.logprobs"],
    "max_output_tokens": 9,
}  # fmt: skip


def _to_chat() -> Sequence[bytes]:
    return [json.dumps(TURN).encode(), b'{"input": "x", "previous_response_id": "r"}']


def _to_responses() -> Sequence[bytes]:
    return [translate(RESPONSES, _to_chat()[0], CHAT, unique="u").body, *seeds.requests()]


def _asked(path: str, body: bytes) -> object:
    told = translate(path, body, OTHER[path], unique="u")
    json.loads(told.body)
    return told.remarks


def _reader(path: str) -> ReplyReader:
    asked = (
        _to_chat()[0] if path == RESPONSES else b'{"messages": [], "stream_options": {"include_usage": true}}'
    )
    return translate(path, asked, OTHER[path], unique="u").reader


def _streamed(path: str) -> Callable[[bytes], object]:
    def read(body: bytes) -> object:
        """Cut anywhere it says the same as in one piece, and it ends once."""
        random, reader, whole = Random(len(body)), _reader(path), _reader(path)
        cuts = sorted({0, len(body), *(random.randint(0, len(body)) for _ in range(4))})
        said = b"".join(reader.piece(body[first:last]) for first, last in pairwise(cuts)) + reader.end()
        assert said == whole.piece(body) + whole.end()
        assert reader.done and reader.end() == b""
        for event in said.split(b"\n\n")[:-1]:
            data = event.rpartition(b"\n")[2].removeprefix(b"data: ")
            assert data == b"[DONE]" or isinstance(json.loads(data), dict)
        return None

    return read


def _whole(path: str, body: bytes) -> object:
    reader = _reader(path)
    assert isinstance(json.loads(reader.whole(body)), dict)
    assert reader.streamed(body).endswith(b"\n\n")
    return json.loads(reader.error(400, body))["error"]["message"]


PARSERS: Sequence[Parser] = [
    Parser("to chat", _to_chat, reads(partial(_asked, RESPONSES)), "json"),
    Parser("to responses", _to_responses, reads(partial(_asked, CHAT)), "json"),
    Parser("chat as responses", seeds.chats, reads(partial(_whole, RESPONSES)), "json"),
    Parser("responses as chat", seeds.responses, reads(partial(_whole, CHAT)), "json"),
    Parser("chat stream as responses", seeds.chat_streams, reads(_streamed(RESPONSES))),
    Parser("responses stream as chat", seeds.response_streams, reads(_streamed(CHAT))),
]
