"""From a status and a body to an error: the cases that one vendor's tests do not show."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor.errors import (
    AuthError,
    BadRequest,
    ContextOverflow,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerError,
)
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.quotas import used_up
from proctor.providers.wire.refusals import Place, refusal, server_words
from proctor.service.results.causes import said

PLACE = Place("openai", "http://server/v1", "m", "THE_KEY", "THE_URL")


def refused(status: int, body: Any, headers: dict[str, str] | None = None) -> ProviderError:
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()
    return refusal(HttpResponse(status, headers or {}, octets, 0.1), PLACE)


def google(message: str, *violations: dict[str, str]) -> dict[str, Any]:
    details = [{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": list(violations)}]
    return {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": message, "details": details}}


DAY = {"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "20"}
MINUTE = {"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "quotaValue": "15"}
NOTHING = {"quotaId": "TokensPerMinute", "quotaValue": "0"}


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"error": {"message": "Rate limit reached", "type": "requests"}}, RateLimited),
        ({"error": {"message": "Quota gone", "code": "insufficient_quota"}}, QuotaExhausted),
        ({"error": "You exceeded your current quota, please check your plan and billing"}, QuotaExhausted),
        (google("You exceeded your current quota, check your plan and billing", MINUTE), RateLimited),
        ([google("You exceeded your current quota, check your plan and billing", MINUTE)], RateLimited),
        (google("quota", MINUTE, DAY), QuotaExhausted),
        ([google("quota", DAY)], QuotaExhausted),
        (google("quota", NOTHING), QuotaExhausted),
        (google("limit: 0"), QuotaExhausted),
        (google("limit: 0.5, limit: 10"), RateLimited),
        (b"slow down", RateLimited),
    ],
)
def test_a_429_waits_or_ends_the_run(body, kind):
    assert type(refused(429, body)) is kind


def test_used_up_quotas_are_named_once():
    assert used_up(json.dumps(google("x", DAY, MINUTE, DAY, NOTHING))) == (
        "GenerateRequestsPerDayPerProjectPerModel-FreeTier (20)",
        "TokensPerMinute (0)",
    )
    assert used_up('{"error": {"message": "RequestsPerDay"}}') == ("a quota per day",)
    assert used_up("no JSON") == () == used_up("[]") == used_up('{"error": {"details": [1]}}')
    assert str(refused(429, google("Gone.", DAY))).endswith(
        "answered 429: Gone. Used up: GenerateRequestsPerDayPerProjectPerModel-FreeTier (20). "
        "Resume the run when it has been renewed"
    )


def test_a_delay_is_taken_from_header_or_body():
    assert refused(429, {"error": "x"}, {"Retry-After": "3"}).retry_after_s == 3
    assert refused(429, google("Please retry in 1m2.5s.", MINUTE)).retry_after_s == 62.5
    assert refused(429, {"details": [{"retryDelay": "0.25s"}]}).retry_after_s == 0.25


def test_a_wrong_key_may_come_as_400_and_a_full_stop_is_not_doubled():
    error = refused(400, {"error": {"message": "API key not valid. Please pass a valid API key."}})
    assert type(error) is AuthError
    assert str(error).endswith("Please pass a valid API key. Set THE_KEY to a valid key")
    assert type(refused(400, {"error": "your api key is lovely"})) is BadRequest


def test_the_servers_words_are_found_and_shortened():
    assert server_words(b'[{"error": {"message": "in a list"}}]') == "in a list"
    assert server_words(b"") == "(no text)"
    assert server_words(b"x" * 999) == "x" * 300 + "..."


# Answers of a LiteLLM proxy 1.80.0 whose upstream is down, or is llama.cpp with a context of 2048 tokens.
_GROUP = "Received Model Group=m\nAvailable Model Group Fallbacks=None"
_DOWN = f"litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.. {_GROUP}"
_LONG = "request (3031 tokens) exceeds the available context size (2048 tokens), try increasing it"


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (500, _DOWN, ServerError),
        (503, _DOWN, Overloaded),
        (400, f"litellm.BadRequestError: OpenAIException - {_LONG}. {_GROUP}", ContextOverflow),
        (500, f"litellm.APIError: APIError: OpenAIException - {_LONG}. {_GROUP}", ContextOverflow),
        (500, "the request exceeds the available context size, try increasing it", ContextOverflow),
    ],
)
def test_a_gateway_is_heard_in_its_own_words_about_the_server_behind_it(status, message, kind):
    error = refused(status, {"error": {"message": message, "type": None, "param": None, "code": str(status)}})
    assert type(error) is kind
    assert said(str(error)) == " ".join(message.split())
