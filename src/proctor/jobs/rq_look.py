"""What an RQ worker does with a notice: looks at its run, and does it if that may be done just now.

Every guard is the database's: a notice that comes too late, twice, or while there is no room ends quietly, and the
sweeper puts it back when it is due again.
"""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING

from proctor.errors import WorkerDied
from proctor.jobs.rq_notices import run_of
from proctor.jobs.worker import Worker
from proctor.store.queue import runlog, shards
from proctor.types import Status

if TYPE_CHECKING:
    from redis import Redis

NOTHING = "nothing to do"
STARTING_S = 15  # until a helper has opened the rows and has a shard


class RunFailed(WorkerDied):
    """A run failed for good: said to RQ, so that its registry of failed jobs and its dashboards show why."""


def look(worker: Worker, notice_id: str, redis: Redis) -> str:
    """Do the notice's run, or help with it, if that may be; how it stands then. Raises RunFailed, StoreError."""
    run_id = run_of(notice_id)
    if run_id != notice_id:
        return _help(worker, run_id, redis)
    if not worker.do_only(run_id):
        return NOTHING
    run = worker.store.run(run_id)
    if run.status is not Status.FAILED:
        return run.status.value
    raise RunFailed(f"run {run_id}: {run.error}; {runlog.where(run_id)} on {socket.gethostname()}")


def _help(worker: Worker, run_id: str, redis: Redis) -> str:
    """One helper of a run for each worker, however many slots that has: what a run asks at once is shared out so."""
    ours = f"{worker.part_of or worker.name} "
    standing = shards.standing(worker.store, run_id, now=time.time())
    owners = [worker.store.owner_of(run_id) or "", *(standing.owners if standing else ())]
    if standing is None or any(owner.startswith(ours) for owner in owners):
        return NOTHING
    if not redis.set(f"proctor:helper:{ours}{run_id}", b"", nx=True, ex=STARTING_S):
        return NOTHING
    if not worker.do_only(run_id, helps=True):
        return NOTHING
    if run_id in worker.no_help:
        raise RunFailed(f"run {run_id}: a helper failed; {runlog.where(run_id)} on {socket.gethostname()}")
    return "helped"
