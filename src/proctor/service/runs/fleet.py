"""The workers of all machines as pages show them: who is there, and what each lacks for runs that wait."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.service.context import Context
from proctor.store.queue import workers
from proctor.store.queue.workers import FRESH_S, WorkerSign

TOLD = 5  # workers that are named one by one


@dataclass(frozen=True, slots=True)
class WorkerSeen:
    """A worker as it last showed itself; `jobs` are how many it works on."""

    name: str
    host: str
    version: str
    began_at: float
    seen_at: float
    waits_for: str | None
    jobs: int

    @property
    def there(self) -> bool:
        return time.time() - self.seen_at < FRESH_S


def seen(context: Context) -> list[WorkerSeen]:
    """The workers of the last day that have not ended, those first that were seen last."""
    return [
        WorkerSeen(
            sign.name, sign.host, sign.version, sign.began_at, sign.at, sign.waits_for, len(sign.loads)
        )
        for sign in workers.signs(context.store)
        if not sign.ended
    ]


def nobody_can(context: Context, run_id: str) -> str | None:
    """Why no worker that is there can take a run that waits; None where one can, or none is there."""
    return _nobody(workers.lately(context.store, now=time.time()), run_id)


def nobody_can_any(context: Context, run_ids: Sequence[str]) -> dict[str, str]:
    """The same of several runs: those alone that no worker can take."""
    there = workers.lately(context.store, now=time.time())
    return {run_id: why for run_id in run_ids if (why := _nobody(there, run_id)) is not None}


def _nobody(there: Sequence[WorkerSign], run_id: str) -> str | None:
    if not there or not all(run_id in sign.lacks for sign in there):
        return None
    told = [f"{sign.name} lacks {sign.lacks[run_id]}" for sign in there[:TOLD]]
    more = len(there) - len(told)
    if more:
        told.append(f"and {more} more")
    return f"no worker can take it: {'; '.join(told)}"


def worked_on_by(context: Context, run_id: str) -> str | None:
    """The worker that took a run last, with its machine, as far as one remembers: where its files lie."""
    for sign in workers.signs(context.store):
        if run_id in sign.took:
            return f"{sign.name}, on {sign.host}" if sign.host not in sign.name else sign.name
    return None
