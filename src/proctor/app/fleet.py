"""What server and workers have beside them where PROCTOR_REDIS_URL is set: the sweeper, and RQ workers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from proctor.jobs.rq_slots import Slot, WorkerSlots
from proctor.jobs.rq_sweep import Link
from proctor.jobs.worker import Worker
from proctor.settings import Settings
from proctor.store import Store

SILENT_LEASES = 0.5  # a notice whose RQ worker was silent for this part of a lease is put back


@contextmanager
def swept(store: Store, settings: Settings, lease_s: float, log: Callable[[str], None]) -> Iterator[None]:
    """Sweep until the block ends; without Redis nothing. Raises ConfigError."""
    if settings.redis_url is None:
        yield
        return
    link = Link(store, settings.redis_url, silent_s(lease_s), log)
    link.start()
    try:
        yield
    finally:
        link.close()


@contextmanager
def with_rq(worker: Worker, environ: Mapping[str, str]) -> Iterator[None]:
    """Until the block ends, RQ workers take the worker's runs while Redis is there, and while it is away it takes them.

    Raises ConfigError.
    """
    settings = worker.settings
    if settings.redis_url is None:
        yield
        return
    words = [sys.executable, "-m", "proctor", "rq-worker", "--lease", f"{worker.lease_s:g}", "--name"]
    names = [f"{worker.name} {place + 1}" for place in range(settings.most_running)]
    slots = WorkerSlots([Slot([*words, name], environ, worker.log) for name in names])
    link = Link(worker.store, settings.redis_url, silent_s(worker.lease_s), worker.log, slots.look)
    worker.takes = lambda: link.there is False
    link.start()
    try:
        yield
    finally:
        link.close()
        slots.close()


def silent_s(lease_s: float) -> float:
    return max(5.0, SILENT_LEASES * lease_s)
