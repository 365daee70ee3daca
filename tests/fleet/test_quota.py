"""One quota for a fleet: members on a real Valkey, asking a simulator that keeps a hard quota over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import subprocess
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from valkeys import Valkey

from jobs_world import until
from proctor.engine.abreast import Asking
from proctor.engine.attempts import Terms, attempts
from proctor.providers import open_provider
from proctor.providers.contract import Opening, Pacing
from proctor.providers.pacing.fleet import quota_key, sharing
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.prices import read_prices
from proctor.providers.wire.http import Http
from proctor.service.runs.pace.quota import in_fleet
from proctor.simulator import Simulated
from proctor.types import Model, Sampling
from programs import proctor
from simulators import questions, read, simulator
from simulators import settings as settings_of

pytestmark = pytest.mark.slow

KEY = "sk-of-the-test-0123456789"
PLACE = Pacing(start=4, most=8)
LONGEST_S = 120.0


def stats(server: Simulated) -> dict[str, Any]:
    with urllib.request.urlopen(f"{server.url}/__stats", timeout=30) as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def endless() -> Iterator[Asking]:
    n = 0
    while True:
        yield from (Asking(item, n + i) for i, item in enumerate(questions(50, start=n)))
        n += 50


async def member(home: Path, server: Simulated, redis_url: str | None, seconds: float) -> None:
    """One process's part of a fleet: settings, HTTP, limiter and run of its own."""
    settings = replace(settings_of(home, OPENAI_API_KEY=KEY), redis_url=redis_url)
    http = Http(parallel=32, timeout_s=30.0)
    model = Model("openai", "sim", base_url=f"{server.url}/v1")
    provider = open_provider(model, Sampling(max_tokens=16), Opening(settings, http, read_prices(home)))
    assert provider.pacing is not None
    limiter = Limiter(provider.pacing)
    ends = time.monotonic() + seconds
    terms = Terms(limiter, 32, drawing=lambda: time.monotonic() < ends)
    async with in_fleet(model, provider, http, limiter, settings):
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                async for _ in attempts(endless(), provider, read, terms):
                    pass
    assert http.heard is None
    await http.close()


@pytest.mark.slow
def test_a_fleet_uses_a_hard_quota_and_is_refused_a_fraction_of_what_each_for_itself_is(
    tmp_path: Path, valkey: Valkey
) -> None:
    options = ("--rpm", "3600", "--quota-burst", "1", "--latency", "0.1")

    async def six(server: Simulated, redis_url: str | None) -> None:
        await asyncio.gather(*(member(tmp_path, server, redis_url, 3.0) for _ in range(6)))

    async def both() -> None:
        await asyncio.gather(six(apart, None), six(together, valkey.url))

    with simulator(questions(1), *options) as apart, simulator(questions(1), *options) as together:
        asyncio.run(both())
        alone, fleet = stats(apart)["quota"], stats(together)["quota"]
    refused = [each["refused"] / (each["allowed"] + each["refused"]) for each in (alone, fleet)]
    assert refused[1] < refused[0] / 2
    # Of three seconds the first goes into learning what there is.
    assert fleet["requests"]["used"] > 0.4 * fleet["requests"]["offered"]


@asynccontextmanager
async def places(valkey: Valkey, key: str, slots: int | None) -> AsyncIterator[Limiter]:
    limiter = Limiter(PLACE)
    async with sharing(valkey.url, limiter, key, slots=slots):
        yield limiter


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LONGEST_S):
            await work()

    asyncio.run(bounded())


def test_two_members_share_the_places_that_a_server_says_it_has(valkey: Valkey) -> None:
    async def work() -> None:
        async with places(valkey, "k", 2) as here, places(valkey, "k", 2) as there:
            await here.acquire()
            await there.acquire()
            third = asyncio.create_task(there.acquire())
            assert not (await asyncio.wait({third}, timeout=0.3))[0]
            here.completed(0.1, 1)
            here.release()
            await third

    run(work)


