"""Anthropic's messages over HTTP: what is sent, what is understood, and every way of not answering."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asking import checked, listed
from recording import Recording, Script, recording

from proctor.errors import (
    AuthError,
    BadReply,
    BadRequest,
    ContextOverflow,
    EndpointNotFound,
    ModelNotFound,
    NetworkError,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerError,
)
from proctor.types import Chat, Message, Model, Reply, Sampling
from simulators import ask, provider, questions, simulator

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
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
        {"type": "text", "text": "Answer"},
        {"type": "text", "text": ": A"},
    ],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_creation_input_tokens": 3,
        "cache_read_input_tokens": 7,
        "output_tokens": 50,
    },
}


def model(url: str, name: str = "sim-perfect") -> Model:
    return Model("anthropic", name, url)


def replied(tmp_path: Path, record: Any) -> Reply:
    with recording([Script(record)]) as server:
        return ask(model(server.url, "claude-x"), tmp_path, ITEM)


def asked(
    tmp_path: Path, sampling: Sampling, *scripts: Script, **environ: str
) -> tuple[Recording, list[str]]:
    async def work(url: str) -> list[str]:
        async with provider(model(url, "claude-x"), tmp_path, sampling=sampling, **environ) as opened:
            await opened(TURNS, 0)
            return list(opened.adjustments)

    with recording(scripts or [Script(REPLY)]) as server:
        return server, asyncio.run(work(server.url))


def error(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


@pytest.fixture(scope="module")
def server():
    with simulator(questions(30)) as running:
        yield running


def test_the_request_holds_documented_fields_only(tmp_path):
    full = Sampling(top_p=0.9, top_k=40, seed=7, stop=("END",), max_tokens=99, min_p=0.1, repeat_penalty=1.1)
    server, adjustments = asked(tmp_path, full, ANTHROPIC_API_KEY="key-1")
    (sent,) = server.sent
    assert (sent.method, sent.path) == ("POST", "/v1/messages")
    assert sent.headers["x-api-key"] == "key-1"
    assert sent.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in sent.headers
    assert sent.json == {
        "model": "claude-x",
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "Answer: A"},
            {"role": "user", "content": "Two?"},
        ],
        "max_tokens": 99,
        "temperature": 0.0,
        "top_p": 0.9,
        "top_k": 40,
        "stop_sequences": ["END"],
    }
    assert adjustments == []


def test_without_a_system_message_no_field_for_it_is_sent(tmp_path):
    with recording([Script(REPLY)]) as server:
        ask(model(server.url, "claude-x"), tmp_path, ITEM)
    assert "system" not in server.last.json and "x-api-key" not in server.last.headers


def test_a_limit_is_sent_even_if_the_user_set_none(tmp_path):
    server, adjustments = asked(tmp_path, Sampling(max_tokens=None))
    assert server.last.json["max_tokens"] == 4096
    assert adjustments == ["max_tokens sent as 4096: the protocol wants a limit"]


@pytest.mark.parametrize(
    ("think", "budget"), [(True, 8192), ("low", 2048), ("medium", 8192), ("high", 16384), ("max", 32768)]
)
def test_thinking_has_a_budget_of_its_own_and_takes_no_temperature(tmp_path, think, budget):
    server, adjustments = asked(tmp_path, Sampling(think=think, max_tokens=100, top_k=5))
    sent = server.last.json
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert sent["max_tokens"] == 100 + budget
    assert not {"temperature", "top_k", "top_p"} & sent.keys()
    assert adjustments == [f"max_tokens sent as {100 + budget}: {budget} of them to think with"]


def test_thinking_off_is_said_and_keeps_the_temperature(tmp_path):
    server, _ = asked(tmp_path, Sampling(think=False))
    assert server.last.json["thinking"] == {"type": "disabled"}
    assert server.last.json["temperature"] == 0.0


@pytest.mark.parametrize(("think", "config"), [(True, None), ("high", {"effort": "high"})])
def test_a_model_that_chooses_its_own_budget_gets_an_effort(tmp_path, think, config):
    no = error("invalid_request_error", '"thinking.type.enabled" is not supported for this model.')
    server, adjustments = asked(tmp_path, Sampling(think=think), Script(no, 400), Script(REPLY))
    assert server.last.json["thinking"] == {"type": "adaptive"}
    assert server.last.json.get("output_config") == config
    assert any(a.startswith('thinking sent as {"type":"adaptive"}') for a in adjustments)


@pytest.mark.parametrize(
    ("sampling", "message", "dropped", "kept"),
    [
        (Sampling(), "`temperature` is deprecated for this model.", "temperature", set()),
        (
            Sampling(top_p=0.9),
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
            "top_p",
            {"temperature"},
        ),
        (Sampling(think=False), "thinking is not supported by this model", "thinking", {"temperature"}),
    ],
)
def test_what_a_model_refuses_is_dropped_once_and_recorded(tmp_path, sampling, message, dropped, kept):
    no = Script(error("invalid_request_error", message), 400)
    server, adjustments = asked(tmp_path, sampling, no, Script(REPLY))
    assert adjustments == [f"{dropped} dropped: the server refuses it"]
    assert dropped not in server.last.json and kept <= server.last.json.keys()


def test_thinking_is_reasoning_and_the_cache_counts_as_input(tmp_path):
    (tmp_path / "prices.toml").write_text('["anthropic/claude-x"]\ninput = 3.0\noutput = 15.0\n')
    reply = replied(tmp_path, REPLY)
    assert (reply.text, reply.reasoning, reply.finish) == ("Answer: A", "Hm.", "stop")
    assert (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens) == (20, 50, None)
    assert reply.cost_usd == pytest.approx((20 * 3 + 50 * 15) / 1e6)


def test_counts_that_nobody_told_stay_unknown(tmp_path):
    reply = replied(tmp_path, {**REPLY, "usage": {}})
    assert (reply.input_tokens, reply.output_tokens, reply.cost_usd) == (None, None, None)


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refused"),
        ("something_new", "stop"),
    ],
)
def test_every_reason_for_an_end_is_understood(tmp_path, reason, finish):
    assert replied(tmp_path, {**REPLY, "content": [], "stop_reason": reason}).finish == finish


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html>", BadReply),
        ({}, BadReply),
        ({"content": "A"}, BadReply),
        ([], BadReply),
        (error("overloaded_error", "Overloaded"), ServerError),
    ],
)
def test_another_shape_is_no_reply(tmp_path, body, kind):
    with pytest.raises(kind):
        replied(tmp_path, body)


@pytest.mark.parametrize(
    ("status", "word", "message", "kind"),
    [
        (400, "invalid_request_error", "messages: roles must alternate", BadRequest),
        (400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum", ContextOverflow),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            ContextOverflow,
        ),
        (400, "invalid_request_error", "Your credit balance is too low to access the API.", QuotaExhausted),
        (401, "authentication_error", "invalid x-api-key", AuthError),
        (403, "permission_error", "Your API key does not have permission", AuthError),
        (404, "not_found_error", "model: claude-x", ModelNotFound),
        (413, "request_too_large", "Request exceeds the maximum size", BadRequest),
        (500, "api_error", "Internal server error", ServerError),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ],
)
def test_every_error_has_its_kind_and_quotes_anthropic(tmp_path, status, word, message, kind):
    with recording([Script(error(word, message), status)]) as server, pytest.raises(ProviderError) as caught:
        ask(model(server.url, "claude-x"), tmp_path, ITEM)
    assert type(caught.value) is kind
    assert message.rstrip(".") in str(caught.value)


def test_a_rate_limit_carries_the_servers_delay(tmp_path):
    body = error("rate_limit_error", "This request would exceed the rate limit for your organization.")
    with (
        recording([Script(body, 429, {"retry-after": "12"})]) as server,
        pytest.raises(RateLimited) as caught,
    ):
        ask(model(server.url, "claude-x"), tmp_path, ITEM)
    assert caught.value.retry_after_s == 12


# Against the simulator, which refuses fields that Anthropic does not know.


def test_the_simulator_answers_in_anthropics_shape(server, tmp_path):
    reply = ask(model(server.url), tmp_path, ITEM, sampling=Sampling(top_k=3, stop=("END",)))
    assert reply.text.endswith("Answer: A") and reply.finish == "stop"
    assert reply.input_tokens == len(ITEM.ask.messages[0].content) // 4 and reply.output_tokens


def test_a_model_thinks_when_it_is_told_to(server, tmp_path):
    assert ask(model(server.url, "sim-thinking"), tmp_path, ITEM).reasoning is None
    thought = ask(model(server.url, "sim-thinking"), tmp_path, ITEM, sampling=Sampling(think="low"))
    assert thought.reasoning and thought.text.rpartition("\n")[2].startswith("Answer: ")


def test_a_simulated_model_that_chooses_its_own_budget(tmp_path):
    with simulator([ITEM], "--reject", "thinking.enabled") as running:
        reply = ask(model(running.url, "sim-thinking"), tmp_path, ITEM, sampling=Sampling(think="low"))
    assert reply.reasoning


@pytest.mark.parametrize(
    ("name", "finish"),
    [("sim-refusing", "refused"), ("sim-blocked", "refused"), ("sim-truncating", "length")],
)
def test_refusals_and_cuts_are_replies(server, tmp_path, name, finish):
    assert ask(model(server.url, name), tmp_path, ITEM).finish == finish


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nobody", ModelNotFound),
        ("sim-forbidden", AuthError),
        ("sim-overloaded", Overloaded),
        ("sim-crashing", NetworkError),
        ("sim-garbage", BadReply),
        ("sim-breaking", ServerError),
    ],
)
def test_what_is_no_reply_is_an_error_of_its_kind(server, tmp_path, name, kind):
    with pytest.raises(kind):
        ask(model(server.url, name), tmp_path, ITEM)


@pytest.mark.slow
def test_simulated_limits_credits_and_lengths(tmp_path):
    with simulator([ITEM], "--rate-limit-rate", "1", "--retry-after", "7") as running:
        with pytest.raises(RateLimited) as caught:
            ask(model(running.url, "sim"), tmp_path, ITEM)
        assert caught.value.retry_after_s == 7
    with simulator([ITEM], "--quota-day", "0") as running, pytest.raises(QuotaExhausted, match="credit"):
        ask(model(running.url), tmp_path, ITEM)
    long = replace(ITEM, ask=Chat((Message("user", "word " * 4000),)))
    with simulator([ITEM], "--context", "1000") as running, pytest.raises(ContextOverflow):
        ask(model(running.url), tmp_path, long)


def test_wrong_and_missing_keys_name_the_variable(tmp_path):
    with simulator([ITEM], "--key", "right-key-123456") as running:
        for environ in ({}, {"ANTHROPIC_API_KEY": "wrong-key-654321"}):
            with pytest.raises(AuthError, match="ANTHROPIC_API_KEY") as caught:
                ask(model(running.url), tmp_path, ITEM, **environ)
            assert "wrong-key-654321" not in str(caught.value)
        assert ask(model(running.url), tmp_path, ITEM, ANTHROPIC_API_KEY="right-key-123456").text


def test_the_check_asks_for_the_model_by_its_name(server, tmp_path):
    found = checked(model(server.url, "sim"), tmp_path)
    assert (found.model.name, found.note) == ("sim", "Simulated sim")
    with pytest.raises(ModelNotFound, match="nobody"):
        checked(model(server.url, "nobody"), tmp_path)
    with recording([Script({"type": "model", "id": "claude-x-20260101", "display_name": "X"})]) as other:
        assert checked(model(f"{other.url}/v1", "claude-x"), tmp_path).model.name == "claude-x"
    assert other.last.path == "/v1/models/claude-x"
    assert other.last.headers["anthropic-version"] == "2023-06-01"


def test_a_gateway_that_describes_no_models_passes(tmp_path):
    with recording([Script({"error": "no such page"}, 404)]) as gateway:
        assert checked(model(gateway.url, "claude-x"), tmp_path).note is None


def test_models_are_listed(server, tmp_path):
    names = [m.model.name for m in listed("anthropic", tmp_path, ANTHROPIC_BASE_URL=server.url)]
    assert names[:2] == ["sim", "sim-small"]


def test_anthropic_itself_without_a_key_is_refused_before_any_request(tmp_path):
    with pytest.raises(AuthError, match="ANTHROPIC_API_KEY"):
        checked(Model("anthropic", "claude-x"), tmp_path)
    with pytest.raises(AuthError, match="ANTHROPIC_API_KEY"):
        listed("anthropic", tmp_path)


def test_no_server_at_the_address_names_address_and_variable(tmp_path):
    with pytest.raises(EndpointNotFound, match=r"127\.0\.0\.1:9.*ANTHROPIC_BASE_URL"):
        checked(model("http://127.0.0.1:9"), tmp_path)
