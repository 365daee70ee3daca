"""Storms of refusals: the pace that a server allows is held, no item is lost and few requests are wasted.

Each runs the engine with its limiter and retries, on an event loop whose time is its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from storms import Server, storm

from proctor.providers.contract import Pacing

pytestmark = pytest.mark.slow

FREE = Pacing(8, 256)
SIXTEEN = Pacing(16, 16, fixed=True)
REPLY_S = 0.2


@dataclass(frozen=True)
class Case:
    """`allowed` is replies a second; `wasted` the most refusals a reply, beyond those of chance."""

    server: Server
    pacing: Pacing
    allowed: float
    items: int = 4000
    wasted: float = 1.2


CHANCE = {
    "a queue of 8": Case(Server(chance=0.3, queues=8, retry_after_s=0.05), FREE, 8 / REPLY_S),
    "a queue of 16, with a long delay": Case(
        Server(chance=0.3, queues=16, retry_after_s=1.0), FREE, 16 / REPLY_S
    ),
    "a queue of 64, with no delay": Case(Server(chance=0.3, queues=64), FREE, 64 / REPLY_S, 6_000),
    "sixteen at once": Case(Server(chance=0.3, retry_after_s=0.05), SIXTEEN, 16 / REPLY_S),
    "sixteen at once, with a long delay": Case(Server(chance=0.3, retry_after_s=1.0), SIXTEEN, 16 / REPLY_S),
}
LOAD = {
    "16 slots": Case(Server(slots=16, retry_after_s=0.05), FREE, 16 / REPLY_S),
    "16 slots, 64 asked for": Case(Server(slots=16), Pacing(64, 64, fixed=True), 16 / REPLY_S),
    "1 slot": Case(Server(slots=1, retry_after_s=0.05), FREE, 1 / REPLY_S, 1000),
    "50 a second": Case(Server(per_s=50.0, burst=10), FREE, 50.0),
    "50 a second, with a long delay": Case(Server(per_s=50.0, burst=50, retry_after_s=1.0), FREE, 50.0),
    "50 in each second": Case(Server(per_s=50.0, window_s=1.0), FREE, 50.0),
    "60 in each minute": Case(Server(per_s=1.0, window_s=60.0, latency_s=1.0), FREE, 1.0, 1200),
    "5 a second, each reply at once": Case(Server(per_s=5.0, burst=5, latency_s=0.02), FREE, 5.0, 1200),
}


@pytest.mark.parametrize("name", CHANCE)
def test_refusals_by_chance_do_not_slow_the_run_down(name: str) -> None:
    case = CHANCE[name]
    found = storm(case.server, case.pacing, case.items)
    assert found.per_s >= 0.9 * case.allowed
    assert found.lost == 0
    assert found.wasted <= 0.3 / 0.7 + 0.05
    assert found.limiter.chance == pytest.approx(0.3, abs=0.15)


@pytest.mark.parametrize("name", LOAD)
def test_refusals_of_a_server_that_is_full_lower_the_limit_to_what_it_serves(name: str) -> None:
    case = LOAD[name]
    found = storm(case.server, case.pacing, case.items)
    assert found.per_s >= 0.88 * case.allowed
    assert found.lost == 0
    assert found.wasted <= case.wasted


def test_a_quota_and_chance_together() -> None:
    found = storm(Server(per_s=50.0, burst=5, chance=0.3, retry_after_s=0.05), FREE, 6000)
    assert found.per_s >= 0.85 * 50.0
    assert found.lost == 0


def test_a_server_that_never_refuses_is_used_whole() -> None:
    found = storm(Server(queues=16), FREE, 8000)
    assert found.per_s >= 0.97 * 16 / REPLY_S
    assert found.wasted == 0.0
