"""The shapes of Gemini, Anthropic and xAI over HTTP: whole replies, errors, and what they refuse to read."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.simulator import Behaviour
from proctor.simulator.protocols.wire import ServerTerms

ASKED = {
    "sim": Behaviour(accuracy=1.0),
    "thinker": Behaviour(accuracy=1.0, thinks=True),
    "sim-blocked": Behaviour(block_rate=1.0),
    "sim-refusing": Behaviour(refuse_rate=1.0),
    "sim-overloaded": Behaviour(overload_rate=1.0),
    "sim-forbidden": Behaviour(forbid_rate=1.0),
    "sim-limited": Behaviour(rate_limit_rate=1.0, retry_after_s=7),
}
VERSION = {"anthropic-version": "2023-06-01"}
TURN = [{"role": "user", "content": "Well?"}]


def gemini(server: Any, model: str = "sim", headers: Any = None, **more: Any) -> Any:
    body = {"contents": [{"role": "user", "parts": [{"text": "Well?"}]}], **more}
    return server.send("POST", f"/v1beta/models/{model}:generateContent", body, headers)


def anthropic(server: Any, model: str = "sim", headers: Any = None, **more: Any) -> Any:
    body = {"model": model, "messages": TURN, "max_tokens": 500, **more}
    return server.send("POST", "/v1/messages", body, {**VERSION, **(headers or {})})


def grok(server: Any, model: str = "sim", headers: Any = None, **more: Any) -> Any:
    body = {"model": model, "messages": TURN, **more}
    return server.send("POST", "/xai/v1/chat/completions", body, headers)


ASK = {"gemini": gemini, "anthropic": anthropic, "grok": grok}


def test_a_gemini_reply_has_the_documented_parts(start: Any, known: Any) -> None:
    reply = gemini(start(known("Well?"), ASKED)).json
    (candidate,) = reply["candidates"]
    assert candidate["content"]["role"] == "model"
    assert candidate["content"]["parts"][-1]["text"].endswith("Answer: B")
    assert (candidate["finishReason"], candidate["index"]) == ("STOP", 0)
    usage = reply["usageMetadata"]
    assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage["candidatesTokenCount"]
    assert "thoughtsTokenCount" not in usage
    assert reply["modelVersion"] == "sim"


def test_gemini_counts_thoughts_apart_and_shows_them_on_request(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    hidden = gemini(server, "thinker").json
    shown = gemini(server, "thinker", generationConfig={"thinkingConfig": {"includeThoughts": True}}).json
    off = gemini(server, "thinker", generationConfig={"thinkingConfig": {"thinkingBudget": 0}}).json
    assert [p.get("thought") for p in hidden["candidates"][0]["content"]["parts"]] == [None]
    assert [p.get("thought") for p in shown["candidates"][0]["content"]["parts"]] == [True, None]
    assert hidden["usageMetadata"] == shown["usageMetadata"]
    assert hidden["usageMetadata"]["thoughtsTokenCount"] > 0
    assert "thoughtsTokenCount" not in off["usageMetadata"]


def test_gemini_blocks_prompts_and_cuts_replies(start: Any) -> None:
    server = start({}, ASKED)
    blocked = gemini(server, "sim-blocked").json
    assert "candidates" not in blocked and blocked["promptFeedback"] == {"blockReason": "PROHIBITED_CONTENT"}
    (candidate,) = gemini(server, "sim-refusing").json["candidates"]
    assert (candidate["finishReason"], "content" in candidate) == ("SAFETY", False)
    (candidate,) = gemini(server, "thinker", generationConfig={"maxOutputTokens": 3}).json["candidates"]
    assert (candidate["finishReason"], candidate["content"]) == ("MAX_TOKENS", {"role": "model"})


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"contents": []}, "contents"),
        ({"extra": 1}, 'Unknown name "extra"'),
        ({"generationConfig": {"max_tokens": 1}}, "Unknown name \"max_tokens\" at 'generation_config'"),
        ({"generationConfig": {"thinkingConfig": {"budget": 1}}}, 'Unknown name "budget"'),
        ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "huge"}}}, "huge"),
        ({"generationConfig": {"thinkingConfig": {"thinkingLevel": "low", "thinkingBudget": 0}}}, "only one"),
        ({"generationConfig": {"logprobs": 5}}, "response_logprobs"),
        ({"generationConfig": {"responseLogprobs": True, "logprobs": 21}}, "between 0 and 20"),
        ({"generationConfig": {"responseSchema": {"type": "OBJECT"}}}, "response_mime_type"),
        ({"safetySettings": [{"category": "HARM_X", "threshold": "NEVER"}]}, "NEVER"),
        ({"contents": [{"role": "assistant", "parts": []}]}, "valid role"),
    ],
)
def test_gemini_refuses_what_google_does_not_know(start: Any, more: Any, word: str) -> None:
    got = gemini(start({}, ASKED), **more)
    assert (got.status, got.json["error"]["status"]) == (400, "INVALID_ARGUMENT")
    assert word in got.json["error"]["message"]


def test_an_anthropic_reply_has_the_documented_parts(start: Any, known: Any) -> None:
    reply = anthropic(start(known("Well?"), ASKED)).json
    assert (reply["type"], reply["role"], reply["stop_reason"]) == ("message", "assistant", "end_turn")
    (block,) = reply["content"]
    assert block["type"] == "text" and block["text"].endswith("Answer: B")
    assert reply["usage"]["input_tokens"] + reply["usage"]["cache_read_input_tokens"] == 1
    assert reply["usage"]["output_tokens"] > 0


def test_anthropic_thinks_when_told_and_refuses_in_its_words(start: Any, known: Any) -> None:
    server = start(known("Well?"), ASKED)
    thinking = {"type": "enabled", "budget_tokens": 1024}
    blocks = anthropic(server, "thinker", thinking=thinking, max_tokens=2000).json["content"]
    assert [block["type"] for block in blocks] == ["thinking", "text"]
    assert [block["type"] for block in anthropic(server, "thinker").json["content"]] == ["text"]
    refused = anthropic(server, "sim-refusing").json
    assert (refused["stop_reason"], refused["content"]) == ("refusal", [])
    assert anthropic(server, max_tokens=2).json["stop_reason"] == "max_tokens"


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"seed": 1}, "seed: Extra inputs are not permitted"),
        ({"messages": [{"role": "system", "content": "x"}]}, "roles user and assistant"),
        ({"thinking": {"type": "enabled", "budget_tokens": 500}}, "budget_tokens"),
        (
            {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 1024},
            "less than max_tokens",
        ),
        ({"thinking": {"type": "on"}}, "thinking.type"),
        ({"thinking": {"type": "adaptive"}, "temperature": 0}, "may only be set to 1"),
        ({"stream": True}, "one piece"),
    ],
)
def test_anthropic_refuses_what_it_does_not_know(start: Any, more: Any, word: str) -> None:
    got = anthropic(start({}, ASKED), **more)
    assert (got.status, got.json["type"], got.json["error"]["type"]) == (
        400,
        "error",
        "invalid_request_error",
    )
    assert word in got.json["error"]["message"]


def test_anthropic_wants_its_version(start: Any) -> None:
    server = start({}, ASKED)
    got = server.send("POST", "/v1/messages", {"model": "sim", "messages": TURN, "max_tokens": 5})
    assert got.status == 400 and "anthropic-version" in got.json["error"]["message"]
    assert server.stats()["seen"] == 1


def test_grok_counts_without_the_reasoning_and_tells_the_cost(start: Any, known: Any) -> None:
    reply = grok(start(known("Well?"), ASKED), "thinker").json
    usage = reply["usage"]
    reasoning = usage["completion_tokens_details"]["reasoning_tokens"]
    assert reasoning > 0
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] + reasoning
    ticks = usage["prompt_tokens"] * 30_000 + (usage["completion_tokens"] + reasoning) * 150_000
    assert usage["cost_in_usd_ticks"] == ticks


ERRORS = {
    "gemini": {"nobody": 404, "sim-forbidden": 403, "sim-overloaded": 503, "sim-limited": 429},
    "anthropic": {"nobody": 404, "sim-forbidden": 403, "sim-overloaded": 529, "sim-limited": 429},
    "grok": {"nobody": 404, "sim-forbidden": 403, "sim-overloaded": 503, "sim-limited": 429},
}


@pytest.mark.parametrize("shape", ERRORS)
def test_errors_have_the_vendors_status_and_body(start: Any, shape: str) -> None:
    server = start({}, ASKED)
    for model, status in ERRORS[shape].items():
        got = ASK[shape](server, model)
        assert got.status == status, model
        assert WORDS[shape](got.json), model


WORDS: dict[str, Any] = {
    "gemini": lambda body: body["error"].keys() >= {"code", "message", "status"},
    "anthropic": lambda body: body["type"] == "error" and body["error"].keys() == {"type", "message"},
    "grok": lambda body: body.keys() == {"code", "error"},
}


def test_delays_stand_where_each_vendor_puts_them(start: Any) -> None:
    server = start({}, ASKED)
    limited = gemini(server, "sim-limited")
    assert "Retry-After" not in limited.headers
    assert limited.json["error"]["details"][-1]["retryDelay"] == "7s"
    assert "PerMinute" in limited.json["error"]["details"][0]["violations"][0]["quotaId"]
    assert anthropic(server, "sim-limited").headers["retry-after"] == "7"


def test_the_quota_of_the_day_is_used_up_after_its_requests(start: Any) -> None:
    server = start({}, ASKED, terms=ServerTerms(quota_day=2))
    assert [gemini(server).status for _ in range(4)] == [200, 200, 429, 429]
    violation = gemini(server).json["error"]["details"][0]["violations"][0]
    assert "PerDay" in violation["quotaId"] and violation["quotaValue"] == "2"
    assert (anthropic(server).status, grok(server).status, server.openai().status) == (400, 429, 429)
    assert server.ollama().status == 402


@pytest.mark.parametrize(
    ("shape", "header", "missing", "wrong"),
    [("gemini", "x-goog-api-key", 403, 400), ("anthropic", "x-api-key", 401, 401)],
)
def test_keys_stand_in_headers_of_their_own(
    start: Any, shape: str, header: str, missing: int, wrong: int
) -> None:
    server = start({}, ASKED, key="right-key-123")
    ask = ASK[shape]
    assert ask(server).status == missing
    assert ask(server, headers={header: "another"}).status == wrong
    assert ask(server, headers={"Authorization": "Bearer right-key-123"}).status == missing
    assert ask(server, headers={header: "right-key-123"}).status == 200


def test_xai_answers_400_to_a_wrong_key(start: Any) -> None:
    server = start({}, ASKED, key="right-key-123")
    assert grok(server).status == 401
    got = grok(server, headers={"Authorization": "Bearer another-key-9"})
    assert got.status == 400 and "Incorrect API key provided: an***-9" in got.json["error"]
    assert grok(server, headers={"Authorization": "right-key-123"}).status == 401, "not a bearer"
    assert grok(server, headers={"Authorization": "Bearer right-key-123"}).status == 200


def test_pages_about_models_take_the_shape_of_who_asks(start: Any) -> None:
    server = start({}, ASKED)
    assert server.get("/v1/models").json["object"] == "list"
    assert server.get("/v1/models", VERSION).json["data"][0]["type"] == "model"
    assert server.get("/v1/models/sim").json["object"] == "model"
    assert server.get("/v1/models/sim", VERSION).json["display_name"] == "Simulated sim"
    assert server.get("/v1/models/nobody").status == 404
    assert server.get("/v1/models/nobody", VERSION).json["error"]["type"] == "not_found_error"
    listed = server.get("/v1beta/models").json["models"]
    assert [m["name"] for m in listed if "generateContent" in m["supportedGenerationMethods"]] == [
        f"models/{name}" for name in ASKED
    ]
    assert server.get("/v1beta/models/sim").json["inputTokenLimit"] == 8192
    assert server.get("/v1beta/models/nobody").status == 404
    priced = server.get("/xai/v1/language-models").json["models"][0]
    assert (priced["id"], priced["prompt_text_token_price"]) == ("sim", 30_000)
    assert server.get("/xai/v1/models").json["data"][0]["id"] == "sim"


def test_another_method_of_gemini_is_unknown(start: Any) -> None:
    assert start({}, ASKED).send("POST", "/v1beta/models/sim:countTokens", {}).status == 404
