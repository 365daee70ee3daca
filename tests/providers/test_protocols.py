"""Every branch of the Ollama and OpenAI providers, over real HTTP against the simulator."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.errors import (
    AuthError,
    BadReply,
    ContextOverflow,
    EndpointNotFound,
    ModelNotFound,
    NetworkError,
    Overloaded,
    RateLimited,
    RequestTimeout,
    ServerError,
)
from proctor.types import Chat, Message, Model, Sampling
from simulators import ask, provider, questions, simulator

pytestmark = pytest.mark.slow

ITEM = questions(1)[0]
SHAPES = ["openai", "ollama"]


def model(shape: str, url: str, name: str = "sim-perfect") -> Model:
    return Model(shape, name, f"{url}/v1" if shape == "openai" else url)


@pytest.fixture(scope="module")
def server():
    with simulator(questions(30)) as running:
        yield running


@pytest.mark.parametrize("shape", SHAPES)
def test_a_reply_comes_with_text_tokens_and_time(server, tmp_path, shape):
    reply = ask(model(shape, server.url), tmp_path, ITEM)
    assert reply.text.endswith("Answer: A")
    assert reply.finish == "stop"
    assert reply.input_tokens and reply.output_tokens
    assert reply.latency_s is not None and reply.latency_s > 0
    assert reply.cost_usd is None, "nobody said what it costs"
    assert b"Answer: A" in reply.raw


@pytest.mark.parametrize("shape", SHAPES)
def test_reasoning_is_kept_apart_from_the_text(server, tmp_path, shape):
    reply = ask(model(shape, server.url, "sim-thinking"), tmp_path, ITEM)
    assert reply.reasoning
    assert reply.reasoning not in reply.text


@pytest.mark.parametrize(
    ("shape", "name", "error"),
    [
        ("openai", "sim-crashing", NetworkError),
        ("ollama", "sim-crashing", NetworkError),
        ("openai", "sim-garbage", BadReply),
        ("ollama", "sim-garbage", BadReply),
        ("openai", "nobody", ModelNotFound),
        ("ollama", "nobody", ModelNotFound),
    ],
)
def test_what_is_no_reply_is_an_error_of_its_kind(server, tmp_path, shape, name, error):
    with pytest.raises(error):
        ask(model(shape, server.url, name), tmp_path, ITEM)


@pytest.mark.parametrize("shape", SHAPES)
def test_an_endless_reply_ends_at_the_time_limit(server, tmp_path, shape):
    with pytest.raises(RequestTimeout, match=r"within 0\.5 s"):
        ask(model(shape, server.url, "sim-endless"), tmp_path, ITEM, timeout_s=0.5)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_silent_model_gives_an_empty_reply_not_an_error(server, tmp_path, shape):
    assert ask(model(shape, server.url, "sim-silent"), tmp_path, ITEM).text == ""


@pytest.mark.parametrize("shape", SHAPES)
def test_a_cut_reply_says_so(server, tmp_path, shape):
    assert ask(model(shape, server.url, "sim-truncating"), tmp_path, ITEM).finish == "length"
    short = Sampling(max_tokens=2)
    assert ask(model(shape, server.url), tmp_path, ITEM, sampling=short).finish == "length"


def test_a_refusal_is_a_reply_that_says_refused(server, tmp_path):
    assert ask(model("openai", server.url, "sim-refusing"), tmp_path, ITEM).finish == "refused"


@pytest.mark.parametrize("shape", SHAPES)
def test_too_long_a_prompt_is_refused_not_cut(tmp_path, shape):
    long = replace(ITEM, ask=Chat((Message("user", "word " * 4000),)))
    with simulator([ITEM], "--context", "1000") as running, pytest.raises(ContextOverflow):
        ask(model(shape, running.url), tmp_path, long, sampling=Sampling(context_tokens=1000))


def test_a_rate_limit_carries_the_servers_delay(tmp_path):
    with simulator([ITEM], "--rate-limit-rate", "1", "--retry-after", "7") as running:
        with pytest.raises(RateLimited) as caught:
            ask(model("openai", running.url, "sim"), tmp_path, ITEM)
        assert caught.value.retry_after_s == 7
        with pytest.raises(Overloaded, match="server busy"):
            ask(model("ollama", running.url, "sim"), tmp_path, ITEM)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_server_error_is_retryable_and_quotes_the_server(tmp_path, shape):
    with simulator([ITEM], "--error-rate", "1") as running, pytest.raises(ServerError) as caught:
        ask(model(shape, running.url, "sim"), tmp_path, ITEM)
    assert caught.value.retryable
    assert "500" in str(caught.value) and running.url in str(caught.value)


def test_a_wrong_key_names_the_variable_and_never_shows_the_key(tmp_path):
    with simulator([ITEM], "--key", "right-key-123456") as running:
        with pytest.raises(AuthError, match="OPENAI_API_KEY") as caught:
            ask(model("openai", running.url), tmp_path, ITEM, OPENAI_API_KEY="wrong-key-654321")
        assert "wrong-key-654321" not in str(caught.value)
        reply = ask(model("openai", running.url), tmp_path, ITEM, OPENAI_API_KEY="right-key-123456")
        assert reply.text.endswith("Answer: A")


def test_a_refused_parameter_is_dropped_once_and_recorded(tmp_path):
    async def work() -> tuple[str, list[str]]:
        async with provider(model("openai", running.url), tmp_path) as opened:
            replies = await asyncio.gather(*(opened(item, 0) for item in questions(8)))
            return replies[0].text, list(opened.adjustments)

    with simulator(questions(8), "--reject", "seed,max_tokens") as running:
        text, adjustments = asyncio.run(work())
    assert text.endswith("Answer: A")
    assert sorted(adjustments) == [
        "max_tokens sent as max_completion_tokens",
        "seed dropped: the server refuses it",
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_the_check_finds_the_model_or_says_what_there_is(server, tmp_path, shape):
    async def check(name: str) -> object:
        async with provider(model(shape, server.url, name), tmp_path) as opened:
            return await opened.check()

    found = asyncio.run(check("sim"))
    assert (found.digest is not None) == (shape == "ollama")
    with pytest.raises(ModelNotFound, match=r"nobody.*sim"):
        asyncio.run(check("nobody"))
    if shape == "ollama":
        with pytest.raises(
            ModelNotFound, match=r"it has: sim-thinking:latest, sim:latest, .* and \d+ more\. "
        ):
            asyncio.run(check("Sim-Thinking:8b"))


@pytest.mark.parametrize(("shape", "variable"), [("openai", "OPENAI_BASE_URL"), ("ollama", "OLLAMA_HOST")])
def test_no_server_at_the_address_names_address_and_variable(tmp_path: Path, shape, variable):
    async def check() -> None:
        async with provider(model(shape, "http://127.0.0.1:9"), tmp_path) as opened:
            await opened.check()

    with pytest.raises(EndpointNotFound, match=rf"127\.0\.0\.1:9.*{variable}"):
        asyncio.run(check())


def test_openai_itself_without_a_key_is_refused_before_any_request(tmp_path):
    async def check() -> None:
        async with provider(Model("openai", "gpt-x"), tmp_path) as opened:
            await opened.check()

    with pytest.raises(AuthError, match="OPENAI_API_KEY"):
        asyncio.run(check())


def test_a_price_table_gives_costs(server, tmp_path):
    (tmp_path / "prices.toml").write_text('["openai/sim-perfect"]\ninput = 1.0\noutput = 2.0\n')
    reply = ask(model("openai", server.url), tmp_path, ITEM)
    assert reply.cost_usd == pytest.approx((reply.input_tokens + 2 * reply.output_tokens) / 1e6)
