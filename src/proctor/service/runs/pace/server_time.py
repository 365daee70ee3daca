"""A run's service time by the server's own metrics, where its replies tell none: read before and after it."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.manifest import ServerClock
from proctor.offered import ListedModel
from proctor.providers.protocols.server_clock import Clock, read_clock, served_since
from proctor.providers.wire.http import Http

TELLS_IN_METRICS = "vllm"


@dataclass(frozen=True, slots=True)
class ServerTime:
    """The server's clock as it stood when a run's work began; None where it tells none."""

    http: Http
    address: str
    before: Clock | None

    async def told(self, earlier: ServerClock | None, replies: int) -> ServerClock | None:
        """The run's clock after so many replies: the sum with earlier stretches of its work."""
        if self.before is None or not replies:
            return earlier
        served = await served_since(self.http, self.address, self.before, replies)
        before = earlier or ServerClock()
        return ServerClock(before.requests + served.requests, before.seconds + served.seconds, served.why_not)


async def begin(http: Http, address: str, listed: ListedModel) -> ServerTime:
    """Costs a request only where the server said that it is one that has such metrics."""
    has = listed.server is not None and listed.server.name == TELLS_IN_METRICS
    return ServerTime(http, address, await read_clock(http, address) if has else None)
