"""Gemini over HTTP: what is sent, what is understood, and every way of not answering."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from recording import Recording, Script, recording

from proctor.errors import (
    AuthError,
    BadReply,
    ContextOverflow,
    ModelNotFound,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerError,
)
from proctor.types import Chat, Message, Model, Reply, Sampling
from simulators import ask, provider, questions

ITEM = questions(1)[0]
TURNS = replace(
    ITEM,
    ask=Chat(
        (
            Message("system", "Be brief."),
            Message("user", "One?"),
            Message("assistant", "Answer: A"),
            Message("user", "Two?"),
        )
    ),
)
REPLY = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [{"text": "Hm. ", "thought": True}, {"text": "Answer"}, {"text": ": A"}],
            },
            "finishReason": "STOP",
            "index": 0,
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 20,
        "candidatesTokenCount": 5,
        "thoughtsTokenCount": 30,
        "totalTokenCount": 55,
    },
    "modelVersion": "gemini-x",
}


def model(url: str, name: str = "sim-perfect") -> Model:
    return Model("gemini", name, url)


def replied(tmp_path: Path, record: Any, **given: Any) -> Reply:
    with recording([Script(record)]) as server:
        return ask(model(server.url, "gemini-x"), tmp_path, ITEM, **given)


def asked(tmp_path: Path, sampling: Sampling, *scripts: Script, **environ: str) -> Recording:
    with recording(scripts or [Script(REPLY)]) as server:
        ask(model(server.url, "gemini-x"), tmp_path, TURNS, sampling=sampling, **environ)
        return server


def test_the_request_holds_documented_fields_only(tmp_path):
    full = Sampling(top_p=0.9, top_k=40, seed=7, stop=("END",), max_tokens=99, think="high")
    (sent,) = asked(tmp_path, full, GEMINI_API_KEY="key-1").sent
    assert (sent.method, sent.path) == ("POST", "/v1beta/models/gemini-x:generateContent")
    assert sent.headers["x-goog-api-key"] == "key-1"
    assert "authorization" not in sent.headers and "key" not in sent.path
    assert sent.json == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "One?"}]},
            {"role": "model", "parts": [{"text": "Answer: A"}]},
            {"role": "user", "parts": [{"text": "Two?"}]},
        ],
        "generationConfig": {
            "temperature": 0.0,
            "topP": 0.9,
            "topK": 40,
            "maxOutputTokens": 99,
            "seed": 7,
            "stopSequences": ["END"],
            "thinkingConfig": {"thinkingLevel": "high", "includeThoughts": True},
        },
        "safetySettings": [
            {"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"},
            {"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE"},
            {"category": "HARM_CATEGORY_SEXUALLY_EXPLICIT", "threshold": "BLOCK_NONE"},
            {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "threshold": "BLOCK_NONE"},
        ],
    }


def test_without_a_system_message_there_is_no_instruction(tmp_path):
    with recording([Script(REPLY)]) as server:
        ask(model(server.url, "gemini-x"), tmp_path, ITEM)
    assert server.last.json.keys() == {"contents", "generationConfig", "safetySettings"}
    assert "x-goog-api-key" not in server.last.headers


@pytest.mark.parametrize(
    ("think", "config"),
    [
        (None, None),
        (False, {"thinkingBudget": 0}),
        (True, {"includeThoughts": True}),
        ("low", {"thinkingLevel": "low", "includeThoughts": True}),
        ("max", {"thinkingLevel": "high", "includeThoughts": True}),
    ],
)
def test_thinking_is_said_in_googles_words(tmp_path, think, config):
    sent = asked(tmp_path, Sampling(think=think)).last.json
    assert sent["generationConfig"].get("thinkingConfig") == config


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"GOOGLE_API_KEY": "google-key-1"}, "google-key-1"),
        ({"GEMINI_API_KEY": "gemini-key-2"}, "gemini-key-2"),
        ({"GOOGLE_API_KEY": "google-key-1", "GEMINI_API_KEY": "gemini-key-2"}, "google-key-1"),
    ],
)
def test_either_variable_holds_the_key_and_googles_own_wins(tmp_path, environ, key):
    assert asked(tmp_path, Sampling(), **environ).last.headers["x-goog-api-key"] == key


def test_a_repeat_has_a_seed_of_its_own(tmp_path):
    async def work(url: str) -> None:
        async with provider(model(url, "gemini-x"), tmp_path, sampling=Sampling(seed=5)) as opened:
            await opened(ITEM, 0)
            await opened(ITEM, 2)

    with recording([Script(REPLY)]) as server:
        asyncio.run(work(server.url))
    assert [s.json["generationConfig"]["seed"] for s in server.sent] == [5, 7]


def test_thoughts_are_reasoning_and_count_as_output(tmp_path):
    reply = replied(tmp_path, REPLY)
    assert (reply.text, reply.reasoning, reply.finish) == ("Answer: A", "Hm. ", "stop")
    assert (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens) == (20, 35, 30)
    assert reply.latency_s is not None and reply.cost_usd is None and b"modelVersion" in reply.raw


def test_a_price_table_pays_for_thoughts_too(tmp_path):
    (tmp_path / "prices.toml").write_text('["gemini/gemini-x"]\ninput = 1.0\noutput = 10.0\n')
    assert replied(tmp_path, REPLY).cost_usd == pytest.approx((20 * 1 + 35 * 10) / 1e6)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "refused"),
        ("RECITATION", "refused"),
        ("LANGUAGE", "refused"),
        ("BLOCKLIST", "refused"),
        ("PROHIBITED_CONTENT", "refused"),
        ("SPII", "refused"),
        ("OTHER", "stop"),
        ("SOMETHING_NEW", "stop"),
    ],
)
def test_every_reason_for_an_end_is_understood(tmp_path, reason, finish):
    reply = replied(tmp_path, {"candidates": [{"finishReason": reason, "index": 0}]})
    assert (reply.text, reply.finish) == ("", finish)
    assert (reply.input_tokens, reply.output_tokens) == (None, None), "nobody told, so nothing is known"


def test_a_blocked_prompt_is_a_refusal_without_a_reply(tmp_path):
    reply = replied(
        tmp_path, {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}}
    )
    assert (reply.text, reply.finish, reply.input_tokens, reply.output_tokens) == ("", "refused", 9, None)


def test_a_limit_that_is_spent_on_thoughts_leaves_no_text(tmp_path):
    record = {
        "candidates": [{"content": {"role": "model"}, "finishReason": "MAX_TOKENS", "index": 0}],
        "usageMetadata": {"promptTokenCount": 9, "thoughtsTokenCount": 64, "totalTokenCount": 73},
    }
    reply = replied(tmp_path, record)
    assert (reply.text, reply.finish) == ("", "length")
    assert (reply.output_tokens, reply.reasoning_tokens) == (64, 64)


@pytest.mark.parametrize("record", [{}, {"candidates": []}, [], {"candidates": ["A"]}, b"<html>"])
def test_another_shape_is_no_reply(tmp_path, record):
    with pytest.raises(BadReply, match="candidates"):
        replied(tmp_path, record)


QUOTA = {
    "error": {
        "code": 429,
        "status": "RESOURCE_EXHAUSTED",
        "message": "You exceeded your current quota, please check your plan and billing details. "
        "* Quota exceeded for metric: x/requests, limit: 15\nPlease retry in 53.2s.",
        "details": [
            {
                "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                "violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}],
            },
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "53s"},
        ],
    }
}


def quota(quota_id: str, limit: int) -> dict[str, Any]:
    error: dict[str, Any] = QUOTA["error"]
    violations = [{"quotaId": quota_id, "quotaValue": str(limit)}]
    return {"error": {**error, "details": [{**error["details"][0], "violations": violations}]}}


def failed(tmp_path: Path, body: Any, status: int) -> ProviderError:
    with recording([Script(body, status)]) as server, pytest.raises(ProviderError) as caught:
        ask(model(server.url, "gemini-x"), tmp_path, ITEM)
    return caught.value


def test_a_limit_per_minute_waits_as_long_as_the_body_says(tmp_path):
    """Google's words speak of plan and billing even here; they must not end the run."""
    error = failed(tmp_path, QUOTA, 429)
    assert type(error) is RateLimited
    assert error.retry_after_s == 53.2


