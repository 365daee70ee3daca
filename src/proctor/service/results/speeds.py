"""When the speeds of two runs mean the same: by one clock, among about as many requests; and what to do where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from proctor.figures import amount
from proctor.findings import Basis, RunResult, Speed, Tally
from proctor.manifest import ServerClock

ABOUT = 1.25  # times as many requests at once are about as many
CURE = "To compare their speed run both with the same --parallel, such as 1"


def with_clock(tally: Tally, clock: ServerClock | None) -> Tally:
    """The tally with the service time that the server's metrics gave for the run, where its replies carry none."""
    speed = tally.speed
    if speed is None or speed.service_s is not None or clock is None or not clock.requests:
        return tally
    service_s = clock.seconds / clock.requests
    rate = speed.wire_tokens_per_s
    told = replace(
        speed,
        service_s=service_s,
        served=min(clock.requests, speed.timed),
        service_tokens_per_s=rate * speed.wire_s / service_s if rate and service_s else None,
    )
    return replace(tally, speed=told)


def document(of: Speed | None) -> dict[str, Any] | None:
    """A run's speed as JSON: `seconds` of a request by the clock that `basis` names, for `requests` of them.

    `at_once` is how many requests shared the server, `in_flight` how many were there, waiting ones too.
    """
    if of is None:
        return None
    return {
        "basis": of.basis,
        "seconds": of.seconds(of.basis),
        "requests": of.served if of.basis == "server" else of.timed,
        "at_once": of.at_once(of.basis),
        "in_flight": of.in_flight,
        "output_tokens_per_s": of.output_tokens_per_s,
    }


def common(results: Sequence[RunResult]) -> Basis | None:
    """The clock by which the runs' speeds mean the same, the server's rather than ours; None where there is none.

    Runs without any time do not matter.
    """
    timed = [result for result in results if result.tally.speed is not None]
    bases: tuple[Basis, ...] = ("server", "measured")
    return next(
        (basis for basis in bases if all(_alike(*two, basis) for two in combinations(timed, 2))), None
    )


def unlike(results: Sequence[RunResult]) -> str:
    """Why the speeds of runs do not mean the same, and what to do, in sentences; "" where they do."""
    if common(results) is not None:
        return ""
    timed = [result for result in results if result.tally.speed is not None]
    one, other = next(two for two in combinations(timed, 2) if common(two) is None)
    alike = str(one.run.cell.model) == str(other.run.cell.model)
    return f"The times do not compare: {_how(one, alike)}, and {_how(other, alike)}. {CURE}."


def _how(result: RunResult, by_run: bool) -> str:
    speed, name = result.tally.speed, str(result.run.cell.model)
    name = f"run {result.run.id[:8]}" if by_run else name
    at_once = None if speed is None else _at_once(result, speed, speed.basis)
    if speed is None or at_once is None:
        return f"how many requests {name} had at once is not recorded"
    requests = f"{amount(at_once)} request{'s' * (amount(at_once) != '1')}"
    if speed.basis == "server":
        return f"{name} is timed by its server, which worked on {requests} at once"
    return f"{name} is timed on the wire, waiting included, with {requests} in flight"


def _alike(one: RunResult, other: RunResult, basis: Basis) -> bool:
    speeds = one.tally.speed, other.tally.speed
    if speeds[0] is None or speeds[1] is None or not all(_told(speed, basis) for speed in speeds if speed):
        return False
    mine, theirs = _at_once(one, speeds[0], basis), _at_once(other, speeds[1], basis)
    return mine is not None and theirs is not None and max(mine, theirs) <= ABOUT * min(mine, theirs)


def _told(speed: Speed, basis: Basis) -> bool:
    return basis == "measured" or speed.basis == "server"


def _at_once(result: RunResult, speed: Speed, basis: Basis) -> float | None:
    """Of runs of older versions, which recorded nothing, as many as the user fixed."""
    return speed.at_once(basis) or result.run.cell.limits.parallel
