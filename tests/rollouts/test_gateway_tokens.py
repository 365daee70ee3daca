"""What the gateway counts equals what the model's server counts, whatever breaks between them and whoever goes away."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from gateways import Served, gateway_to, trial_of

from proctor.engine.retry import Retry
from proctor.types import NOTHING_USED, Usage
from simulators import nearby

TRIALS, CALLS = 100, 4
PRICES = '["openai/sim"]\ninput = 3.0\noutput = 15.0\n'
TROUBLE = (
    *("--error-rate", "0.1", "--cut-rate", "0.25", "--rate-limit-rate", "0.02", "--crash-rate", "0.05"),
    *("--retry-after", "0.02", "--latency", "0.02"),
)


def asked(trial: int, number: int, *, stream: bool, path: str) -> bytes:
    text = f"trial {trial}, call {number}: " + "what stands in this file? " * (1 + (trial + number) % 7)
    said = {"messages": [{"role": "user", "content": text}]} if "chat" in path else {"input": text}
    return orjson.dumps({"model": "any", "stream": stream, **said})


async def agent(session: aiohttp.ClientSession, served: Served, trial: int) -> None:
    """Asks until it has its replies, as agents do; a quarter of its calls it leaves in their midst, and asks anew."""
    draw = random.Random(trial)
    for number in range(CALLS):
        path = draw.choice(("/v1/chat/completions", "/v1/responses"))
        body = asked(trial, number, stream=draw.random() < 0.7, path=path)
        if draw.random() < 0.25:
            await left(session, served.url + path, body)
        while not await answered(session, served.url + path, body):
            pass


async def left(session: aiohttp.ClientSession, url: str, body: bytes) -> None:
    async with session.post(url, data=body) as response:
        await response.content.readany()
        response.close()


async def answered(session: aiohttp.ClientSession, url: str, body: bytes) -> bool:
    async with session.post(url, data=body) as response:
        whole = await response.read()
        return response.status == 200 and b'"error":{' not in whole and b'"type":"error"' not in whole


async def stats(session: aiohttp.ClientSession, url: str) -> Any:
    async with session.get(f"{url}/__stats") as response:
        return (await response.json())["tokens"]["sim"]


def counted(trials: Sequence[Served]) -> Usage:
    return sum((each.trial.spending.whole for each in trials), NOTHING_USED)


@pytest.mark.promise("C-31")
def test_tokens_and_cost_of_a_hundred_trials_equal_the_servers_own_count(tmp_path: Path) -> None:
    """Among refused, cut, broken and left calls; cost by the price table."""
    (tmp_path / "prices.toml").write_text(PRICES)

    async def work(url: str) -> tuple[list[Served], Any]:
        trials: list[Served] = []
        async with gateway_to(f"{url}/v1", tmp_path) as gateway, aiohttp.ClientSession() as session:
            gateway.asked.retry = Retry(most=50, first_s=0.01)

            async def one(number: int) -> None:
                async with trial_of(gateway) as served:
                    trials.append(served)
                    await agent(session, served, number)

            await asyncio.gather(*map(one, range(TRIALS)))
            return trials, await stats(session, url)

    with nearby([], *TROUBLE) as url:
        trials, told = asyncio.run(work(url))
    whole, cut = told["complete"], told["cut"]
    found = counted(trials)
    assert (found.input_tokens, found.output_tokens) == (
        whole["input"] + cut["input"],
        whole["output"] + cut["output"],
    )
    assert found.cost_usd == pytest.approx(
        ((whole["input"] + cut["input"]) * 3 + (whole["output"] + cut["output"]) * 15) / 1e6
    )
    calls = [call for each in trials for call in each.calls]
    by_call = sum((call.usage + call.unused for call in calls), NOTHING_USED)
    assert (by_call.input_tokens, by_call.output_tokens) == (found.input_tokens, found.output_tokens)
    ends = [call.ended for call in calls]
    assert ends.count("cut") > 20 and ends.count("cancelled") > 0 and ends.count("answered") >= TRIALS * CALLS
    assert sum(call.retries for call in calls) > 50
    assert all(call.counted for call in calls)
    assert all(each.trial.fault is None for each in trials)