@pytest.mark.parametrize(
    ("quota_id", "limit", "named"),
    [
        ("GenerateRequestsPerDayPerProjectPerModel-FreeTier", 20, r"GenerateRequestsPerDay\S+ \(20\)"),
        ("GenerateContentInputTokensPerModelPerMinute-FreeTier", 0, r"GenerateContentInputTokens\S+ \(0\)"),
    ],
)
def test_a_quota_of_the_day_or_of_nothing_stops_the_run_and_is_named(tmp_path, quota_id, limit, named):
    error = failed(tmp_path, quota(quota_id, limit), 429)
    assert type(error) is QuotaExhausted and error.stops_run
    assert re.search(rf"Used up: {named}", str(error))


def test_limit_0_in_the_words_alone_stops_the_run_too(tmp_path):
    words = {
        "error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "metric: x, limit: 0, model: y"}
    }
    assert type(failed(tmp_path, words, 429)) is QuotaExhausted
    some = {"error": {**words["error"], "message": "metric: x, limit: 05, model: y"}}
    assert type(failed(tmp_path, some, 429)) is RateLimited


@pytest.mark.parametrize(
    ("status", "word", "message", "kind"),
    [
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", AuthError),
        (400, "INVALID_ARGUMENT", "API key expired. Please renew the API key.", AuthError),
        (403, "PERMISSION_DENIED", "The caller does not have permission", AuthError),
        (404, "NOT_FOUND", "models/gemini-x is not found for API version v1beta", ModelNotFound),
        (
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
            ContextOverflow,
        ),
        (500, "INTERNAL", "An internal error has occurred.", ServerError),
        (503, "UNAVAILABLE", "The model is overloaded. Please try again later.", Overloaded),
        (504, "DEADLINE_EXCEEDED", "Deadline expired.", ServerError),
    ],
)
def test_every_error_has_its_kind_and_quotes_google(tmp_path, status, word, message, kind):
    error = failed(tmp_path, {"error": {"code": status, "status": word, "message": message}}, status)
    assert type(error) is kind
    assert message in str(error) and str(status) in str(error)


def test_a_refused_level_of_thinking_is_dropped_and_recorded(tmp_path):
    async def work(url: str) -> list[str]:
        sampling = Sampling(think="low")
        async with provider(model(url, "gemini-x"), tmp_path, sampling=sampling) as opened:
            await opened(ITEM, 0)
            return list(opened.adjustments)

    no = {
        "error": {
            "code": 400,
            "status": "INVALID_ARGUMENT",
            "message": "Thinking level is not supported for this model.",
        }
    }
    with recording([Script(no, 400), Script(REPLY)]) as server:
        assert asyncio.run(work(server.url)) == ["thinkingConfig dropped: the server refuses it"]
    assert "thinkingConfig" not in server.last.json["generationConfig"]
