"""A run's pulse: how fast it goes, written down every few seconds for whoever watches from another process."""

from __future__ import annotations

import asyncio
import time

from proctor.errors import StoreError
from proctor.service.progress import Meter, Progress
from proctor.store import Store, pulses
from proctor.store.pulses import Pulse

EVERY_S = 2.0
SHARE = 1 / 200  # of the time gone: a run of hours leaves hundreds of rows, not thousands
LATE_S = 15.0  # how much later than it should be a pulse may come while its process is at work


def longest_gap_s(gone_s: float) -> float:
    """A run at work for so long writes its pulse at least this often; a longer gap means that nobody was at work.

    >>> longest_gap_s(0.0), longest_gap_s(7200.0)
    (15.0, 51.0)
    """
    return LATE_S + gone_s * SHARE


async def keep_pulse(store: Store, meter: Meter) -> None:
    """Write the pulse until cancelled. A store that cannot take it must not end the run."""
    while True:
        await asyncio.sleep(max(EVERY_S, meter.elapsed_s() * SHARE))
        try:
            await asyncio.to_thread(pulses.add, store, meter.run.id, pulse_of(meter.look(), time.time()))
        except StoreError:
            continue


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
