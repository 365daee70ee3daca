"""A run's pulse: how fast it goes, written down every few seconds for whoever watches from another process."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path

from proctor.errors import StoreError
from proctor.service.runs.progress import Meter, Progress
from proctor.store import Store
from proctor.store.queue import waits
from proctor.store.write import throughput
from proctor.store.write.throughput import Pulse

EVERY_S = 2.0
SHARE = 1 / 200  # of the time gone: a run of hours leaves hundreds of rows, not thousands
LATE_S = 15.0  # how much later than it should be a pulse may come while its process is at work


def longest_gap_s(gone_s: float) -> float:
    """A run at work for so long writes its pulse at least this often; a longer gap means that nobody was at work.

    >>> longest_gap_s(0.0), longest_gap_s(7200.0)
    (15.0, 51.0)
    """
    return LATE_S + gone_s * SHARE


async def keep_pulse(store: Store, meter: Meter, home: Path) -> None:
    """Write the pulse until cancelled, and what the run waits for. A store that cannot take it must not end the run."""
    due_s = 0.0
    try:
        while True:
            await asyncio.sleep(EVERY_S)
            seen, gone_s = meter.look(), meter.elapsed_s()
            waits.tell(home, meter.run.id, seen.waits)
            if gone_s < due_s:
                continue
            with suppress(StoreError):
                await asyncio.to_thread(throughput.add, store, meter.run.id, pulse_of(seen, time.time()))
            due_s = gone_s + gone_s * SHARE
    finally:
        waits.tell(home, meter.run.id, waits.NONE)


def pulse_of(progress: Progress, now: float) -> Pulse:
    return Pulse(
        at=now,
        done=progress.done,
        in_flight=progress.in_flight,
        items_per_s=progress.items_per_s,
        tokens_per_s=progress.tokens_per_s,
        retries=progress.retries,
        errors=sum(progress.errors.values()),
        cost_usd=progress.cost_usd,
        low_s=progress.eta.low_s,
        high_s=progress.eta.high_s,
    )
