"""The workers of all machines as pages show them: who is there, and what each lacks for runs that wait."""

from __future__ import annotations

import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.service.context import Context
from proctor.store.queue import shards, workers
from proctor.store.queue.shards import ShardCounts
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
    signs = [sign for sign in workers.signs(context.store) if not sign.ended]
    jobs = Counter(sign.part_of or sign.name for sign in signs for _ in sign.loads)
    return [
        WorkerSeen(
            sign.name, sign.host, sign.version, sign.began_at, sign.at, sign.waits_for, jobs[sign.name]
        )
        for sign in signs
        if sign.part_of is None
    ]


def elsewhere(context: Context) -> bool:
    """Whether a worker of another home is there, on this machine or another."""
    own = (socket.gethostname(), str(context.settings.home))
    return any((sign.host, sign.home) != own for sign in workers.lately(context.store, now=time.time()))


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
    # Workers of one home lack the same: one of them speaks for all.
    by_home = {(sign.host, sign.home, sign.lacks[run_id]): sign for sign in reversed(there)}
    told = [f"{sign.name} lacks {sign.lacks[run_id]}" for sign in list(by_home.values())[:TOLD]]
    more = len(by_home) - len(told)
    if more:
        told.append(f"and {more} more")
    return f"no worker can take it: {'; '.join(told)}"


def divided(context: Context, run_id: str) -> ShardCounts | None:
    """How many shards a run has, how many are done and at work, and by whom; None where it is not divided."""
    return shards.standing(context.store, run_id, now=time.time())


def shards_told(context: Context, run_id: str) -> str | None:
    """The same in words, of a run that several are at work on."""
    found = divided(context, run_id)
    if found is None:
        return None
    more = f" and {len(found.owners) - TOLD} more" if len(found.owners) > TOLD else ""
    by = f" by {', '.join(found.owners[:TOLD])}{more}" if found.owners else ""
    return f"{found.done} of {found.of} shards done, {found.at_work} at work{by}"


def worked_on_by(context: Context, run_id: str) -> str | None:
    """The worker that took a run last, with its machine, as far as one remembers: where its files lie."""
    for sign in workers.signs(context.store):
        if run_id in sign.took:
            return f"{sign.name}, on {sign.host}" if sign.host not in sign.name else sign.name
    return None