@pytest.mark.slow
def test_the_place_of_a_killed_process_comes_back(valkey: Valkey) -> None:
    program = (
        "import asyncio, sys\n"
        "from proctor.providers.contract import Pacing\n"
        "from proctor.providers.pacing.fleet import sharing\n"
        "from proctor.providers.pacing.limiter import Limiter\n"
        "async def hold():\n"
        "    limiter = Limiter(Pacing(1, 1))\n"
        "    async with sharing(sys.argv[1], limiter, 'k', slots=1):\n"
        "        await limiter.acquire()\n"
        "        print('held', flush=True)\n"
        "        await asyncio.sleep(600)\n"
        "asyncio.run(hold())\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", program, valkey.url], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    with valkey.client() as connection:
        until(lambda: b"1 1" in connection.hvals("proctor:quota:{k}:held"), "it has told that it is in use")

    async def work() -> None:
        async with places(valkey, "k", 1) as here:
            place = asyncio.create_task(here.acquire())
            assert not (await asyncio.wait({place}, timeout=0.5))[0]
            holder.kill()
            await place

    run(work)
    holder.wait()
    holder.stdout.close()


def test_losing_redis_blocks_nobody_is_said_once_and_passes(
    own_valkey: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "proctor")

    async def work() -> None:
        async with places(own_valkey, "k", 4) as here:
            await here.acquire()
            share = here.share
            assert share is not None
            own_valkey.kill()
            while not share.alone:  # noqa: ASYNC110 - it is a field, and nobody tells of it
                await asyncio.sleep(0.02)
            for _ in range(3):  # its part of four places is all four, for it was alone in the fleet
                await here.acquire()
            await asyncio.sleep(1.5)  # two further attempts
            own_valkey.start()
            while share.alone:  # noqa: ASYNC110 - as above
                await asyncio.sleep(0.02)

    run(work)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 2
    assert "going on with this process's part of it" in said[0]
    assert "shared again" in said[1]


def test_without_any_redis_at_the_address_requests_are_paced_as_by_one_process() -> None:
    async def work() -> None:
        limiter = Limiter(PLACE)
        async with sharing("redis://127.0.0.1:9/0", limiter, "k"):
            for _ in range(4):
                await limiter.acquire()
            limiter.refused(None)
            assert limiter.chance == 0.0
            assert limiter._refused == 1  # judged here, since nobody else does

    run(work)


def test_a_run_of_the_command_line_leaves_what_it_learned_and_no_key(tmp_path: Path, valkey: Valkey) -> None:
    rows = tmp_path / "sums.csv"
    rows.write_text("question,A,B,answer\n" + "".join(f"{n}+{n}?,{2 * n},{n},A\n" for n in range(8)))
    with simulator(questions(1), "--rpm", "6000", "--latency", "0.05") as server:
        words = ("run", str(rows), "--model", "openai/sim", "--base-url", f"{server.url}/v1")
        proctor(tmp_path, *words, PROCTOR_REDIS_URL=valkey.url, OPENAI_API_KEY=KEY)
        assert stats(server)["served"] == 8
    with valkey.client() as connection:
        names = [name.decode() for name in connection.keys("*")]
        held = {name: connection.hgetall(name) for name in names if name.endswith("state")}
    assert held and all(name.startswith("proctor:quota:{") for name in names)
    assert KEY not in f"{names} {held}"
    assert "6000" in str(held)  # the limit, as the server's headers told it


def test_a_quota_is_one_of_provider_address_model_and_key() -> None:
    one = quota_key("openai", "http://a/v1", "m", secret="k")
    assert one == quota_key("openai", "http://a/v1", "m", secret="k")
    others = {
        quota_key("openai", "http://a/v1", "m", secret="l"),
        quota_key("openai", "http://a/v1", "n", secret="k"),
        quota_key("openai", "http://b/v1", "m", secret="k"),
        quota_key("openai", "http://a/v1", "m", secret=None),
    }
    assert len(others | {one}) == 5


def test_a_missing_client_is_named_with_the_extra_to_install(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys\n"
        "sys.modules['redis'] = None  # as where it is not installed\n"
        "from proctor.providers.contract import Pacing\n"
        "from proctor.providers.pacing.fleet import sharing\n"
        "from proctor.providers.pacing.limiter import Limiter\n"
        "async def join():\n"
        "    async with sharing('redis://127.0.0.1:9/0', Limiter(Pacing(1, 1)), 'k'):\n"
        "        pass\n"
        "asyncio.run(join())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'proctor[redis]'" in done.stderr
