"""Ollama's memory through the provider: loads, contexts that are reduced, prompts that are cut, a line that is full."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import replace
from pathlib import Path
from urllib.request import urlopen

import pytest

import proctor
from proctor.errors import ContextOverflow, Overloaded
from proctor.service.opening.simulate import known_answers
from proctor.types import Chat, Limits, Message, Model, Reply, Sampling
from programs import csv_of_sums
from simulators import nearby, provider, questions, settings

pytestmark = pytest.mark.slow

ITEM = questions(1)[0]
# 404 tokens by the simulator's rule of four characters each.
FREE = Sampling(context_tokens=None)
LONG = replace(ITEM, id="long", ask=Chat((Message("user", "x" * 1616),)))


def stats(url: str) -> dict[str, object]:
    with urlopen(f"{url}/__stats") as response:
        return json.load(response)


def loaded_and_asked(
    model: Model, home: Path, *asked: object, sampling: Sampling | None = None
) -> list[Reply | BaseException]:
    """What a run does: look, load, ask one after the other."""

    async def work() -> list[Reply | BaseException]:
        async with provider(model, home, sampling=sampling) as opened:
            await opened.check()
            await opened.warm()
            return [(await asyncio.gather(opened(item, 0), return_exceptions=True))[0] for item in asked]

    return asyncio.run(work())


def test_what_was_loaded_before_the_clock_is_what_the_first_question_meets(tmp_path):
    """A load without the options of the questions would be thrown away by the first of them."""
    with nearby([ITEM]) as url:
        loaded_and_asked(Model("ollama", "sim", url), tmp_path, ITEM, ITEM)
        assert stats(url)["model_loads"] == 1


def test_a_load_in_mid_run_stands_outside_the_clock(tmp_path):
    with nearby([ITEM], "--models-in-memory", "1", "--load", "0.4") as url:
        first, second = (Model("ollama", name, url) for name in ("sim", "sim-small"))

        async def work() -> tuple[Reply, float]:
            async with provider(first, tmp_path) as one, provider(second, tmp_path) as other:
                await one(ITEM, 0)
                await other(ITEM, 0)
                began = time.monotonic()
                return await one(ITEM, 0), time.monotonic() - began

        reply, took_s = asyncio.run(work())
        assert stats(url)["model_loads"] == 3, "each made the other go"
    assert reply.latency_s is not None and reply.latency_s <= took_s - 0.4


def test_a_context_that_the_model_cannot_have_is_not_asked_for_and_that_is_said(tmp_path):
    """Ollama reduces it without a word; so would then the prompts, in versions that cut them."""
    with nearby([ITEM], "--trained-context", "2048") as url:

        async def work() -> tuple[int | None, list[str]]:
            async with provider(Model("ollama", "sim", url), tmp_path) as opened:
                found = await opened.check()
                return found.context_tokens, list(opened.adjustments)

        own, said = asyncio.run(work())
        assert stats(url)["seen"] == 0, "it is said before anything is asked"
    assert own == 2048
    assert said == ["context_tokens 8192 sent as 2048, the model's own maximum"]


def test_a_prompt_cut_in_silence_is_noticed_though_nobody_asked_for_a_context(tmp_path):
    """An old server cuts, whatever it is told; how much fits stands in its list of loaded models."""
    with nearby([ITEM, LONG], "--quirks", "ollama-0.11", "--context", "200") as url:
        short, long = loaded_and_asked(Model("ollama", "sim", url), tmp_path, ITEM, LONG, sampling=FREE)
    assert isinstance(short, Reply)
    assert isinstance(long, ContextOverflow)
    assert "the context of 200 tokens" in str(long)


@pytest.mark.parametrize(
    ("quirks", "words"),
    [
        ("ollama-0.33", "request (404 tokens) exceeds the available context size (200 tokens)"),
        ("", "input length"),
    ],
)
def test_a_prompt_too_long_is_told_in_the_words_of_the_server(tmp_path, quirks, words):
    """Newer versions quote the error of the server inside, as JSON in a string."""
    with nearby([LONG], "--quirks", quirks, "--context", "200") as url:
        (reply,) = loaded_and_asked(Model("ollama", "sim", url), tmp_path, LONG, sampling=FREE)
    assert isinstance(reply, ContextOverflow)
    assert words in str(reply) and "{" not in str(reply)


def test_a_full_line_is_a_server_to_wait_for(tmp_path):
    with nearby(questions(6), "--slots", "1", "--queue", "1", "--latency", "0.2") as url:

        async def work() -> list[object]:
            async with provider(Model("ollama", "sim", url), tmp_path) as opened:
                return await asyncio.gather(*(opened(i, 0) for i in questions(6)), return_exceptions=True)

        got = asyncio.run(work())
    assert sum(isinstance(reply, Reply) for reply in got) == 2
    assert sum(isinstance(reply, Overloaded) for reply in got) == 4


def test_an_exam_waits_until_there_is_room_in_the_line(tmp_path, monkeypatch):
    monkeypatch.setenv("PROCTOR_HOME", str(tmp_path / "home"))
    file = csv_of_sums(tmp_path / "sums.csv", 4)
    answers = known_answers(settings(tmp_path), [file])
    with nearby(answers, "--slots", "1", "--queue", "1", "--latency", "0.05") as url:
        result = proctor.evaluate(file, "ollama/sim-perfect", base_url=url, limits=Limits(parallel=4))
        seen = stats(url)
    assert (result.score.value, result.score.scored) == (1.0, 4)
    assert seen["served"] == 4 and seen["seen"] > 4, "some were turned away and came again"


def test_tokens_from_the_cache_are_still_tokens_of_the_prompt(tmp_path):
    with nearby([ITEM], "--quirks", "ollama-0.33") as url:
        first, again = loaded_and_asked(Model("ollama", "sim", url), tmp_path, ITEM, ITEM)
    assert isinstance(first, Reply) and isinstance(again, Reply)
    assert json.loads(again.raw)["prompt_eval_cached_count"] == first.input_tokens - 1
    assert again.input_tokens == first.input_tokens
