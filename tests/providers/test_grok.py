"""xAI's Grok over HTTP: the OpenAI protocol with counts, costs, prices and errors of its own."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from asking import checked, listed
from recording import Script, recording

from proctor.errors import (
    AuthError,
    BadReply,
    ContextOverflow,
    EndpointNotFound,
    ModelNotFound,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    ServerError,
)
from proctor.types import Chat, Message, Model, Sampling
from simulators import ask, provider, questions, simulator

ITEM = questions(1)[0]
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 10,
    "total_tokens": 150,
    "completion_tokens_details": {"reasoning_tokens": 40},
    "cost_in_usd_ticks": 37_756_000,
}


def completion(**usage: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": "Answer: A", "reasoning_content": "Hm."}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}


def model(url: str, name: str = "sim-perfect") -> Model:
    return Model("grok", name, f"{url}/xai/v1")


@pytest.fixture(scope="module")
def server():
    with simulator(questions(30)) as running:
        yield running


def test_the_request_holds_documented_fields_only(tmp_path):
    full = Sampling(top_p=0.9, top_k=40, min_p=0.1, repeat_penalty=1.1, seed=7, stop=("END",), think="low")
    with recording([Script(completion(**USAGE))]) as server:
        given = {"sampling": full, "XAI_API_KEY": "x-1"}
        ask(Model("grok", "grok-x", f"{server.url}/v1"), tmp_path, ITEM, **given)
    (sent,) = server.sent
    assert (sent.method, sent.path) == ("POST", "/v1/chat/completions")
    assert sent.headers["authorization"] == "Bearer x-1"
    assert sent.json == {
        "model": "grok-x",
        "messages": [{"role": "user", "content": ITEM.ask.messages[0].content}],
        "temperature": 0.0,
        "top_p": 0.9,
        "max_tokens": 512,
        "seed": 7,
        "stop": ["END"],
        "reasoning_effort": "low",
    }


@pytest.mark.parametrize(
    ("think", "effort", "unsent"),
    [
        (None, None, False),
        (True, None, True),
        (False, "none", False),
        ("high", "high", False),
        ("max", "high", False),
    ],
)
def test_thinking_is_an_effort_or_cannot_be_said(tmp_path, think, effort, unsent):
    async def work(url: str) -> bool:
        opened_as = Model("grok", "grok-x", url)
        async with provider(opened_as, tmp_path, sampling=Sampling(think=think)) as opened:
            await opened(ITEM, 0)
            assert opened.adjustments == (
                ["think max sent as reasoning_effort high"] if think == "max" else []
            )
            return "think" in opened.unsent

    with recording([Script(completion(**USAGE))]) as server:
        assert asyncio.run(work(server.url)) == unsent
    assert server.last.json.get("reasoning_effort") == effort


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"GROK_API_KEY": "grok-key-1"}, "grok-key-1"),
        ({"XAI_API_KEY": "xai-key-22"}, "xai-key-22"),
        ({"GROK_API_KEY": "grok-key-1", "XAI_API_KEY": "xai-key-22"}, "grok-key-1"),
    ],
)
def test_either_variable_holds_the_key(tmp_path, environ, key):
    with recording([Script(completion(**USAGE))]) as server:
        ask(Model("grok", "grok-x", server.url), tmp_path, ITEM, **environ)
    assert server.last.headers["authorization"] == f"Bearer {key}"


def test_reasoning_is_added_to_the_output_and_the_cost_is_exact(tmp_path):
    (tmp_path / "prices.toml").write_text('["grok/grok-x"]\ninput = 1000.0\noutput = 1000.0\n')
    with recording([Script(completion(**USAGE))]) as server:
        reply = ask(Model("grok", "grok-x", server.url), tmp_path, ITEM)
    assert (reply.input_tokens, reply.output_tokens, reply.reasoning_tokens) == (100, 50, 40)
    assert reply.cost_usd == pytest.approx(0.0037756, abs=1e-15), "the server's word before any table"
    assert (reply.text, reply.reasoning) == ("Answer: A", "Hm.")


@pytest.mark.parametrize(
    ("usage", "output"),
    [
        ({**USAGE, "total_tokens": 110}, 10),  # a gateway that has added them already
        ({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}, 10),
        ({"prompt_tokens": 100}, None),
    ],
)
def test_reasoning_is_never_counted_twice_nor_invented(tmp_path, usage, output):
    with recording([Script(completion(**usage))]) as server:
        assert ask(Model("grok", "grok-x", server.url), tmp_path, ITEM).output_tokens == output


def test_without_ticks_the_table_pays_and_without_a_table_nobody_knows(tmp_path):
    usage = {k: v for k, v in USAGE.items() if k != "cost_in_usd_ticks"}
    with recording([Script(completion(**usage))]) as server:
        assert ask(Model("grok", "grok-x", server.url), tmp_path, ITEM).cost_usd is None
        (tmp_path / "prices.toml").write_text('["grok/grok-x"]\ninput = 1.0\noutput = 2.0\n')
        cost = ask(Model("grok", "grok-x", server.url), tmp_path, ITEM).cost_usd
    assert cost == pytest.approx((100 + 2 * 50) / 1e6)


PRICED = {
    "models": [
        {
            "id": "grok-x",
            "aliases": ["grok-x-latest"],
            "prompt_text_token_price": 30000,
            "completion_text_token_price": 150000,
        }
    ]
}


def test_the_servers_own_prices_pay_where_it_tells_no_cost(tmp_path):
    usage = {k: v for k, v in USAGE.items() if k != "cost_in_usd_ticks"}

    async def work(url: str) -> float | None:
        async with provider(Model("grok", "grok-x-latest", url), tmp_path) as opened:
            await opened.check()
            return (await opened(ITEM, 0)).cost_usd

    with recording([Script(PRICED), Script(completion(**usage))]) as server:
        assert asyncio.run(work(server.url)) == pytest.approx((100 * 3 + 50 * 15) / 1e6)


def test_the_list_tells_prices_and_falls_back_to_the_plain_one(tmp_path):
    with recording([Script(PRICED)]) as server:
        (found,) = listed("grok", tmp_path, XAI_BASE_URL=server.url)
    assert found.model == Model("grok", "grok-x")
    assert found.note == "$3 in, $15 out per million tokens"
    assert server.last.path == "/language-models"
    plain = {"object": "list", "data": [{"id": "grok-y"}]}
    with recording([Script({"error": "nothing here"}, 404), Script(plain)]) as server:
        (found,) = listed("grok", tmp_path, XAI_BASE_URL=server.url)
    assert (found.model.name, found.note) == ("grok-y", None)
    assert [s.path for s in server.sent] == ["/language-models", "/models"]


INVALID = "Client specified an invalid argument"


@pytest.mark.parametrize(
    ("status", "code", "error", "kind"),
    [
        (400, INVALID, "Incorrect API key provided: xa***23. You can obtain an API key.", AuthError),
        (401, "Unauthenticated", "No credentials were given.", AuthError),
        (403, "The caller does not have permission", "This key is blocked.", AuthError),
        (404, "Some requested entity was not found", "The model grok-x does not exist.", ModelNotFound),
        (429, "Some resource has been exhausted", "Too many requests for the team.", RateLimited),
        (
            429,
            "Some resource has been exhausted",
            "Your team has used all available credits.",
            QuotaExhausted,
        ),
        (403, "No permission", "Your team has reached its monthly spending limit.", QuotaExhausted),
        (
            400,
            INVALID,
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            ContextOverflow,
        ),
        (500, "Internal error", "The service ran into an error.", ServerError),
        (503, "Unavailable", "The model is at capacity.", Overloaded),
    ],
)
def test_every_error_has_its_kind_and_quotes_xai(tmp_path, status, code, error, kind):
    answer = Script({"code": code, "error": error}, status)
    with recording([answer]) as server, pytest.raises(ProviderError) as caught:
        ask(Model("grok", "grok-x", server.url), tmp_path, ITEM)
    assert type(caught.value) is kind
    assert error.rstrip(".") in str(caught.value)


# Against the simulator.


def test_the_simulated_cost_is_that_of_the_simulated_prices(server, tmp_path):
    reply = ask(model(server.url, "sim-thinking"), tmp_path, ITEM)
    assert reply.reasoning and reply.reasoning_tokens and reply.output_tokens > reply.reasoning_tokens
    assert reply.cost_usd == pytest.approx((reply.input_tokens * 3 + reply.output_tokens * 15) / 1e6)


def test_a_refused_effort_is_dropped_and_recorded(tmp_path):
    async def work() -> list[str]:
        async with provider(model(running.url), tmp_path, sampling=Sampling(think="low")) as opened:
            assert (await opened(ITEM, 0)).text.endswith("Answer: A")
            return list(opened.adjustments)

    with simulator([ITEM], "--reject", "reasoning_effort,stop") as running:
        assert asyncio.run(work()) == ["reasoning_effort dropped: the server refuses it"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("nobody", ModelNotFound),
        ("sim-forbidden", AuthError),
        ("sim-overloaded", Overloaded),
        ("sim-garbage", BadReply),
        ("sim-breaking", ServerError),
    ],
)
def test_what_is_no_reply_is_an_error_of_its_kind(server, tmp_path, name, kind):
    with pytest.raises(kind):
        ask(model(server.url, name), tmp_path, ITEM)


@pytest.mark.slow
def test_simulated_limits_quotas_and_lengths(tmp_path):
    with simulator([ITEM], "--rate-limit-rate", "1") as running, pytest.raises(RateLimited):
        ask(model(running.url, "sim"), tmp_path, ITEM)
    with simulator([ITEM], "--quota-day", "0") as running, pytest.raises(QuotaExhausted, match="credits"):
        ask(model(running.url), tmp_path, ITEM)
    long = replace(ITEM, ask=Chat((Message("user", "word " * 4000),)))
    with simulator([ITEM], "--context", "1000") as running, pytest.raises(ContextOverflow):
        ask(model(running.url), tmp_path, long)


def test_wrong_and_missing_keys_name_the_variables(tmp_path):
    with simulator([ITEM], "--key", "right-key-123456") as running:
        for environ in ({}, {"XAI_API_KEY": "wrong-key-654321"}):
            with pytest.raises(AuthError, match="GROK_API_KEY or XAI_API_KEY") as caught:
                ask(model(running.url), tmp_path, ITEM, **environ)
            assert "wrong-key-654321" not in str(caught.value)
        assert ask(model(running.url), tmp_path, ITEM, GROK_API_KEY="right-key-123456").text


def test_the_check_knows_aliases_and_says_what_there_is(server, tmp_path):
    assert checked(model(server.url, "sim-latest"), tmp_path).model.name == "sim-latest"
    with pytest.raises(ModelNotFound, match=r"nobody.*sim"):
        checked(model(server.url, "nobody"), tmp_path)


def test_xai_itself_without_a_key_is_refused_before_any_request(tmp_path):
    with pytest.raises(AuthError, match="GROK_API_KEY or XAI_API_KEY"):
        checked(Model("grok", "grok-x"), tmp_path)
    with pytest.raises(AuthError, match="GROK_API_KEY or XAI_API_KEY"):
        listed("grok", tmp_path)


def test_no_server_at_the_address_names_address_and_variable(tmp_path):
    with pytest.raises(EndpointNotFound, match=r"127\.0\.0\.1:9.*XAI_BASE_URL"):
        checked(model("http://127.0.0.1:9"), tmp_path)
