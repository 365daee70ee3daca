"""Streams of events by which open pages hear that what they show has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.responses import StreamingResponse

from proctor.service.watch.job_states import JobState

LOOK_EVERY_S = 0.5
HEARTBEAT_S = 15.0
CHANGED = b"event: changed\ndata: 1\n\n"
STILL_HERE = b": still here\n\n"

END = b"event: end\ndata: 1\n\n"
ITEMS_A_SECOND = 2_000  # that are read anew for who watches a run at work: of larger ones it hears less often

Look = Callable[[], list[tuple[object, ...]]]


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def until_ended(states: Callable[[], Sequence[JobState]]) -> AsyncIterator[bytes]:
    """Says `changed` whenever any of the runs has something new to show, and `end` when all of them have ended."""
    first = await asyncio.to_thread(states)
    told, beat = [state.mark for state in first], time.monotonic()
    ended, settled = _ended(first), _settled(first)
    while not ended:
        await asyncio.sleep(max(LOOK_EVERY_S, settled / ITEMS_A_SECOND))
        now = await asyncio.to_thread(states)
        ended, settled = _ended(now), _settled(now)
        if (marks := [state.mark for state in now]) != told:
            told, beat = marks, time.monotonic()
            yield CHANGED
        elif time.monotonic() - beat > HEARTBEAT_S:
            beat = time.monotonic()
            yield STILL_HERE
    yield END


def _ended(states: Sequence[JobState]) -> bool:
    return all(state.ended for state in states)


def _settled(states: Sequence[JobState]) -> int:
    return sum(state.run.settled for state in states)


async def changes(look: Look) -> AsyncIterator[bytes]:
    """Says `changed` whenever what `look` gives has; it looks less often while that is nothing. It never ends."""
    told, beat = await asyncio.to_thread(look), time.monotonic()
    while True:
        await asyncio.sleep(LOOK_EVERY_S if told else 4 * LOOK_EVERY_S)
        now = await asyncio.to_thread(look)
        if now != told:
            told, beat = now, time.monotonic()
            yield CHANGED
        elif time.monotonic() - beat > HEARTBEAT_S:
            beat = time.monotonic()
            yield STILL_HERE
