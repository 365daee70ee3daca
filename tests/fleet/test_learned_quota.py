"""What a fleet concludes from headers and refusals, on servers that are a few lines of arithmetic."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from proctor.providers.pacing.learned import FleetLook, KnownQuota, judge, read_known

TICK_S = 0.25


@dataclass
class Asked:
    """How a fleet fared that kept to what was concluded: requests let through and refused, tick by tick."""

    through: list[int]
    refused: list[int]
    known: KnownQuota

    def rate(self, last_s: float) -> float:
        return sum(self.through[-int(last_s / TICK_S) :]) / last_s

    def share(self, last_s: float = 1e9) -> float:
        ticks = int(min(last_s / TICK_S, len(self.through)))
        refused, through = sum(self.refused[-ticks:]), sum(self.through[-ticks:])
        return refused / max(1, refused + through)


Server = Callable[[float, int], tuple[int, dict[str, tuple[float, float, float, float | None]]]]


def ask(server: Server, seconds: float, *, most_a_tick: int = 500) -> Asked:
    """A fleet asks as much as it may. `server`: from time and requests to how many pass, and its headers."""
    known, now, owed, begun = KnownQuota(), 1000.0, 0.0, False
    asked, allowed = Asked([], [], known), 4.0 / TICK_S
    while now < 1000.0 + seconds:
        owed = min(owed + allowed * TICK_S, most_a_tick)
        count, owed = int(owed), owed - int(owed)
        passed, told = server(now, count)
        asked.through.append(passed)
        asked.refused.append(count - passed)
        now += TICK_S
        look = FleetLook(
            now,
            TICK_S if begun else 0.0,
            started=count,
            completed=passed,
            refused=count - passed,
            most_in_flight=count,
            told=told,
        )
        known, allowance = judge(known, look, 4)
        begun = True
        places = most_a_tick if allowance.window is None else allowance.window
        allowed = 0.0 if allowance.gate_s else min(allowance.rate or 1e9, places / TICK_S)
    asked.known = known
    return asked


def bucket(per_s: float, holds_s: float, *, tells: bool) -> Server:
    """Holds `holds_s` of its rate, and tells of it as of a minute's."""
    room = per_s * holds_s
    left = [room]

    def serve(now: float, count: int) -> tuple[int, dict[str, tuple[float, float, float, float | None]]]:
        # Requests of a tick come evenly: what flows in meanwhile is there for them.
        passed = min(count, int(left[0] + per_s * TICK_S))
        left[0] = min(room, left[0] + per_s * TICK_S - passed)
        limit, missing = 60.0 * per_s, room - left[0]
        told = (now + TICK_S, limit, limit - missing, missing / per_s)
        return passed, {"requests": told} if tells and count else {}

    return serve


def windows(per_window: int, window_s: float) -> Server:
    state = {"ends": 0.0, "left": 0.0}

    def serve(now: float, count: int) -> tuple[int, dict[str, tuple[float, float, float, float | None]]]:
        if now >= state["ends"]:
            state["ends"], state["left"] = now + window_s, per_window
        passed = min(count, int(state["left"]))
        state["left"] -= passed
        told = (now + TICK_S, float(per_window), state["left"], state["ends"] - now - TICK_S)
        return passed, {"requests": told} if count else {}

    return serve


def test_a_bucket_that_tells_of_itself_is_used_up_and_hardly_refuses() -> None:
    asked = ask(bucket(100.0, 60.0, tells=True), 300.0)
    assert asked.rate(60.0) > 99.0
    assert asked.share() < 0.001


def test_a_bucket_that_holds_a_second_of_the_minute_it_tells_of_refuses_only_until_that_is_known() -> None:
    asked = ask(bucket(100.0, 1.0, tells=True), 120.0)
    assert asked.known.units["requests"].floor > 0.0
    assert asked.rate(60.0) > 98.0
    assert asked.share() < 0.01
    assert asked.share(60.0) < 0.002


def test_fixed_windows_are_told_from_buckets_and_used_evenly() -> None:
    asked = ask(windows(500, 5.0), 120.0)
    assert asked.known.units["requests"].windowed
    assert asked.rate(60.0) > 95.0
    assert asked.share(60.0) < 0.005


def test_a_server_that_tells_nothing_is_found_by_its_refusals() -> None:
    asked = ask(bucket(100.0, 1.0, tells=False), 240.0)
    assert asked.rate(120.0) > 95.0
    assert asked.share(120.0) < 0.03


def test_refusals_by_chance_are_taken_as_given() -> None:
    luck = random.Random(3)

    def serve(now: float, count: int) -> tuple[int, dict[str, tuple[float, float, float, float | None]]]:
        return sum(luck.random() > 0.3 for _ in range(count)), {}

    asked = ask(serve, 120.0, most_a_tick=40)
    assert 0.2 < asked.known.chance < 0.4
    assert asked.known.rate is None and asked.known.window is None


def test_what_is_known_survives_as_json_and_what_nobody_can_read_is_nothing_known() -> None:
    known = ask(bucket(10.0, 60.0, tells=True), 5.0).known
    assert read_known(orjson.loads(orjson.dumps(known))) == known
    assert read_known({"of": "another version"}) == KnownQuota()
    assert read_known(None) == KnownQuota()
