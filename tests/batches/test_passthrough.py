"""Requests as they stand: what is sent, what is kept of what comes back, and where it goes for each provider."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from proctor.errors import BadReply, ConfigError, ModelNotFound, ServerError
from proctor.grading.kept import kept
from proctor.providers.passthrough import DOORS, address_of
from proctor.providers.passthrough.bodies import member, with_fields
from proctor.types import Model, Outcome, Reply
from scripted import EVENTS, Said, checked, failure_of, passed, reply_to, request, scripted
from simulators import nearby, settings

MESSAGES = [{"role": "user", "content": "Is it warm in Ankara?"}]
TOOL = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
CHAT_TOOLS = {"messages": MESSAGES, "tools": [{"type": "function", "function": TOOL}]}
KEY = "sk-secret-of-the-test"


@pytest.fixture(scope="module")
def simulated() -> Iterator[str]:
    with nearby({}, "--decline", "forbidden words") as url:
        yield f"{url}/v1"


def here(url: str, name: str = "sim") -> Model:
    return Model("openai", name, url)


def answering(body: dict[str, Any], **headers: str) -> Said:
    return Said([orjson.dumps(body)], headers=[f"{k.replace('_', '-')}: {v}" for k, v in headers.items()])


def said(content: str | None, **more: Any) -> dict[str, Any]:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content},
        "finish_reason": "stop",
        **more,
    }
    return {"id": "chatcmpl-7", "choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


# What is sent ----------------------------------------------------------------------------------


@pytest.mark.promise("B-11")
@pytest.mark.parametrize(
    ("body", "sent"),
    [
        (b'{"model":"theirs","messages":[]}', b'{"model":"m","messages":[]}'),
        (b' {"messages" : [ ], "model" :"theirs" } ', b' {"messages" : [ ], "model" :"m" } '),
        (b'{"messages":[]}', b'{"model":"m","messages":[]}'),
        (b"{}", b'{"model":"m"}'),
        (
            b'{"seed":12345678901234567890123,"x":1.10,"y":1E400,"model":{"name":"a"},"z":"\\u00e9\xc3\xa9"}',
            b'{"seed":12345678901234567890123,"x":1.10,"y":1E400,"model":"m","z":"\\u00e9\xc3\xa9"}',
        ),
        (
            b'{"tools":[{"model":"mine"}],"m":"\\"model\\":\\"x\\"","a":["model",{"model":2}],"model":"theirs"}',
            b'{"tools":[{"model":"mine"}],"m":"\\"model\\":\\"x\\"","a":["model",{"model":2}],"model":"m"}',
        ),
        (b'{"model":"a","model":"b"}', b'{"model":"m","model":"m"}'),
    ],
)
def test_a_body_is_sent_byte_for_byte_but_for_the_model(body: bytes, sent: bytes, tmp_path: Path) -> None:
    with scripted(lambda _path, _body: answering(said("yes"))) as server:
        reply_to(here(server.url, "m"), tmp_path, request(body))
    assert server.bodies == [sent]


@pytest.mark.promise("B-11")
def test_real_files_are_sent_as_they_stand(shared: Path) -> None:
    files = sorted((shared / "data" / "openai_batch").rglob("*input*.jsonl"))
    assert len(files) == 3
    for line in (line for file in files for line in file.read_bytes().splitlines() if line.strip()):
        record = orjson.loads(line)
        body = line[line.index(b'"body"') + 6 :].lstrip(b" :").removesuffix(b"}")
        theirs = member(body, "model")
        assert theirs is not None
        assert orjson.loads(theirs) == record["body"]["model"]
        sent = with_fields(body, {"model": b'"another/model"'})
        assert sent.replace(b'"another/model"', theirs) == body
        assert orjson.loads(sent) == {**record["body"], "model": "another/model"}


def test_a_stream_asks_for_its_tokens_and_keeps_the_options_of_its_user(tmp_path: Path) -> None:
    body = b'{"model":"theirs","stream_options":{"include_obfuscation":false},"stream":false,"n":1}'
    chunk = b'data: {"choices":[{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}\n\n'
    with scripted(lambda _path, _body: Said([chunk], kind=EVENTS)) as server:
        reply_to(here(server.url, "m"), tmp_path, request(body), stream=True)
    options = b'{"include_obfuscation":false,"include_usage":true}'
    assert server.bodies == [b'{"model":"m","stream_options":' + options + b',"stream":true,"n":1}']


def test_every_endpoint_is_asked_at_its_own_path(tmp_path: Path) -> None:
    paths = ["/v1/chat/completions", "/v1/moderations", "/v1/images/generations", "/chat/completions"]
    with scripted(lambda path, _: answering(said("yes") if "chat" in path else {"id": "x"})) as server:
        replies = passed(here(server.url), tmp_path, *(request(b"{}", path) for path in paths))
    assert [path for path, _, _ in server.asked] == [*paths[:3], "/v1/chat/completions"]
    assert [reply.text for reply in replies if isinstance(reply, Reply)] == ["yes", "", "", ""]
    assert isinstance(replies[1], Reply)
    assert kept(request(b"{}"), replies[1]).outcome is Outcome.ANSWERED


# What is kept ----------------------------------------------------------------------------------


def test_the_words_of_the_server_are_kept_unharmed(tmp_path: Path) -> None:
    words = b'{ "id":"chatcmpl-7",\n "big": 12345678901234567890123, "x": 1.10, "e": "\\u00e9\xc3\xa9",' + (
        b'"choices": [{"message":{"content":"\\ud83d\\ude00 yes"},"finish_reason":"stop"}]}\n'
    )
    with scripted(lambda _path, _body: Said([words[:30], words[30:]])) as server:
        reply = reply_to(here(server.url), tmp_path, request({"messages": MESSAGES}))
    assert (reply.raw, reply.text, reply.request_id) == (words, "\U0001f600 yes", "chatcmpl-7")
    assert (reply.input_tokens, reply.output_tokens, reply.cost_usd) == (None, None, None)


@pytest.mark.parametrize("header", ["x-request-id", "request-id"])
def test_the_request_id_is_the_header_before_the_bodys(header: str, tmp_path: Path) -> None:
    told = Said([orjson.dumps(said("yes"))], headers=[f"{header}: req_9"])
    with scripted(lambda _path, _body: told) as server:
        assert reply_to(here(server.url), tmp_path, request(b"{}")).request_id == "req_9"


@pytest.mark.parametrize(
    ("answer", "text", "finish", "outcome"),
    [
        (said("yes"), "yes", "stop", Outcome.ANSWERED),
        (said(""), "", "stop", Outcome.NO_ANSWER),
        (said(None), "", "stop", Outcome.NO_ANSWER),
        (said("", finish_reason="length"), "", "length", Outcome.TRUNCATED),
        (said(None, finish_reason="content_filter"), "", "refused", Outcome.REFUSED),
        (
            said(None, message={"content": None, "refusal": "No."}),
            "No.",
            "refused",
            Outcome.REFUSED,
        ),
        (
            said(None, message={"tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]}),
            'f({"a": 1})',
            "tools",
            Outcome.ANSWERED,
        ),
        (
            said("", message={"content": "", "function_call": {"name": "f", "arguments": "{}"}}),
            "f({})",
            "tools",
            Outcome.ANSWERED,
        ),
    ],
)
def test_a_chat_reply_is_told_by_how_it_ends(
    answer: dict[str, Any], text: str, finish: str, outcome: Outcome, tmp_path: Path
) -> None:
    with scripted(lambda _path, _body: answering(answer)) as server:
        reply = reply_to(here(server.url), tmp_path, request(b"{}"))
    assert (reply.text, reply.finish) == (text, finish)
    assert kept(request(b"{}"), reply).outcome is outcome


@pytest.mark.parametrize(
    ("url", "body", "finish", "tokens"),
    [
        ("/v1/chat/completions", {"messages": MESSAGES}, "stop", True),
        ("/v1/chat/completions", CHAT_TOOLS, "tools", True),
        ("/v1/completions", {"prompt": "Once upon"}, "stop", True),
        ("/v1/responses", {"input": "Is it warm?"}, "stop", True),
        ("/v1/responses", {"input": MESSAGES, "tools": [{"type": "function", **TOOL}]}, "tools", True),
        ("/v1/embeddings", {"input": ["a", "b"], "dimensions": 3}, "unknown", False),
    ],
)
def test_every_endpoint_of_the_simulator_is_answered_and_read(
    url: str, body: dict[str, Any], finish: str, tokens: bool, simulated: str, tmp_path: Path
) -> None:
    item = request({"model": "gpt-9", **body}, url)
    reply = reply_to(here(simulated), tmp_path, item)
    assert reply.finish == finish
    assert bool(reply.text) == tokens
    assert (reply.output_tokens is not None) == tokens
    assert reply.input_tokens is not None
    assert reply.request_id or not tokens
    assert kept(item, reply).outcome is Outcome.ANSWERED
    assert orjson.loads(reply.raw)["model"] == "sim"


def test_a_response_that_failed_inside_a_200_is_a_failure(tmp_path: Path) -> None:
    failed = {"status": "failed", "error": {"code": "server_error", "message": "it broke"}, "output": []}
    with scripted(lambda _path, _body: answering(failed)) as server:
        error = failure_of(here(server.url), tmp_path, request(b"{}", "/v1/responses"))
    assert isinstance(error, ServerError)
    assert "it broke" in str(error)
    assert orjson.loads(error.raw) == failed


def test_a_reply_of_another_shape_is_a_failure_that_keeps_the_words(tmp_path: Path) -> None:
    with scripted(lambda _path, _body: Said([b"<html>busy</html>"], kind="text/html")) as server:
        error = failure_of(here(server.url), tmp_path, request(b"{}"))
    assert isinstance(error, BadReply)
    assert error.raw == b"<html>busy</html>"


# Refusals --------------------------------------------------------------------------------------


def test_a_refused_line_keeps_status_and_words_of_the_server(simulated: str, tmp_path: Path) -> None:
    item = request({"messages": [{"role": "user", "content": "some forbidden words"}]})
    error = failure_of(here(simulated), tmp_path, item)
    assert (error.slug, error.status, error.stops_run) == ("bad-request", 400, False)
    assert orjson.loads(error.raw)["error"]["code"] == "invalid_prompt"


@pytest.mark.parametrize(
    ("status", "body", "stops"),
    [
        (401, {"error": {"message": "no key"}}, True),
        (403, {"error": {"message": "not yours"}}, True),
        (404, {"error": {"message": "The model 'x' does not exist"}}, True),
        (404, {"detail": "Not Found"}, False),
        (400, {"error": {"message": "input: 'my API key not valid': wrong"}}, False),
        (413, {"error": "too large"}, False),
        (422, {"detail": "no such field"}, False),
    ],
)
def test_only_what_no_other_line_can_escape_stops_the_run(
    status: int, body: dict[str, Any], stops: bool, tmp_path: Path
) -> None:
    with scripted(lambda _path, _body: Said([orjson.dumps(body)], status=status)) as server:
        error = failure_of(here(server.url), tmp_path, request(b"{}"))
    assert (error.stops_run, error.status, orjson.loads(error.raw)) == (stops, status, body)


# Doors -----------------------------------------------------------------------------------------


def environ_of(url: str) -> dict[str, str]:
    return {
        "OPENAI_BASE_URL": f"{url}/v1",
        "OPENAI_API_KEY": KEY,
        "OLLAMA_HOST": url,
        "GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": KEY,
        "XAI_BASE_URL": f"{url}/xai/v1",
        "XAI_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": KEY,
    }


@pytest.mark.promise("B-11")
@pytest.mark.parametrize("name", ["openai", "ollama", "gemini", "grok", "anthropic"])
def test_every_provider_answers_requests_as_they_stand(name: str, tmp_path: Path) -> None:
    keyed = [] if name == "ollama" else ["--key", KEY]
    with nearby({}, *keyed) as url:
        reply = reply_to(Model(name, "sim"), tmp_path, request(CHAT_TOOLS), stream=False, **environ_of(url))
    assert (reply.text, reply.finish) == ('weather({"city":"something"})', "tools")


@pytest.mark.parametrize("stream", [False, True])
def test_a_key_that_a_server_quotes_is_not_kept(stream: bool, tmp_path: Path) -> None:
    quoting = Said([f'data: {{"error": {{"message": "no: {KEY}"}}}}\n\n'.encode()], kind=EVENTS)
    refusing = Said([orjson.dumps({"error": {"message": f"no: {KEY}"}})], status=400)
    with scripted(lambda _path, _body: quoting if stream else refusing) as server:
        error = failure_of(here(server.url), tmp_path, request(b"{}"), stream=stream, OPENAI_API_KEY=KEY)
    assert KEY not in str(error)
    assert KEY.encode() not in error.raw
    assert f"Authorization: Bearer {KEY}" in server.asked[0][1]


@pytest.mark.parametrize(
    ("model", "address"),
    [
        (Model("openai", "m"), "https://api.openai.com/v1"),
        (Model("openai", "m", "http://127.0.0.1:9000"), "http://127.0.0.1:9000/v1"),
        (Model("openai", "m", "http://127.0.0.1:9000/v1/"), "http://127.0.0.1:9000/v1"),
        (Model("openai", "m", "http://127.0.0.1:9000/of/mine"), "http://127.0.0.1:9000/of/mine"),
        (Model("ollama", "m"), "http://127.0.0.1:11434/v1"),
        (Model("ollama", "m", "http://127.0.0.1:9000/v1"), "http://127.0.0.1:9000/v1"),
        (Model("gemini", "m"), "https://generativelanguage.googleapis.com/v1beta/openai"),
        (Model("grok", "m"), "https://api.x.ai/v1"),
        (Model("anthropic", "m"), "https://api.anthropic.com/v1"),
    ],
)
def test_an_address_may_stand_with_or_without_its_version(model: Model, address: str, tmp_path: Path) -> None:
    assert address_of(model, settings(tmp_path)) == address


@pytest.mark.parametrize("name", ["baseline", "replay"])
def test_what_answers_exams_alone_says_what_to_do(name: str, tmp_path: Path) -> None:
    assert name not in DOORS
    with pytest.raises(ConfigError, match=r"answers exams alone.*simulator/sim"):
        address_of(Model(name, "majority"), settings(tmp_path))


def test_a_model_that_is_not_there_is_found_out_before_a_line_is_sent(simulated: str, tmp_path: Path) -> None:

    checked(here(simulated), tmp_path)
    checked(Model("ollama", "sim", simulated), tmp_path)
    with pytest.raises(ModelNotFound):
        checked(here(simulated, "nobody"), tmp_path)
