"""`make fleet-quota`: forty processes at one provider with a hard quota, with and without a common Redis.

    python tools/fleet_quota.py [--workers N] [--seconds S] [--only CASE]

Each case starts the simulator with a quota and lets the workers (real engine, limiter, provider and HTTP client,
forked from this process) ask it for so many seconds, first each for itself, then as a fleet on one Valkey. What was
used of the quota and what was refused is the simulator's own count. Nothing is asserted: the exit code is 0 unless
something broke.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import signal
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "fleet"))
import redis.asyncio.retry  # noqa: F401 - once here, not in every worker
from valkeys import Valkey, running_valkey  # type: ignore[import-not-found]  # tests are not checked

import proctor.providers.protocols.openai  # noqa: F401 - as above
from proctor.engine.abreast import Asking
from proctor.engine.attempts import Terms, attempts
from proctor.providers import open_provider
from proctor.providers.contract import Opening
from proctor.providers.pacing.limiter import Limiter
from proctor.providers.prices import Prices
from proctor.providers.wire.http import Http
from proctor.service.runs.pace.quota import in_fleet
from proctor.settings import read_settings
from proctor.simulator import spawn
from proctor.types import Chat, Gold, Grade, Item, Message, Model, Outcome, Reply, Sampling

PARALLEL = 64
SCRATCH = "/tmp/proctor-fleet-quota"


@dataclass(frozen=True, slots=True)
class Case:
    """One quota and how it is asked. `longest`: characters of a prompt, drawn evenly up to so many."""

    name: str
    options: str
    longest: int = 40
    disturb: str = ""  # kills: workers are killed and others join; restart: the Valkey is killed and started


CASES = (
    Case("requests, bucket of 1 s", "--rpm 6000 --quota-burst 1 --latency 0.3 --sigma 0.4"),
    Case("requests, bucket of 60 s", "--rpm 3000 --quota-burst 60 --latency 0.3 --sigma 0.4"),
    Case(
        "tokens, prompts of 1 to 1000",
        "--tpm 3000000 --quota-burst 2 --latency 0.3 --sigma 0.4",
        longest=4000,
    ),
    Case("requests, windows of 5 s", "--rpm 6000 --quota-window 5 --latency 0.3 --sigma 0.4"),
    Case("no headers, 0.1 s at once", "--per-second 100 --latency 0.3 --sigma 0.4"),
    Case("16 slots", "--slots 16 --overload refuse --latency 0.2 --sigma 0.4"),
    Case(
        "workers killed and joining", "--rpm 6000 --quota-burst 1 --latency 0.3 --sigma 0.4", disturb="kills"
    ),
    Case(
        "Valkey killed and restarted",
        "--rpm 6000 --quota-burst 1 --latency 0.3 --sigma 0.4",
        disturb="restart",
    ),
)


def _items(case: Case, seed: int) -> Iterator[Asking]:
    draw = random.Random(seed)
    for n in itertools.count():
        text = f"{seed}/{n} " + "x" * draw.randint(1, case.longest)
        yield Asking(Item(str(n), "quota", Chat((Message("user", text),)), Gold("A")), n)


def _grade(item: Item, reply: Reply) -> Grade:
    return Grade(Outcome.CORRECT, None)


async def _work(case: Case, url: str, redis_url: str | None, seed: int, until: Callable[[], float]) -> None:
    settings = replace(
        read_settings({"PROCTOR_HOME": SCRATCH, "OPENAI_API_KEY": "not-a-key"}), redis_url=redis_url
    )
    http = Http(parallel=PARALLEL, timeout_s=60.0)
    model = Model("openai", "sim", base_url=f"{url}/v1")
    provider = open_provider(model, Sampling(max_tokens=16), Opening(settings, http, Prices(Path("none"))))
    assert provider.pacing is not None
    limiter = Limiter(provider.pacing)
    ends = until()
    terms = Terms(limiter, PARALLEL, drawing=lambda: time.time() < ends)
    async with in_fleet(model, provider, http, limiter, settings):
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.1, ends - time.time())):
                async for _ in attempts(_items(case, seed), provider, _grade, terms):
                    pass
    await http.close()


def _fork(case: Case, url: str, redis_url: str | None, seed: int, until: Callable[[], float]) -> int:
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        asyncio.run(_work(case, url, redis_url, seed, until))
        code = 0
    finally:
        os._exit(code)


@dataclass(frozen=True, slots=True)
class Gate:
    """All begin together: each says that it is ready, and hears when the asking ends."""

    said: tuple[int, int]
    told: tuple[int, int]

    def wait(self) -> float:
        os.write(self.said[1], b"x")
        return float(os.read(self.told[0], 20))

    def open(self, workers: int, seconds: float) -> float:
        heard = 0
        while heard < workers:
            heard += len(os.read(self.said[0], workers))
        ends = time.time() + seconds
        os.write(self.told[1], f"{ends:<20.6f}".encode() * workers)
        return ends


def _stats(url: str) -> dict[str, object]:
    with urllib.request.urlopen(f"{url}/__stats", timeout=30) as answer:
        found: dict[str, object] = json.load(answer)
    return found


@dataclass(frozen=True, slots=True)
class Measured:
    """`used`: share of what the quota offered; `refused`: share of the requests."""

    requests: int
    used: float
    refused: float


def _measure(case: Case, workers: int, seconds: float, valkey: Valkey | None) -> Measured:
    with spawn(case.options.split(), {}) as server:
        gate, redis_url = Gate(os.pipe(), os.pipe()), valkey.url if valkey else None
        children = {seed: _fork(case, server.url, redis_url, seed, gate.wait) for seed in range(workers)}
        ends = gate.open(workers, seconds)

        def fork(seed: int) -> int:
            return _fork(case, server.url, redis_url, seed, lambda: ends)

        if case.disturb == "kills":
            _kill_and_join(children, fork, ends)
        elif case.disturb and valkey is not None:
            time.sleep(seconds / 3)
            valkey.kill()
            time.sleep(seconds / 6)
            valkey.start()
        time.sleep(max(0.0, ends - time.time() - 0.2))
        told = _stats(server.url)
        for child in children.values():
            os.waitpid(child, 0)
        return _judge(case, told, seconds)


def _kill_and_join(children: dict[int, int], fork: Callable[[int], int], ends: float) -> None:
    draw, seed = random.Random(1), len(children)
    while time.time() < ends - 1.0:
        time.sleep(0.25)
        gone = draw.choice(sorted(children))
        os.kill(children[gone], signal.SIGKILL)
        os.waitpid(children.pop(gone), 0)
        children[seed] = fork(seed)
        seed += 1


def _judge(case: Case, told: dict[str, object], seconds: float) -> Measured:
    quota = told["quota"]
    assert isinstance(quota, dict)
    seen, served = int(str(told["seen"])), int(str(told["served"]))
    units = [unit for unit in quota.values() if isinstance(unit, dict)]
    asked_s = float(str(told["last_at"])) - float(str(told["first_at"]))
    if units:
        used = max(unit["used"] / unit["offered"] for unit in units)
    elif "--slots" in case.options:
        used = float(str(told["sum_latency_s"])) / (16 * asked_s)
    else:
        used = served / (100 * asked_s)
    return Measured(seen, used, (seen - served) / max(1, seen))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=30.0, help="of each case, twice")
    parser.add_argument("--only", default=CASES[0].name, help="cases whose name holds this; all: every case")
    parser.add_argument("--shared-only", action="store_true")
    given = parser.parse_args(arguments)
    print(
        f"{given.workers} workers, {given.seconds:g} s a case; used of the quota, refused of the requests\n"
    )
    print(f"{'case':32} {'each for itself':>24}   {'one fleet':>24}")
    for case in CASES:
        if given.only != "all" and given.only not in case.name:
            continue
        ways = []
        if not given.shared_only:
            ways.append(_measure(case, given.workers, given.seconds, None))
        with running_valkey() as valkey:
            ways.append(_measure(case, given.workers, given.seconds, valkey))
        shown = [f"{way.used:8.1%} {way.refused:7.2%} {way.requests:7d}" for way in ways]
        print(f"{case.name:32} " + "   ".join(shown), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
