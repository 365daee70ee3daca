"""One request may have fewer tokens than the sampling allows, in the words of every protocol."""

from __future__ import annotations

import asyncio
from pathlib import Path

import orjson
import pytest

from proctor.types import Chat, Item, Message, Model, Sampling
from scripted import Said, scripted
from simulators import provider

OPENAI = {"choices": [{"message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]}
OLLAMA = {"message": {"role": "assistant", "content": "x"}, "done_reason": "stop"}
GEMINI = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]}
ANTHROPIC = {"content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn", "usage": {}}
FORMS = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY", OPENAI, ("max_tokens",)),
    "ollama": ("OLLAMA_HOST", "HF_TOKEN", OLLAMA, ("options", "num_predict")),
    "gemini": ("GEMINI_BASE_URL", "GOOGLE_API_KEY", GEMINI, ("generationConfig", "maxOutputTokens")),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", ANTHROPIC, ("max_tokens",)),
}


def sent(name: str, home: Path, *, most: int | None, sampling: Sampling) -> int:
    """The limit that reaches the server."""
    address, key, reply, place = FORMS[name]

    async def ask(url: str) -> None:
        item = Item("", "", Chat((Message("user", "Work."),), most))
        environ = {address: url, key: "a-key-of-tests"}
        async with provider(Model(name, "m"), home, sampling=sampling, **environ) as opened:
            await opened(item, 0)

    with scripted(lambda _path, _body: Said([orjson.dumps(reply)])) as server:
        asyncio.run(ask(server.url))
    found = orjson.loads(server.bodies[-1])
    for step in place:
        found = found[step]
    return int(found)


@pytest.mark.parametrize("name", FORMS)
def test_a_reply_is_given_no_more_than_is_left(name: str, tmp_path: Path) -> None:
    usual = Sampling(max_tokens=100)
    assert sent(name, tmp_path, most=7, sampling=usual) == 7
    assert sent(name, tmp_path, most=700, sampling=usual) == 100
    assert sent(name, tmp_path, most=None, sampling=usual) == 100


def test_what_a_model_thinks_with_is_always_less_than_it_may_write(tmp_path: Path) -> None:
    thinks = Sampling(temperature=None, max_tokens=100, think="low")
    assert sent("anthropic", tmp_path, most=7, sampling=thinks) == 2049
