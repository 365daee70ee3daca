"""The official client reads what is translated for it, from a server over HTTP: every event, every piece."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest
from openai import BadRequestError, OpenAI

from proctor.providers.translation import Untranslatable, translate

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
OTHER = {CHAT: RESPONSES, RESPONSES: CHAT}
Json = dict[str, Any]


def chunk(delta: Json, finish: str | None = None) -> Json:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {"id": "x", "object": "chat.completion.chunk", "created": 5, "model": "m", "choices": choices}


CALL = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
CHUNKS = (
    chunk({"role": "assistant", "reasoning_content": "Hm"}),
    chunk({"content": "One "}),
    chunk({"content": "moment"}),
    chunk({"tool_calls": [{"index": 0, **CALL}]}),
    chunk({}, "tool_calls"),
    {"id": "x", "object": "chat.completion.chunk", "created": 5, "model": "m", "choices": [], "usage": USAGE},
)
STREAM = b"".join(b"data: " + json.dumps(each).encode() + b"\n\n" for each in CHUNKS) + b"data: [DONE]\n\n"
MESSAGE = {"role": "assistant", "content": "One moment", "reasoning_content": "Hm", "tool_calls": [CALL]}
WHOLE = json.dumps({
    "id": "x", "object": "chat.completion", "created": 5, "model": "m", "usage": USAGE,
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "tool_calls"}],
}).encode()  # fmt: skip


def answered(path: str, body: bytes) -> tuple[int, str, bytes]:
    """What an agent gets whose model's server speaks the other shape alone."""
    try:
        reader = translate(path, body, OTHER[path]).reader
    except Untranslatable as refused:
        return 400, "application/json", refused.body()
    streamed = bool(json.loads(body).get("stream"))
    if path == CHAT:  # the server's responses are made of the same reply
        made = translate(RESPONSES, b'{"input": "x"}', CHAT).reader
        said = made.piece(STREAM) + made.end() if streamed else made.whole(WHOLE)
    else:
        said = STREAM if streamed else WHOLE
    if streamed:
        return 200, "text/event-stream", reader.piece(said) + reader.end()
    return 200, "application/json", reader.whole(said)


class Server(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        status, kind, text = answered(self.path, body)
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_told: Any) -> None:
        """Tests print nothing."""


@pytest.fixture(scope="module")
def client() -> Iterator[OpenAI]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    with OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="none", max_retries=0) as made:
        yield made
    server.shutdown()
    thread.join()
    server.server_close()


TOOL: Json = {"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": False}


def test_responses_are_read_whole_and_as_streams(client: OpenAI) -> None:
    whole = client.responses.create(model="m", input="x", tools=[TOOL])  # type: ignore[list-item]  # a plain object
    assert whole.output_text == "One moment"
    assert [item.type for item in whole.output] == ["reasoning", "message", "function_call"]
    assert whole.usage is not None
    assert whole.usage.total_tokens == 12
    with client.responses.stream(model="m", input="x", tools=[TOOL]) as stream:  # type: ignore[list-item]  # the same
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created"
    assert kinds[-1] == "response.completed"
    assert kinds.count("response.output_text.delta") == 2
    assert final.output_text == "One moment"
    assert [item.to_dict()["type"] for item in final.output] == [item.type for item in whole.output]
    # What it was given goes back into the next turn as it is.
    again = client.responses.create(model="m", input=[item.to_dict() for item in final.output])  # type: ignore[misc]  # the same
    assert again.status == "completed"


def test_chat_completions_are_read_whole_and_as_streams(client: OpenAI) -> None:
    whole = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
    message = whole.choices[0].message
    assert message.content == "One moment"
    assert message.tool_calls is not None
    assert message.tool_calls[0].to_dict() == CALL
    with client.chat.completions.stream(
        model="m", messages=[{"role": "user", "content": "x"}], stream_options={"include_usage": True}
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    assert final.choices[0].message.content == "One moment"
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage is not None
    assert final.usage.total_tokens == 12


def test_a_refusal_is_an_error_of_the_request_with_the_field_named(client: OpenAI) -> None:
    with pytest.raises(BadRequestError) as refused:
        client.responses.create(model="m", input="x", previous_response_id="resp_1")
    assert refused.value.param == "previous_response_id"
    assert "keeps no conversations" in str(refused.value)
