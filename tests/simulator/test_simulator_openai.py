"""OpenAI's shape over HTTP: replies, streams, errors, keys."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

import pytest

from proctor.simulator import NAMED, Behaviour
from proctor.simulator.protocols.wire import ServerTerms

ASKED = {"sim": Behaviour(accuracy=1.0), "thinker": Behaviour(accuracy=1.0, thinks=True)}


def test_a_reply_has_every_part_that_clients_read(start: Any, known: Any) -> None:
    got = start(known("Well?" * 8), ASKED).openai("Well?" * 8)
    assert (got.status, got.headers["Content-Type"]) == (200, "application/json")
    reply = got.json
    (choice,) = reply["choices"]
    assert choice["message"].keys() == {"role", "content", "refusal"}
    assert choice["message"]["content"].endswith("\n\nAnswer: B")
    assert (choice["index"], choice["finish_reason"], choice["logprobs"]) == (0, "stop", None)
    tokens = len(choice["message"]["content"]) // 4 + 1
    assert reply["usage"] == {
        "prompt_tokens": 10,
        "completion_tokens": tokens,
        "total_tokens": 10 + tokens,
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
    assert (reply["object"], reply["model"]) == ("chat.completion", "sim")
    assert reply["id"].startswith("chatcmpl-")
    assert isinstance(reply["created"], int)


def test_urllib_is_answered_too(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    body = json.dumps({"model": "sim", "messages": [{"role": "user", "content": "Well?"}]}).encode()
    with build_opener(ProxyHandler({})).open(Request(server.url + "/v1/chat/completions", body)) as response:
        assert json.load(response)["choices"][0]["message"]["content"].endswith("Answer: B")


def test_content_in_parts_is_the_same_prompt(start: Any, known: Any) -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": "We"}, {"type": "text", "text": "ll?"}]}]
    got = start(known("Well?"), ASKED).openai(messages=parts)
    assert got.json["choices"][0]["message"]["content"].endswith("Answer: B")


def test_reasoning_stands_beside_the_content_and_in_the_usage(start: Any, known: Any) -> None:
    reply = start(known("Well?"), ASKED).openai(model="thinker").json
    message = reply["choices"][0]["message"]
    thought = len(message["reasoning_content"]) // 4 + 1
    assert reply["usage"]["completion_tokens_details"] == {"reasoning_tokens": thought}
    assert reply["usage"]["completion_tokens"] == thought + len(message["content"]) // 4 + 1


def test_a_refusal_has_a_field_of_its_own(start: Any) -> None:
    (choice,) = start().openai(model="sim-refusing").json["choices"]
    assert choice["finish_reason"] == "content_filter"
    assert choice["message"]["content"] is None
    assert choice["message"]["refusal"]


@pytest.mark.parametrize(("model", "finish"), [("sim-silent", "stop"), ("sim-truncating", "length")])
def test_other_faults_show_in_text_and_finish(start: Any, known: Any, model: str, finish: str) -> None:
    (choice,) = start(known("Well?")).openai(model=model).json["choices"]
    assert choice["finish_reason"] == finish
    assert "Answer" not in choice["message"]["content"]
    assert (choice["message"]["content"] == "") == (model == "sim-silent")


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_a_token_limit_cuts(start: Any, known: Any, name: str) -> None:
    reply = start(known("Well?"), ASKED).openai(**{name: 3}).json
    assert reply["usage"]["completion_tokens"] == 3
    assert reply["choices"][0]["finish_reason"] == "length"


def test_a_stream_is_the_whole_reply_in_pieces(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    whole = server.openai(model="thinker").json["choices"][0]["message"]
    got = server.openai(model="thinker", stream=True)
    assert got.headers["Content-Type"] == "text/event-stream"
    events = got.events
    first, *middle, last = [event["choices"][0] for event in events]
    assert first["delta"] == {"role": "assistant", "content": "", "refusal": None}
    for name in ("content", "reasoning_content"):
        assert "".join(choice["delta"].get(name, "") for choice in middle) == whole[name]
    assert [choice["finish_reason"] for choice in (first, *middle)] == [None] * (len(middle) + 1)
    assert (last["delta"], last["finish_reason"]) == ({}, "stop")
    assert len(middle) > 5
    assert all("usage" not in event for event in events)
    assert {event["object"] for event in events} == {"chat.completion.chunk"}
    assert len({event["id"] for event in events}) == 1


def test_a_stream_tells_usage_only_when_asked(start: Any) -> None:
    server = start()
    *events, last = server.openai(stream=True, stream_options={"include_usage": True}).events
    assert last["choices"] == []
    assert last["usage"] == server.openai().json["usage"]
    assert all(event["usage"] is None for event in events)


def test_a_streamed_refusal_comes_as_refusal(start: Any) -> None:
    events = start().openai(model="sim-refusing", stream=True).events
    deltas = [event["choices"][0]["delta"] for event in events]
    assert "".join(delta.get("refusal") or "" for delta in deltas)
    assert "".join(delta.get("content") or "" for delta in deltas) == ""
    assert events[-1]["choices"][0]["finish_reason"] == "content_filter"


def test_the_stream_of_a_slow_model_is_as_long_as_that_of_a_quick_one(start: Any, known: Any) -> None:
    """A latency is spread over the pieces; none is lost on the way."""
    models = {"quick": Behaviour(1.0), "slow": Behaviour(1.0, latency_s=0.02)}
    server = start(known("Well?"), models)
    for name in models:
        events = server.openai(model=name, stream=True).events
        text = "".join(event["choices"][0]["delta"].get("content", "") for event in events)
        assert text.endswith("Answer: B")
    assert server.stats()["sum_latency_s"] == pytest.approx(0.02)


def test_the_models_are_listed_in_their_order(start: Any) -> None:
    reply = start().get("/v1/models").json
    assert reply["object"] == "list"
    assert [entry["id"] for entry in reply["data"]] == list(NAMED)
    assert reply["data"][0].keys() == {"id", "object", "created", "owned_by"}


def test_an_unknown_model_is_not_found(start: Any) -> None:
    got = start().openai(model="nope")
    assert got.status == 404
    assert got.json["error"]["code"] == "model_not_found"
    assert "'nope'" in got.json["error"]["message"]
    assert got.json["error"].keys() == {"message", "type", "param", "code"}


def test_a_prompt_too_long_is_refused_and_the_numbers_are_told(start: Any) -> None:
    server = start(terms=ServerTerms(context_tokens=100))
    assert server.openai("x" * 403).status == 200
    got = server.openai("x" * 404)
    assert (got.status, got.json["error"]["code"]) == (400, "context_length_exceeded")
    assert "100 tokens" in got.json["error"]["message"]
    assert "101 tokens" in got.json["error"]["message"]


def test_parameters_can_be_refused(start: Any) -> None:
    server = start(terms=ServerTerms(reject=frozenset({"seed", "max_tokens"})))
    assert server.openai(temperature=0, seed=None).status == 200
    got = server.openai(seed=1)
    assert got.status == 400
    assert got.json["error"] == {
        "message": "Unsupported parameter: 'seed' is not supported with this model.",
        "type": "invalid_request_error",
        "param": "seed",
        "code": "unsupported_parameter",
    }
    got = server.openai(max_tokens=9)
    assert "'max_completion_tokens'" in got.json["error"]["message"]
    assert server.openai(max_completion_tokens=9).status == 200


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b'{"model": "sim"}', b'{"model": "sim", "messages": []}', b'{"messages": [{}]}',
        b'{"model": "sim", "messages": [1]}',
        b'{"model": "sim", "messages": [{"role": "user", "content": 1}]}',
        b'{"model": 1, "messages": [{"role": "user", "content": "x"}]}',
        b'{"model": "sim", "messages": [{"role": "user", "content": "x"}], "max_tokens": 0}',
        b'{"model": "sim", "messages": [{"role": "user", "content": "x"}], "max_tokens": "9"}',
        b'{"model": "sim", "messages": [{"role": "user", "content": "x"}], "stream": "yes"}',
        b'{"model": "sim", "messages": [{"role": "user", "content": "x"}], "stream_options": 1}',
    ],
)  # fmt: skip
def test_a_request_that_makes_no_sense_is_a_400(start: Any, body: bytes) -> None:
    got = start().send("POST", "/v1/chat/completions", body)
    assert got.status == 400
    assert got.json["error"]["type"] == "invalid_request_error"


def test_a_key_is_asked_for_and_never_told(start: Any) -> None:
    server = start(key="right-secret-key")
    for given in ({}, {"Authorization": "Bearer wrong-secret-key"}):
        got = server.get("/v1/models", headers=given)
        assert got.status == 401
        assert got.json["error"].keys() == {"message", "type", "param", "code"}
        assert b"secret" not in got.body
    assert "wro********-key" in got.json["error"]["message"]
    assert got.json["error"]["code"] == "invalid_api_key"
    assert server.openai().status == 401
    assert server.ollama().status == 401
    assert server.get("/v1/models", headers={"Authorization": "Bearer right-secret-key"}).status == 200
    assert server.stats()["seen"] == 2


def test_a_short_key_is_hidden_altogether(start: Any) -> None:
    got = start(key="right").get("/v1/models", headers={"Authorization": "Bearer wrong"})
    assert b"wrong" not in got.body


def test_a_busy_server_says_when_to_come_back(start: Any) -> None:
    got = start({}, {"sim": Behaviour(rate_limit_rate=1.0, retry_after_s=1.5)}).openai()
    assert (got.status, got.headers["Retry-After"]) == (429, "1.5")
    assert got.json["error"]["code"] == "rate_limit_exceeded"


def test_a_broken_server_says_500(start: Any) -> None:
    got = start({}, {"sim": Behaviour(error_rate=1.0)}).openai(stream=True)
    assert (got.status, got.json["error"]["type"]) == (500, "server_error")


def test_n_replies_come_at_once_and_the_usage_counts_them_all(start: Any, known: Any) -> None:
    server = start(known("Well?" * 8), {"sim": Behaviour(accuracy=0.5)})
    reply = server.openai("Well?" * 8, n=16).json
    assert [choice["index"] for choice in reply["choices"]] == list(range(16))
    texts = [choice["message"]["content"] for choice in reply["choices"]]
    assert {text[-1] for text in texts} >= {"B"} and len(set(texts)) > 1, "each reply has luck of its own"
    assert texts[0] == server.openai("Well?" * 8).json["choices"][0]["message"]["content"]
    assert reply["usage"]["prompt_tokens"] == 10
    assert reply["usage"]["completion_tokens"] == sum(len(text) // 4 + 1 for text in texts)
    events = server.openai("Well?" * 8, n=2, stream=True).events
    streamed = ["", ""]
    for event in events:
        streamed[event["choices"][0]["index"]] += event["choices"][0]["delta"].get("content") or ""
    assert streamed == texts[:2]
    assert [e["choices"][0]["finish_reason"] for e in events].count("stop") == 2


@pytest.mark.parametrize(
    ("field", "value", "words", "code"),
    [
        (
            "temperature",
            9,
            "decimal above maximum value. Expected a value <= 2, but got 9",
            "decimal_above_max_value",
        ),
        ("temperature", -1, "decimal below minimum value. Expected a value >= 0", "decimal_below_min_value"),
        ("temperature", "hot", "expected a decimal, but got a string", "invalid_type"),
        ("top_p", 1.5, "Expected a value <= 1, but got 1.5", "decimal_above_max_value"),
        ("n", 0, "integer below minimum value. Expected a value >= 1", "integer_below_min_value"),
        ("n", 129, "Expected a value <= 128", "integer_above_max_value"),
        ("n", 1.5, "expected an integer, but got a decimal", "invalid_type"),
    ],
)
def test_a_number_out_of_its_range_is_refused_by_name(
    start: Any, field: str, value: Any, words: str, code: str
) -> None:
    got = start({}, ASKED).openai(**{field: value})
    error = got.json["error"]
    assert got.status == 400 and f"'{field}'" in error["message"] and words in error["message"]
    assert (error["param"], error["code"], error["type"]) == (field, code, "invalid_request_error")


def test_a_number_at_the_end_of_its_range_is_taken(start: Any) -> None:
    assert start({}, ASKED).openai(temperature=2, top_p=0, n=1, frequency_penalty=-2).status == 200
