"""Schemas, ranked first tokens and streams that break, in the shapes of OpenAI and Ollama."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from proctor.simulator import Behaviour, read_options
from proctor.simulator.protocols.ranks import STYLES, rank
from proctor.simulator.protocols.wire import ServerTerms

ASKED = {
    "sim": Behaviour(accuracy=1.0),
    "wrong": Behaviour(accuracy=0.0),
    "silent": Behaviour(silent_rate=1.0),
    "refusing": Behaviour(refuse_rate=1.0),
    "breaking": Behaviour(break_rate=1.0),
    "thinker": Behaviour(accuracy=1.0, thinks=True),
}
SCHEMA = {"type": "object", "properties": {"label": {"enum": ["A", "B"]}}, "required": ["label"]}


def wanted(schema: Any, *, strict: bool = True) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "strict": strict, "schema": schema}}


STRICT = wanted({**SCHEMA, "additionalProperties": False})


def openai_text(got: Any) -> Any:
    return json.loads(got.json["choices"][0]["message"]["content"])


def test_a_schema_gives_an_object_with_its_key(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    assert openai_text(server.openai(response_format=STRICT)) == {"label": "B"}
    assert openai_text(server.openai(response_format={"type": "json_object"})) == {"answer": "B"}
    assert json.loads(server.ollama(format=SCHEMA).json["message"]["content"]) == {"label": "B"}
    assert json.loads(server.ollama(format="json").json["message"]["content"]) == {"answer": "B"}
    assert "{" not in server.openai(response_format={"type": "text"}).json["choices"][0]["message"]["content"]


def test_what_is_not_among_the_options_cannot_be_written(start: Any, known: Any) -> None:
    """The wrong answers of this prompt are A and C, and the schema admits A and B."""
    server = start(known(*(f"Well {i}?" for i in range(20))), ASKED)
    labels = {
        openai_text(server.openai(f"Well {i}?", "wrong", response_format=STRICT))["label"] for i in range(20)
    }
    assert labels <= {"A", "B"} and "A" in labels


@pytest.mark.parametrize(
    "more",
    [
        {"response_format": wanted(SCHEMA)},
        {"response_format": wanted({"additionalProperties": False})},
        {"response_format": {"type": "json_schema"}},
        {"top_logprobs": 5},
        {"logprobs": True, "top_logprobs": 21},
    ],
)
def test_openai_refuses_schemas_and_rankings_that_are_none(start: Any, more: Any) -> None:
    assert start({}, ASKED).openai(**more).status == 400


@pytest.mark.parametrize("more", [{"format": "xml"}, {"format": {"a": 1}}, {"top_logprobs": 21}])
def test_ollama_refuses_them_too(start: Any, more: Any) -> None:
    assert start({}, ASKED).ollama(**more).status == 400


def test_first_tokens_are_ranked_in_both_shapes(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    (choice,) = server.openai(logprobs=True, top_logprobs=20, max_tokens=1).json["choices"]
    (first,) = choice["logprobs"]["content"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("B", "length")
    assert (first["token"], first["bytes"], first["logprob"]) == ("B", [66], math.log(0.7))
    assert first["top_logprobs"][0]["token"] == "B"
    reply = server.ollama(logprobs=True, top_logprobs=20, options={"num_predict": 1}).json
    assert reply["logprobs"] == [first]
    assert (reply["message"]["content"], reply["eval_count"]) == ("B", 1)


def test_as_many_tokens_are_told_as_were_asked_for(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    (choice,) = server.openai(logprobs=True, top_logprobs=2).json["choices"]
    assert len(choice["logprobs"]["content"][0]["top_logprobs"]) == 2
    assert (choice["message"]["content"], choice["finish_reason"]) == ("B", "stop")
    (choice,) = server.openai(model="silent", logprobs=True, top_logprobs=2).json["choices"]
    assert choice["logprobs"]["content"] == []
    assert server.openai().json["choices"][0]["logprobs"] is None
    assert "logprobs" not in server.ollama().json


def test_every_token_of_a_reply_is_told_with_its_log_probability(start: Any, known: Any) -> None:
    server = start(known("Well?", right="not equivalent", wrong=("equivalent",)), ASKED)
    more = {"logprobs": True, "top_logprobs": 2}
    (choice,) = server.openai(**more).json["choices"]
    tokens = choice["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == choice["message"]["content"] == "not equivalent"
    (refused,) = server.openai(model="refusing", **more).json["choices"]
    told = refused["logprobs"]["refusal"]
    assert "".join(token["token"] for token in told) == refused["message"]["refusal"]
    for token in (*tokens, *told):
        assert token["top_logprobs"][0]["logprob"] == token["logprob"] <= 0.0
        assert len(token["top_logprobs"]) == 2 and bytes(token["bytes"]).decode() == token["token"]
    streamed = server.openai(stream=True, **more).events
    deltas = [event["choices"][0] for event in streamed if event["choices"][0]["logprobs"]]
    assert [delta["logprobs"]["content"][0] for delta in deltas] == tokens
    assert "".join(delta["delta"]["content"] for delta in deltas) == "not equivalent"
    (bare,) = server.openai(logprobs=True).json["choices"]
    assert [token["top_logprobs"] for token in bare["logprobs"]["content"]] == [[]] * len(
        bare["logprobs"]["content"]
    )
    assert server.ollama(**more).json["logprobs"] == tokens


def test_the_style_of_tokens_is_the_servers(start: Any, known: Any) -> None:
    server = start(
        known("Well?", right="yes", wrong=("no",)), ASKED, terms=ServerTerms(first_token_style="space")
    )
    (choice,) = server.openai(logprobs=True, top_logprobs=20, max_tokens=1).json["choices"]
    assert choice["message"]["content"] == " yes"


@pytest.mark.parametrize("style", STYLES)
def test_the_best_answer_is_likeliest_in_every_style(style: str) -> None:
    top = rank("not_equivalent", ["equivalent"], style)
    assert [logprob for _, logprob in top] == sorted((logprob for _, logprob in top), reverse=True)
    mine = sum(math.exp(p) for t, p in top if "not_equivalent".startswith(t.strip()) and t.strip())
    assert mine == pytest.approx(0.7)
    assert sum(math.exp(p) for _, p in top) <= 1.0


def test_thinking_can_be_switched_off_as_in_vllm(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    off = {"chat_template_kwargs": {"enable_thinking": False}}
    assert "reasoning_content" not in server.openai(model="thinker", **off).json["choices"][0]["message"]
    assert "reasoning_content" in server.openai(model="thinker").json["choices"][0]["message"]


def test_a_stream_of_ollamas_may_break_with_an_error_line(start: Any) -> None:
    got = start({}, ASKED).ollama(model="breaking", stream=True)
    assert got.status == 200
    assert got.lines[-1] == {"error": "an error was encountered while running the model"}
    assert len(got.lines) > 1 and not any(line.get("done") for line in got.lines)


def test_a_stream_of_openais_breaks_in_an_event(start: Any) -> None:
    server = start({}, ASKED)
    got = server.openai(model="breaking", stream=True)
    last = got.body.decode().rstrip().rpartition("\n")[2]
    assert got.status == 200 and "error" in json.loads(last.removeprefix("data: "))
    assert server.openai(model="breaking").status == 500


@pytest.mark.parametrize(
    ("given", "word"), [({"quota_day": -1}, "--quota-day"), ({"first_token_style": "odd"}, "plain, space")]
)
def test_options_that_cannot_be_meant_are_named(given: Any, word: str) -> None:
    with pytest.raises(ValueError, match=word):
        read_options(given)
    setup = read_options({"quota_day": 3, "first_token_style": "split"})
    assert (setup.terms.quota_day, setup.terms.first_token_style) == (3, "split")
