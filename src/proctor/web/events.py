"""Streams of events by which open pages hear that what they show has changed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable

from starlette.responses import StreamingResponse

LOOK_EVERY_S = 0.5
HEARTBEAT_S = 15.0
CHANGED = b"event: changed\ndata: 1\n\n"
STILL_HERE = b": still here\n\n"

Look = Callable[[], list[tuple[object, ...]]]


def event_stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


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
