"""What an RQ worker does with a notice: looks at its run, and does it if that may be done just now.

Every guard is the database's: a notice that comes too late, twice, or while there is no room ends quietly, and the
sweeper puts it back when it is due again.
"""

from __future__ import annotations

import socket

from proctor.errors import WorkerDied
from proctor.jobs.rq_notices import run_of
from proctor.jobs.worker import Worker
from proctor.store.queue import runlog
from proctor.types import Status

NOTHING = "nothing to do"


class RunFailed(WorkerDied):
    """A run failed for good: said to RQ, so that its registry of failed jobs and its dashboards show why."""


def look(worker: Worker, notice_id: str) -> str:
    """Do the notice's run, if it may be taken; how it stands then. Raises RunFailed, StoreError."""
    run_id = run_of(notice_id)
    if run_id != notice_id or not worker.do_only(run_id):
        return NOTHING
    run = worker.store.run(run_id)
    if run.status is not Status.FAILED:
        return run.status.value
    raise RunFailed(f"run {run_id}: {run.error}; {runlog.where(run_id)} on {socket.gethostname()}")
