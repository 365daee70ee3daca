"""Streams of events by which open pages hear that what they show has changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.responses import Response, StreamingResponse

from proctor.service.context import Context
from proctor.service.watch.hub import Look, Seen, WatchHub
from proctor.service.watch.moves import moved
from proctor.web.dependencies import context_of

HEARTBEAT_S = 15.0
CHANGED = "changed"
STILL_HERE = b": still here\n\n"
END = b"event: end\ndata: 1\n\n"
ITEMS_A_SECOND = 2_000  # that are read anew for who compares runs at work: of larger ones it hears less often


@dataclass(frozen=True, slots=True)
class StreamMaker:
    """What streams of pages are made of: the process's hub, and the caller's context. See `Events`."""

    hub: WatchHub
    context: Context

    async def of_runs(self, run_ids: Sequence[str], *, longest_s: float = 2.0) -> Response:
        """Says `changed` when any of the runs has something new to show, and `end` when all have ended.

        Of large runs `changed` is told more seldom, `longest_s` apart at most. Raises NotFound before it begins.
        """
        ids = tuple(run_ids)

        def look() -> Seen:
            found = moved(self.context, ids)
            settled = sum(each.settled for each in found)
            return Seen(
                {CHANGED: [each.mark for each in found]},
                ended=all(each.ended for each in found),
                apart_s=min(longest_s, settled / ITEMS_A_SECOND),
            )

        return await self._stream(("runs", ids), look)

    async def of(self, name: tuple[Hashable, ...], look: Callable[[], object]) -> Response:
        """Says `changed` whenever what `look` gives has; it never ends. Raises what the first look raises.

        `name` tells apart what looks give; it need not hold the reach. A look that gives a mapping has the marks of
        several events by their names. While it gives nothing at all, as an empty list, it is asked less often.
        """

        def seen() -> Seen:
            found = look()
            marks = found if isinstance(found, Mapping) else {CHANGED: found}
            return Seen(marks, calm=not marks.get(CHANGED))

        return await self._stream(name, seen)

    async def _stream(self, name: tuple[Hashable, ...], look: Look) -> Response:
        whole = (*name, self.context.reach)
        await self.hub.first(
            whole, look
        )  # what there is not, or may not be seen, is said before the stream begins
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        events = _events(self.hub.watch(whole, look, beat_s=HEARTBEAT_S))
        return StreamingResponse(events, media_type="text/event-stream", headers=headers)


async def _events(looks: AsyncIterator[Seen | None]) -> AsyncIterator[bytes]:
    told: Seen | None = None
    async for seen in looks:
        if seen is None:
            yield STILL_HERE
            continue
        if told is not None and not seen.ended:
            yield b"".join(b"event: %b\ndata: 1\n\n" % name.encode() for name in seen.news(told))
        if seen.ended:
            yield END
        told = seen


def _events_of(request: Request) -> StreamMaker:
    return StreamMaker(request.app.state.hub, context_of(request))


Events = Annotated[StreamMaker, Depends(_events_of)]
