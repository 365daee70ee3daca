"""Exams given to servers that others wrote, as the simulator speaks like them: what differs, and what becomes of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from asking import checked, listed

import proctor
from proctor.errors import BadRequest, ContextOverflow, ModelNotFound, ProviderError, ServerError
from proctor.providers.contract import Pacing
from proctor.service.opening.simulate import known_answers
from proctor.types import Chat, Message, Model, Reply, Sampling
from programs import csv_of_sums
from simulators import nearby, provider, questions, settings

ITEM = questions(1)[0]
LONG = replace(ITEM, id="long", ask=Chat((Message("user", "x" * 1616),)))  # 404 tokens
SERVERS = ("llama.cpp", "vllm", "transformers", "litellm", "llm-katan", "mockllm")
KEY = {"OPENAI_API_KEY": "sk-any"}  # llm-katan wants one, whichever


def asked(
    url: str, home: Path, item: Any = ITEM, name: str = "sim-perfect", repeat: int = 0, **more: Any
) -> Reply:
    async def work() -> Reply:
        async with provider(Model("openai", name, f"{url}/v1"), home, **more, **KEY) as opened:
            return await opened(item, repeat)

    return asyncio.run(work())


def stats(url: str) -> dict[str, Any]:
    with urlopen(f"{url}/__stats") as response:
        return json.load(response)


@pytest.mark.parametrize("quirks", SERVERS)
def test_an_answer_is_read_with_its_tokens_and_repeats_are_asked(tmp_path, quirks):
    with nearby([ITEM], "--quirks", quirks) as url:
        first, again = (asked(url, tmp_path, repeat=repeat) for repeat in (0, 1))
        assert stats(url)["served"] == 2
    assert first.text.endswith("Answer: A") and first.finish == "stop"
    assert first.input_tokens and first.output_tokens
    assert again.text.endswith("Answer: A")


@pytest.mark.parametrize("quirks", ["llama.cpp", "vllm", "litellm", "llm-katan"])
def test_models_are_listed(tmp_path, quirks):
    with nearby([ITEM], "--quirks", quirks) as url:
        found = checked(Model("openai", "sim", f"{url}/v1"), tmp_path, **KEY)
        names = [each.model.name for each in listed("openai", tmp_path, OPENAI_BASE_URL=f"{url}/v1", **KEY)]
    assert found.model.name == "sim" and "sim-perfect" in names


def test_the_address_without_v1_is_llama_cpp_s_too(tmp_path):
    with nearby([ITEM], "--quirks", "llama.cpp") as url:
        assert checked(Model("openai", "sim", url), tmp_path).model.name == "sim"


@pytest.mark.parametrize(
    ("options", "pacing"),
    [
        (["--quirks", "llama.cpp", "--slots", "3"], Pacing(3, 3, fixed=True)),
        (["--quirks", "vllm"], Pacing(16, 256)),
        (["--quirks", "mockllm"], Pacing(4, 256)),
    ],
)
def test_as_many_are_asked_at_once_as_the_server_says_it_has_room_for(tmp_path, options, pacing):
    async def found(url):
        async with provider(Model("openai", "sim", f"{url}/v1"), tmp_path) as opened:
            await opened.check()
            return opened.pacing

    with nearby([ITEM], *options) as url:
        assert asyncio.run(found(url)) == pacing


@pytest.mark.parametrize(
    ("quirks", "error", "words"),
    [
        ("vllm", ModelNotFound, "The model `nobody` does not exist. Valid aliases: sim"),
        ("litellm", BadRequest, "Invalid model name passed in model=nobody"),
        ("transformers", BadRequest, "Server is pinned to 'sim'; requested 'nobody'"),
    ],
)
def test_a_wrong_name_is_an_error_in_the_words_of_the_server(tmp_path, quirks, error, words):
    with nearby([ITEM], "--quirks", quirks) as url, pytest.raises(error) as raised:
        asked(url, tmp_path, name="nobody")
    assert words in str(raised.value)


@pytest.mark.parametrize("quirks", ["llama.cpp", "llm-katan", "mockllm"])
def test_some_servers_answer_to_any_name(tmp_path, quirks):
    with nearby([ITEM], "--quirks", quirks) as url:
        reply = asked(url, tmp_path, name="nobody")
    named = "sim" if quirks == "llama.cpp" else "nobody"
    assert json.loads(reply.raw)["model"] == named


@pytest.mark.parametrize(
    ("quirks", "words"),
    [
        ("llama.cpp", "request (404 tokens) exceeds the available context size (200 tokens)"),
        ("vllm", "This model's maximum context length is 200 tokens"),
        ("litellm", "exceeds the available context size (200 tokens)"),
    ],
)
def test_an_overflow_is_one_in_the_words_of_every_server(tmp_path, quirks, words):
    with (
        nearby([LONG], "--quirks", quirks, "--context", "200") as url,
        pytest.raises(ContextOverflow) as raised,
    ):
        asked(url, tmp_path, LONG, sampling=Sampling(max_tokens=8))
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("limit", "words"),
    [(150, "requested 150 output tokens"), (512, "max_tokens=512 cannot be greater than max_model_len=200")],
)
def test_vllm_wants_room_for_the_reply_too(tmp_path, limit, words):
    item = replace(ITEM, ask=Chat((Message("user", "x" * 400),)))
    with (
        nearby([item], "--quirks", "vllm", "--context", "200") as url,
        pytest.raises(ProviderError) as raised,
    ):
        asked(url, tmp_path, item, sampling=Sampling(max_tokens=limit))
    assert words in str(raised.value)


def test_what_transformers_does_not_know_is_dropped_and_noted(tmp_path):
    sampling = Sampling(top_k=40, min_p=0.1)

    async def work(url: str) -> list[str]:
        async with provider(Model("openai", "sim", f"{url}/v1"), tmp_path, sampling=sampling) as opened:
            await opened(ITEM, 0)
            return list(opened.adjustments)

    with nearby([ITEM], "--quirks", "transformers") as url:
        noted = asyncio.run(work(url))
    assert sorted(noted) == ["min_p dropped: the server refuses it", "top_k dropped: the server refuses it"]


def test_vllm_obeys_the_name_of_the_penalty_that_is_sent(tmp_path):
    with nearby([ITEM], "--quirks", "vllm") as url:
        plain = asked(url, tmp_path)
        penalized = asked(url, tmp_path, sampling=Sampling(repeat_penalty=1.3))
        assert stats(url)["applied"]["repetition_penalty"] == 1.3
    assert plain.text != penalized.text


@pytest.mark.parametrize("quirks", SERVERS)
def test_a_schema_holds_where_it_is_obeyed_and_is_read_past_elsewhere(tmp_path, quirks):
    item = replace(ITEM, options=("A", "B", "C", "D"))
    with nearby([item], "--quirks", quirks) as url:
        text = asked(url, tmp_path, item, sampling=Sampling(mode="structured")).text
    if quirks in ("llama.cpp", "vllm", "litellm"):
        assert json.loads(text) == {"answer": "A"}
    else:
        assert text.endswith("Answer: A")


@pytest.mark.parametrize("quirks", ["llama.cpp", "vllm", "litellm"])
def test_first_tokens_are_ranked(tmp_path, quirks):
    with nearby([ITEM], "--quirks", quirks) as url:
        reply = asked(url, tmp_path, sampling=Sampling(mode="logprob"))
    assert reply.first_token and reply.first_token[0][0] == "A"


@pytest.mark.parametrize("quirks", ["transformers", "llm-katan", "mockllm"])
def test_a_server_without_log_probabilities_is_told_so(tmp_path, quirks):
    with (
        nearby([ITEM], "--quirks", quirks) as url,
        pytest.raises(BadRequest, match="holds no log-probabilities"),
    ):
        asked(url, tmp_path, sampling=Sampling(mode="logprob"))


@pytest.mark.parametrize("quirks", SERVERS)
def test_an_empty_reply_is_an_empty_text(tmp_path, quirks):
    with nearby([ITEM], "--quirks", quirks) as url:
        reply = asked(url, tmp_path, name="sim-silent")
    assert (reply.text, reply.finish) == ("", "stop")


@pytest.mark.parametrize("quirks", SERVERS)
def test_thoughts_are_beside_the_text_or_in_its_tags(tmp_path, quirks):
    with nearby([ITEM], "--quirks", quirks) as url:
        reply = asked(url, tmp_path, name="sim-thinking")
    if quirks in ("llama.cpp", "vllm", "litellm"):
        assert reply.reasoning and "<think>" not in reply.text
    else:
        assert reply.text.startswith("<think>\n") and "</think>" in reply.text


def test_a_dead_upstream_of_litellm_is_told_in_its_words(tmp_path):
    with (
        nearby([ITEM], "--quirks", "litellm", "--error-rate", "1") as url,
        pytest.raises(ServerError) as raised,
    ):
        asked(url, tmp_path)
    assert "litellm.InternalServerError" in str(raised.value) and "Connection error" in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("quirks", "name"), [("llama.cpp", "sim-thinking"), ("vllm", "sim"), ("mockllm", "sim-thinking")]
)
def test_an_exam_is_given_to_each(tmp_path, monkeypatch, quirks, name):
    """Thoughts in tags do not hide the answer, and a list that is not there keeps nobody out."""
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    file = csv_of_sums(tmp_path / "sums.csv", 12)
    with nearby(known_answers(settings(tmp_path), [file]), "--quirks", quirks, "--accuracy", "1") as url:
        result = proctor.evaluate(file, f"openai/{name}", base_url=f"{url}/v1")
    assert (result.score.value, result.score.scored) == (1.0, 12)
