"""The lease of a run at work: a thread of the run's process renews it and hears that the run is to end."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import Self

from proctor.errors import StoreError
from proctor.store import Store
from proctor.store.queue import shards
from proctor.store.queue.endings import Verdict, end, to_end
from proctor.types import Status

LOOK_EVERY_S = 0.3
GRACE_S = 1.0  # from asking this process to end until it is ended: with the look, within 2 s


@dataclass(eq=False, slots=True)
class Lease:
    """Keeps `owner`'s lease on a run while the block lasts, also while its rows are still being opened.

    A run that was cancelled, or that another worker has taken, ends by a SIGTERM to this process: its
    worker, who would send it, may be dead. What does not end by that is ended. With `helps` the run is
    another's, and the lease that of the shards which `owner` holds; a helper ends with its run, and with its
    `parent`, where it has one.
    """

    store: Store
    run_id: str
    owner: str
    lease_s: float
    helps: bool = False
    parent: int | None = None
    _over: threading.Event = field(init=False, default_factory=threading.Event)
    _thread: threading.Thread = field(init=False)

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._work, name=f"lease-{self.run_id[:8]}", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _work(self) -> None:
        due = 0.0
        look_s = min(LOOK_EVERY_S, self.lease_s / 6)
        while not self._over.wait(look_s):
            try:
                if time.monotonic() >= due:
                    if not self._renew():
                        return
                    due = time.monotonic() + self.lease_s / 3
                if self._is_to_end():
                    self._end()
                    return
            except StoreError:
                continue  # whoever keeps attempts will say so; it may pass

    def _is_to_end(self) -> bool:
        if self.helps:
            orphaned = self.parent not in (None, os.getppid())
            return orphaned or not shards.look(self.store, self.run_id).running
        return bool(to_end(self.store, [self.owner]))

    def _renew(self) -> bool:
        """False if there is nothing left to renew; a run that is another's by now must not go on here."""
        until = time.time() + self.lease_s
        if self.helps:
            shards.renew(self.store, owner=self.owner, until=until)
            return True
        if self.store.renew(self.run_id, owner=self.owner, until=until):
            shards.renew(self.store, owner=self.owner, until=until)  # those of a divided run that are its own
            return True
        if self.store.owner_of(self.run_id) is not None:
            self._end()
        return False  # it has just ended

    def _end(self) -> None:
        if self._over.is_set():
            return  # the run has just ended by itself
        os.kill(os.getpid(), signal.SIGTERM)
        if self._over.wait(GRACE_S):
            return
        try:
            if self.helps:
                shards.put_back(self.store, owner=self.owner)
            else:
                verdict = Verdict(Status.CANCELLED, "cancelled")
                end(self.store, self.run_id, verdict, owner=self.owner, now=time.time())
        finally:
            os._exit(128 + signal.SIGKILL)
