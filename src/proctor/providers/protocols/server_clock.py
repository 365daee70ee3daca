"""How long a server says that it worked on a request, without waiting: in its replies, or in its metrics over a run."""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass

from proctor.errors import ProviderError
from proctor.providers.wire.http import Http
from proctor.providers.wire.wire_types import JsonTable

# Of a reply: the object it stands in, the fields that add up to the time, and their unit in seconds.
_IN_REPLIES = (
    ("timings", ("prompt_ms", "predicted_ms"), 1e-3),  # llama.cpp: reading and writing, in a slot
    ("metrics", ("time_to_first_token_ms", "generation_time_ms"), 1e-3),  # vLLM --enable-per-request-metrics
    ("time_info", ("prompt_time", "completion_time"), 1.0),  # Cerebras; its queue_time is apart
)
_IN_USAGE = ("prompt_time", "completion_time")  # Groq, in seconds; its queue_time is apart
SLACK, SLACK_S = 1.05, 0.001  # a server cannot have worked for longer than we waited, but for unlike clocks

# vLLM's histogram of the time that requests are in its running phase: waiting is in another.
VLLM_TIME = "vllm:request_inference_time_seconds"
LOOK_S = 5.0
LOOKS, BETWEEN_S = 4, 0.25  # the last replies are counted a moment after they were sent


def service_s(record: JsonTable, usage: JsonTable, elapsed_s: float) -> float | None:
    """What a chat completion says of its time; None where it says nothing, or what cannot be.

    An odd value is no reason to lose the reply: nothing but a time rests on it.
    """
    for name, parts, unit_s in _IN_REPLIES:
        if record.fields.get(name) is not None:  # vLLM writes null where it was not told to measure
            place = record.told(record.table, name)
            return None if place is None else _sum(place, parts, unit_s, elapsed_s)
    return _sum(usage, _IN_USAGE, 1.0, elapsed_s) if _IN_USAGE[1] in usage.fields else None


def _sum(place: JsonTable, parts: tuple[str, ...], unit_s: float, elapsed_s: float) -> float | None:
    told = [place.told(place.amount, name) for name in parts]
    return None if None in told else possible(sum(filter(None, told)) * unit_s, elapsed_s)


def possible(seconds: float, elapsed_s: float) -> float | None:
    """The time itself if a request that took `elapsed_s` can have been worked on for so long.

    >>> possible(0.5, 1.0), possible(1.0, 1.0), possible(0.0, 1.0), possible(500.0, 1.0)
    (0.5, 1.0, None, None)
    """
    return seconds if 0 < seconds <= elapsed_s * SLACK + SLACK_S else None


@dataclass(frozen=True, slots=True)
class Clock:
    """What a server's metrics add up to at one moment: requests that ended, and the seconds it worked on them."""

    requests: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Served:
    """How long a server worked on `requests` of a run, all together; `why_not` says why that is not known."""

    requests: int = 0
    seconds: float = 0.0
    why_not: str | None = None


async def read_clock(http: Http, address: str) -> Clock | None:
    """vLLM's clock behind an address such as http://host:8000/v1; None where nothing is told."""
    try:
        answer = await http.get(f"{address.removesuffix('/v1')}/metrics", {}, timeout_s=LOOK_S)
    except ProviderError:
        return None
    return clock_in(answer.body.decode("utf-8", "replace")) if answer.status == 200 else None


async def served_since(http: Http, address: str, before: Clock, requests: int) -> Served:
    """What the server's clock says of our `requests` since `before`: only if no other client asked meanwhile."""
    count: int | None = None
    for look in range(LOOKS):
        if look:
            await asyncio.sleep(BETWEEN_S)
        after = await read_clock(http, address)
        count = None if after is None else after.requests - before.requests
        if after is None or count is None or count > requests:
            break
        if count == requests:
            return Served(requests, after.seconds - before.seconds)
    if count is None:
        return Served(why_not="the server no longer told its metrics")
    return Served(
        why_not=f"the server's metrics count {count:,} requests meanwhile, where this run made {requests:,}"
    )


def clock_in(text: str) -> Clock | None:
    """The sums of vLLM's histogram over its engines, in Prometheus' text format.

    >>> clock_in('vllm:request_inference_time_seconds_sum{engine="0"} 1.5\\n'
    ...          'vllm:request_inference_time_seconds_count{engine="0"} 3.0\\n')
    Clock(requests=3, seconds=1.5)
    """
    sums = {f"{VLLM_TIME}_sum": 0.0, f"{VLLM_TIME}_count": 0.0}
    found = set()
    for line in text.splitlines():
        name = line.partition("{")[0].partition(" ")[0]
        if name in sums:
            # A label may hold blanks and braces, but after the last brace there is only the value and a time stamp.
            value = _number(line.rpartition("}")[2] if "{" in line else line.partition(" ")[2])
            if value is None:
                return None
            sums[name] += value
            found.add(name)
    if len(found) < len(sums):
        return None
    return Clock(round(sums[f"{VLLM_TIME}_count"]), sums[f"{VLLM_TIME}_sum"])


def _number(text: str) -> float | None:
    try:
        value = float(text.split()[0])
    except (ValueError, IndexError):
        return None
    return value if math.isfinite(value) else None
