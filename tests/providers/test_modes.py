"""Structured and logprob modes over HTTP: what is sent, what is read back, and who does not offer them."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recording import Recording, Script, recording

from proctor.errors import BadReply, BadRequest, ConfigError
from proctor.providers import OFFERED, PROVIDERS
from proctor.providers.modes import answer_schema, ranking
from proctor.providers.wire.wire_types import JsonTable
from proctor.types import Item, Model, Reply, Sampling
from simulators import ask, provider, questions, simulator

LETTERED = [replace(item, options=("A", "B", "C", "D")) for item in questions(200)]
ITEM = LETTERED[0]
FREE = replace(ITEM, options=())
STRUCTURED = Sampling(mode="structured")
LOGPROB = Sampling(mode="logprob")
SHAPES = ["openai", "ollama", "gemini", "grok"]
RANKED = ["openai", "ollama", "gemini"]
PATHS = {"openai": "/v1", "grok": "/xai/v1"}


def model(shape: str, url: str, name: str = "sim-perfect") -> Model:
    return Model(shape, name, url + PATHS.get(shape, ""))


@pytest.fixture(scope="module")
def server():
    with simulator(LETTERED) as running:
        yield running


TOP = [{"token": "B", "logprob": -1.5, "bytes": [66]}, {"token": "A", "logprob": -0.5, "bytes": [65]}]
REPLIES: dict[str, Any] = {
    "openai": {
        "choices": [
            {
                "message": {"content": "A"},
                "finish_reason": "length",
                "logprobs": {"content": [{"token": "A", "logprob": -0.5, "top_logprobs": TOP}]},
            }
        ]
    },
    "ollama": {
        "message": {"content": "A"},
        "done": True,
        "done_reason": "length",
        "logprobs": [{"token": "A", "logprob": -0.5, "top_logprobs": TOP}],
    },
    "gemini": {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "A"}]},
                "finishReason": "MAX_TOKENS",
                "logprobsResult": {
                    "topCandidates": [
                        {
                            "candidates": [
                                {"token": "B", "tokenId": 2, "logProbability": -1.5},
                                {"token": "A", "tokenId": 1, "logProbability": -0.5},
                            ]
                        }
                    ],
                    "chosenCandidates": [{"token": "A", "tokenId": 1, "logProbability": -0.5}],
                },
            }
        ]
    },
}
REPLIES["grok"] = REPLIES["openai"]


def scripted(
    tmp_path: Path, shape: str, sampling: Sampling, item: Item, record: Any = None, status: int = 200
) -> tuple[Recording, Reply]:
    with recording([Script(REPLIES[shape] if record is None else record, status)]) as server:
        return server, ask(Model(shape, "m", server.url), tmp_path, item, sampling=sampling)


@pytest.mark.parametrize("item", [ITEM, FREE], ids=["options", "free text"])
def test_each_protocol_is_sent_the_schema_in_its_own_words(tmp_path, item):
    listed = {"enum": ["A", "B", "C", "D"]} if item.options else {}
    schema = {
        "type": "object",
        "properties": {"answer": {"type": "string", **listed}},
        "required": ["answer"],
    }
    sent = {shape: scripted(tmp_path, shape, STRUCTURED, item)[0].last.json for shape in SHAPES}
    assert sent["ollama"]["format"] == schema
    for shape in ("openai", "grok"):
        assert sent[shape]["response_format"] == {
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "strict": True,
                "schema": {**schema, "additionalProperties": False},
            },
        }
    config = sent["gemini"]["generationConfig"]
    assert config["responseMimeType"] == "application/json"
    assert config["responseSchema"] == {
        "type": "OBJECT",
        "properties": {"answer": {"type": "STRING", **listed}},
        "required": ["answer"],
    }


def test_each_protocol_is_asked_for_one_ranked_token_without_thinking(tmp_path):
    sent = {shape: scripted(tmp_path, shape, LOGPROB, ITEM)[0].last.json for shape in RANKED}
    assert {k: sent["ollama"][k] for k in ("logprobs", "top_logprobs", "think")} == {
        "logprobs": True,
        "top_logprobs": 20,
        "think": False,
    }
    assert sent["ollama"]["options"]["num_predict"] == 1
    assert {k: sent["openai"][k] for k in ("logprobs", "top_logprobs", "max_tokens")} == {
        "logprobs": True,
        "top_logprobs": 20,
        "max_tokens": 1,
    }
    assert sent["openai"]["chat_template_kwargs"] == {"enable_thinking": False}
    config = sent["gemini"]["generationConfig"]
    assert (config["responseLogprobs"], config["logprobs"], config["maxOutputTokens"]) == (True, 20, 1)
    assert config["thinkingConfig"] == {"thinkingBudget": 0}


@pytest.mark.parametrize("shape", SHAPES)
def test_mode_generate_sends_nothing_of_either(tmp_path, shape):
    sent = scripted(tmp_path, shape, Sampling(), ITEM)[0].last.body
    for word in (b"logprobs", b"response", b"schema", b"format", b'"think"'):
        assert word not in sent


@pytest.mark.parametrize("shape", RANKED)
def test_the_first_token_is_ranked_and_its_cut_is_no_truncation(tmp_path, shape):
    _, reply = scripted(tmp_path, shape, LOGPROB, ITEM)
    assert reply.first_token == (("A", -0.5), ("B", -1.5))
    assert (reply.text, reply.finish) == ("A", "stop")


@pytest.mark.parametrize("shape", RANKED)
def test_the_ranking_is_left_alone_in_other_modes(tmp_path, shape):
    _, reply = scripted(tmp_path, shape, Sampling(), ITEM)
    assert (reply.first_token, reply.finish) == ((), "length")


def test_the_chosen_token_stands_in_for_a_missing_list(tmp_path):
    record = json.loads(json.dumps(REPLIES))
    record["openai"]["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = []
    record["ollama"]["logprobs"][0]["top_logprobs"] = None
    del record["gemini"]["candidates"][0]["logprobsResult"]["topCandidates"]
    for shape in RANKED:
        _, reply = scripted(tmp_path, shape, LOGPROB, ITEM, record[shape])
        assert reply.first_token == (("A", -0.5),), shape


@pytest.mark.parametrize("shape", RANKED)
def test_a_server_that_ignores_the_wish_is_an_error_of_the_item(tmp_path, shape):
    """Older servers pass over the fields they do not know; an unranked reply must not score as no answer."""
    record = json.loads(json.dumps(REPLIES))
    del record["openai"]["choices"][0]["logprobs"]
    del record["ollama"]["logprobs"]
    del record["gemini"]["candidates"][0]["logprobsResult"]
    with pytest.raises(BadRequest, match=r"no log-probabilities.*--mode generate"):
        scripted(tmp_path, shape, LOGPROB, ITEM, record[shape])


def test_a_refusal_needs_no_ranking(tmp_path):
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    assert scripted(tmp_path, "gemini", LOGPROB, ITEM, blocked)[1].finish == "refused"
    filtered = {"choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}
    assert scripted(tmp_path, "openai", LOGPROB, ITEM, filtered)[1].finish == "refused"


@pytest.mark.parametrize(
    ("shape", "sampling", "words"),
    [
        ("openai", LOGPROB, "This model does not support the 'logprobs' parameter."),
        ("openai", LOGPROB, "Unrecognized request argument supplied: logprobs"),
        ("openai", STRUCTURED, "'response_format' of type 'json_schema' is not supported with this model."),
        ("gemini", LOGPROB, "Unknown name \"responseLogprobs\" at 'generation_config': Cannot find field."),
    ],
)
def test_a_server_that_refuses_the_mode_ends_the_run(tmp_path, shape, sampling, words):
    error = {"error": {"message": words, "status": "INVALID_ARGUMENT", "code": 400}}
    with pytest.raises(ConfigError, match=f"--mode {sampling.mode} needs.*--mode generate"):
        scripted(tmp_path, shape, sampling, ITEM, error, status=400)


@pytest.mark.parametrize(
    ("shape", "mode"), [("anthropic", "structured"), ("anthropic", "logprob"), ("grok", "logprob")]
)
def test_a_provider_without_the_mode_says_who_has_it(tmp_path, shape, mode):
    with pytest.raises(
        ConfigError, match=rf"--mode {mode} .*{shape} does not offer it.*ollama, openai, gemini"
    ):
        ask(Model(shape, "m", "http://127.0.0.1:9"), tmp_path, ITEM, sampling=Sampling(mode=mode))


@pytest.mark.parametrize("think", [True, "low"])
def test_ranking_the_first_token_excludes_thinking(tmp_path, think):
    sampling = Sampling(mode="logprob", think=think)
    with pytest.raises(ConfigError, match="--think off"):
        ask(Model("ollama", "m", "http://127.0.0.1:9"), tmp_path, ITEM, sampling=sampling)


def test_whoever_is_asked_over_a_server_can_generate():
    assert set(OFFERED["generate"]) == set(PROVIDERS) - {"baseline", "replay"}


@pytest.mark.parametrize("shape", RANKED)
def test_max_tokens_is_not_claimed_where_one_token_is_asked_for(tmp_path, shape):
    async def unsent(sampling: Sampling) -> set[str]:
        async with provider(model(shape, "http://127.0.0.1:9"), tmp_path, sampling=sampling) as opened:
            return set(opened.unsent)

    assert "max_tokens" in asyncio.run(unsent(LOGPROB))
    assert "max_tokens" not in asyncio.run(unsent(Sampling()))


def test_rankings_pass_over_what_is_not_told_and_refuse_what_is_odd():
    rows = [{"token": "A", "logprob": -1}, {"logprob": -1}, {"token": "B"}]
    assert ranking(JsonTable(row, "", "") for row in rows) == (("A", -1.0),)
    assert ranking(()) == ()
    for odd in ({"token": 7, "logprob": -1}, {"token": "D", "logprob": "-1"}):
        with pytest.raises(BadReply, match=r"top\[0\]"):
            ranking([JsonTable(odd, "top[0].", "here")])
    assert answer_schema(())["properties"] == {"answer": {"type": "string"}}


# Against the simulator.


@pytest.mark.parametrize("shape", SHAPES)
def test_a_structured_reply_is_an_object_with_one_of_the_options(server, tmp_path, shape):
    reply = ask(model(shape, server.url), tmp_path, ITEM, sampling=STRUCTURED)
    assert json.loads(reply.text) == {"answer": "A"}
    wrong = ask(model(shape, server.url, "sim-wrong"), tmp_path, ITEM, sampling=STRUCTURED)
    assert json.loads(wrong.text)["answer"] in ("B", "C", "D")
    assert json.loads(ask(model(shape, server.url), tmp_path, FREE, sampling=STRUCTURED).text) == {
        "answer": "A"
    }


@pytest.mark.parametrize("shape", RANKED)
def test_the_likeliest_first_token_is_the_answer(server, tmp_path, shape):
    reply = ask(model(shape, server.url), tmp_path, ITEM, sampling=LOGPROB)
    assert reply.first_token[0] == ("A", pytest.approx(math.log(0.7)))
    assert {token for token, _ in reply.first_token} >= {"A", "B", "C", "D", "The"}
    assert (reply.text, reply.finish, reply.output_tokens) == ("A", "stop", 1)
    assert sum(math.exp(logprob) for _, logprob in reply.first_token) <= 1
    thinking = ask(model(shape, server.url, "sim-thinking"), tmp_path, ITEM, sampling=LOGPROB)
    assert thinking.reasoning is None and thinking.first_token


@pytest.mark.parametrize("shape", RANKED)
def test_the_ranking_is_right_as_often_as_the_model(server, tmp_path, shape):
    async def work() -> int:
        async with provider(model(shape, server.url, "sim-small"), tmp_path, sampling=LOGPROB) as opened:
            replies = await asyncio.gather(*(opened(item, 0) for item in LETTERED))
        return sum(reply.first_token[0][0] == "A" for reply in replies)

    # sim-small knows 60 %: 120 of 200, and five standard deviations are 35.
    assert 85 <= asyncio.run(work()) <= 155


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "first"), [("plain", "A"), ("space", " A"), ("split", "A"), ("piece", "A")]
)
def test_first_tokens_come_in_the_styles_of_tokenizers(tmp_path, style, first):
    with simulator([ITEM], "--first-token-style", style) as running:
        reply = ask(model("openai", running.url), tmp_path, ITEM, sampling=LOGPROB)
    assert reply.first_token[0][0] == first
    assert (" A" in dict(reply.first_token)) == (style in ("space", "split"))


def test_a_simulated_model_without_the_mode_ends_the_run(tmp_path):
    with simulator([ITEM], "--reject", "logprobs,response_format,responseSchema,responseLogprobs") as running:
        for shape, sampling in (("openai", LOGPROB), ("openai", STRUCTURED), ("grok", STRUCTURED)):
            with pytest.raises(ConfigError, match=f"--mode {sampling.mode} needs"):
                ask(model(shape, running.url), tmp_path, ITEM, sampling=sampling)
        for sampling in (LOGPROB, STRUCTURED):
            with pytest.raises(ConfigError, match=f"--mode {sampling.mode} needs"):
                ask(model("gemini", running.url), tmp_path, ITEM, sampling=sampling)
