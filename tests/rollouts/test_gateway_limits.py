"""Limits of a trial and budgets of a benchmark, held before a call is sent; agents that mean harm harm themselves."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web
from gateways import Served, Upstreams, gateway_to, trial_of, upstream

from odd_servers import said
from proctor.engine.gateway import serving
from proctor.errors import ConfigError
from proctor.providers.ledger import Ledger
from proctor.references import BenchmarkBudget, TrialLimits

CHAT = "/v1/chat/completions"
WORDS = 20  # tokens of a reply of the server below, where it is let


async def bounded(_request: web.Request, asked: Any) -> web.Response:
    """Reads a token a character and writes as long as it may."""
    read, wrote = len(asked["messages"][0]["content"]), min(WORDS, asked.get("max_tokens", WORDS))
    usage = {"prompt_tokens": read, "completion_tokens": wrote}
    await asyncio.sleep(0.01)
    return web.json_response({**said("word " * wrote, "sim"), "usage": usage})


async def boundless(request: web.Request, asked: Any) -> web.Response:
    """Does not look at how long its reply may be."""
    return await bounded(request, {**asked, "max_tokens": WORDS})


async def call(session: aiohttp.ClientSession, served: Served, text: str = "x" * 8) -> tuple[int, Any]:
    body = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": text}]})
    async with session.post(served.url + CHAT, data=body) as got:
        return got.status, orjson.loads(await got.read())


async def raced(
    home: Path,
    answer: Any,
    *,
    limits: TrialLimits,
    budget: Ledger | None = None,
    trials: int = 1,
    calls: int = 16,
) -> tuple[list[Served], list[tuple[int, Any]], Upstreams]:
    """So many calls at once in each trial, three times over."""
    found: list[tuple[int, Any]] = []
    served: list[Served] = []
    async with upstream(answer) as up, gateway_to(up.url, home, budget=budget) as gateway:

        async def one() -> None:
            async with trial_of(gateway, limits) as trial, aiohttp.ClientSession() as session:
                served.append(trial)
                for _ in range(3):
                    found.extend(await asyncio.gather(*(call(session, trial) for _ in range(calls))))

        await asyncio.gather(*(one() for _ in range(trials)))
        return served, found, up


def refusals(found: Sequence[tuple[int, Any]]) -> set[str]:
    return {body["error"]["message"] for status, body in found if status != 200}


@pytest.mark.promise("C-31")
@pytest.mark.parametrize("answer", [bounded, boundless])
def test_sixteen_calls_at_once_do_not_pass_a_limit_of_tokens_by_more_than_one_answer(
    tmp_path: Path, answer: Any
) -> None:
    (one,), found, up = asyncio.run(raced(tmp_path, answer, limits=TrialLimits(max_tokens=400)))
    used = one.trial.spending.own.tokens
    assert 400 - 28 <= used <= 400 + WORDS + 8
    assert len(up.asked) < len(found) and refusals(found)
    assert all(each["max_tokens"] <= 400 for each in up.asked)
    (told,) = {each.partition(" tokens were")[0].partition(" of ")[2] for each in refusals(found)}
    assert told == "400" and "of 400 tokens were used" in one.trial.limits_met[0]
    assert [each.status for each in one.calls if each.ended == "refused"] == [400] * (
        len(found) - len(up.asked)
    )


def test_a_limit_of_calls_is_met_exactly_and_the_refusal_says_so(tmp_path: Path) -> None:
    limits = TrialLimits(max_tokens=None, max_calls=5)
    (one,), found, up = asyncio.run(raced(tmp_path, bounded, limits=limits))
    assert (len(up.asked), one.trial.spending.calls) == (5, 5)
    error = next(body["error"] for status, body in found if status != 200)
    assert error["code"] == error["type"] == "budget_exceeded"
    assert error["message"] == "No further call may be made: all 5 calls of its model were made."


def test_a_limit_of_money_needs_prices_and_is_held_by_them(tmp_path: Path) -> None:
    limits = TrialLimits(max_tokens=None, max_cost_usd=0.01)
    (one,), found, _ = asyncio.run(raced(tmp_path, bounded, limits=limits, calls=2))
    assert isinstance(one.trial.stop, ConfigError) and "max_cost_usd cannot be kept" in str(one.trial.stop)
    (tmp_path / "prices.toml").write_text('["openai/sim"]\ninput = 100.0\noutput = 100.0\n')
    (one,), found, _ = asyncio.run(raced(tmp_path, bounded, limits=limits))
    assert 0.0072 <= one.trial.spending.own.cost_usd <= 0.0128
    assert one.trial.spending.whole.cost_usd == pytest.approx(one.trial.spending.own.cost_usd)
    assert any("of $0.01 were spent" in each for each in refusals(found))


@pytest.mark.promise("C-31")
def test_a_benchmarks_budget_is_one_for_all_trials_at_once(tmp_path: Path) -> None:
    budget = Ledger(
        BenchmarkBudget(max_tokens=700, max_calls=30), "the benchmark's budget", elsewhere_tokens=100
    )
    served, found, up = asyncio.run(
        raced(tmp_path, boundless, limits=TrialLimits(), budget=budget, trials=4, calls=8)
    )
    assert budget.tokens == 28 * len(up.asked) == sum(each.trial.spending.own.tokens for each in served)
    assert 600 - 28 <= budget.tokens <= 600 + 28
    assert all("of the benchmark's budget were used" in each for each in refusals(found))
    assert budget.used_up is not None and all(each.trial.limits_met for each in served)


def test_a_server_that_refuses_a_length_is_asked_without_one_and_then_one_call_goes_at_a_time(
    tmp_path: Path,
) -> None:
    under_way, most = 0, 0

    async def picky(request: web.Request, asked: Any) -> web.Response:
        nonlocal under_way, most
        for name in ("max_tokens", "max_completion_tokens"):
            if name in asked:
                error = {"message": f"Unsupported parameter: '{name}'", "param": name}
                return web.json_response({"error": error}, status=400)
        under_way += 1
        most = max(most, under_way)
        try:
            return await boundless(request, asked)
        finally:
            under_way -= 1

    (one,), found, up = asyncio.run(raced(tmp_path, picky, limits=TrialLimits(max_tokens=400), calls=4))
    assert sum(status == 200 for status, _ in found) > 2
    assert one.trial.spending.own.tokens <= 400 + 28
    assert most <= 4 and sum("max_tokens" in each for each in up.asked) <= 4


def test_what_a_call_waited_for_its_server_is_no_time_of_the_agents(tmp_path: Path) -> None:
    asked = 0

    async def busy(request: web.Request, body: Any) -> web.Response:
        nonlocal asked
        asked += 1
        if asked <= 2:
            return web.json_response(
                {"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0.3"}
            )
        return await bounded(request, body)

    async def run() -> tuple[float, float]:
        async with upstream(busy) as up, gateway_to(up.url, tmp_path) as gateway, trial_of(gateway) as served:
            async with aiohttp.ClientSession() as session:
                began = time.monotonic()
                assert (await call(session, served))[0] == 200
                took_s = time.monotonic() - began
            return served.trial.clock.waited_s(), took_s

    waited_s, took_s = asyncio.run(run())
    assert 0.55 <= waited_s <= took_s - 0.01


def test_a_hostile_agent_keeps_no_other_trial_from_its_model(tmp_path: Path) -> None:
    """Connections without end, headers and bodies without end, requests one on top of the other."""

    def besieged(port: int) -> list[socket.socket]:
        lines = [socket.create_connection(("127.0.0.1", port)) for _ in range(200)]
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\n"
        for number, line in enumerate(lines[:120]):
            line.sendall(
                [head, head + b"Content-Length: 99999999999\r\n\r\n{", b"\x00\xff" * 50, b""][number % 4]
            )
        lines[120].sendall((b"GET /nowhere HTTP/1.1\r\nHost: a\r\n\r\n") * 2000)
        return lines

    async def run() -> tuple[float, list[bytes]]:
        async with upstream(bounded) as up, gateway_to(up.url, tmp_path) as gateway:
            async with trial_of(gateway) as hostile, trial_of(gateway) as honest:
                lines = await asyncio.to_thread(besieged, int(hostile.url.rpartition(":")[2]))
                async with aiohttp.ClientSession() as session:
                    await call(session, honest)
                    began = time.monotonic()
                    for _ in range(10):
                        assert (await call(session, honest))[0] == 200
                    took_s = (time.monotonic() - began) / 10
                lines[1].settimeout(60)
                told = [await asyncio.to_thread(lines[1].recv, 99)]
            for line in lines:
                line.close()
            return took_s, told

    took_s, told = asyncio.run(run())
    assert took_s < 5.0  # quietly, a hundredth of that
    assert told[0].startswith(b"HTTP/1.1 413")
    assert serving.MOST_CONNECTIONS < 200
