"""The worker: takes runs from the queue, starts a process for each, and ends those that must end.

It may be killed at any moment. A run's process goes on without its worker and keeps its own lease; if both
die, the lease runs out and another worker takes the run, which goes on where it stopped.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from proctor.errors import ProctorError, ProviderError, StoreError
from proctor.jobs.resources import Excess, excess
from proctor.settings import Settings
from proctor.store import Store, queue
from proctor.types import Run, Status

LOOK_EVERY_S = 0.2
MEASURE_EVERY_S = 1.0
LEASE_S = 60.0
GRACE_S = 1.0  # between asking a process to end and killing it: a cancellation is done within 2 s
MOST_TRIES = 3
FIRST_RETRY_S = 60.0  # doubled with each further try


@dataclass(slots=True)
class Child:
    """A process at work on a run; it leads a process group of its own."""

    run: Run
    owner: str
    process: subprocess.Popen[bytes]
    began: float
    told_to_end: float | None = None
    verdict: Mapping[str, str | None] | None = None  # what its row is to say if it cannot say so itself
    status: Status = Status.FAILED


@dataclass(slots=True)
class Worker:
    """One worker. `command` makes the command line of the process that does a run's work."""

    store: Store
    settings: Settings
    command: Callable[[str, str], list[str]]
    log: Callable[[str], None]
    environ: Mapping[str, str]
    children: dict[str, Child] = field(default_factory=dict)
    name: str = field(default_factory=lambda: f"worker {socket.gethostname()} {uuid.uuid4().hex[:8]}")
    stopping: bool = False
    _measured: float = 0.0

    def work(self) -> None:
        """Until `stopping`; what is under way then ends, its runs waiting to be taken up again."""
        while not self.stopping:
            try:
                self.step(time.time())
            except StoreError as error:  # the database may come back; the processes go on meanwhile
                self.log(f"database: {error}")
                time.sleep(1)
            time.sleep(LOOK_EVERY_S)
        self.end_all()

    def step(self, now: float) -> None:
        """One look at everything: ended processes, cancellations, limits, new runs."""
        for child in list(self.children.values()):
            if child.process.poll() is not None:
                self._ended(child, now)
        self._cancel_asked(now)
        if now - self._measured >= MEASURE_EVERY_S:
            self._measured = now
            self._check_limits(now)
        self._kill_overdue(now)
        while len(self.children) < self.settings.most_running and self._take(now):
            pass

    def end_all(self) -> None:
        """Have every process end; its run is taken up again by the next worker."""
        now = time.time()
        for child in self.children.values():
            self._tell(child, now)
        deadline = time.monotonic() + 10 * GRACE_S
        while self.children and time.monotonic() < deadline:
            for child in list(self.children.values()):
                if child.process.poll() is not None:
                    del self.children[child.run.id]
                    self._wait_again(child, time.time())
            time.sleep(0.05)
        for child in self.children.values():
            _signal(child, signal.SIGKILL)

    # Starting ------------------------------------------------------------------------------------

    def _take(self, now: float) -> bool:
        owner = f"{self.name} {uuid.uuid4().hex[:8]}"
        run = queue.take_next(
            self.store, owner=owner, now=now, lease_s=LEASE_S, most_running=self.settings.most_running
        )
        if run is None:
            return False
        if queue.job(self.store, run.id).tries > MOST_TRIES:
            words = {
                "stopped": None,
                "error": f"{MOST_TRIES} workers took this run and died with it; look into their logs",
                "error_slug": "worker-died",
            }
            queue.end(self.store, run.id, Status.FAILED, owner=owner, now=now, words=words)
            return True
        process = subprocess.Popen(
            self.command(run.id, owner),
            stdin=subprocess.DEVNULL,
            env=dict(self.environ),
            start_new_session=True,
        )
        self.children[run.id] = Child(run, owner, process, now)
        self.log(f"run {run.id}: {run.cell.model} on {run.source_title}, process {process.pid}")
        return True

    # Ending --------------------------------------------------------------------------------------

    def _ended(self, child: Child, now: float) -> None:
        """A process has ended: its row says how, or is made to say it here."""
        del self.children[child.run.id]
        code = child.process.returncode
        _signal(child, signal.SIGKILL)  # what it may have left behind in its group
        if child.verdict is not None:
            queue.end(self.store, child.run.id, child.status, owner=child.owner, now=now, words=child.verdict)
            self._overrule(child, now)
        else:
            words = {
                "stopped": None,
                "error": f"the process that did the work ended with code {code}",
                "error_slug": "worker-died",
            }
            queue.end(self.store, child.run.id, Status.FAILED, owner=child.owner, now=now, words=words)
            self._try_again(child, now)
        run = self.store.run(child.run.id)
        self.log(f"run {run.id}: {run.status}{f', {run.error}' if run.error else ''}")

    def _overrule(self, child: Child, now: float) -> None:
        """A process that was told to end says "cancelled"; where a limit was passed, that is what happened."""
        if child.status is Status.FAILED and child.verdict is not None:
            queue.fail(self.store, child.run.id, now=now, words=child.verdict)

    def _try_again(self, child: Child, now: float) -> None:
        """A failure that may pass is tried again, later each time."""
        run = self.store.run(child.run.id)
        tries = queue.job(self.store, run.id).tries
        if run.status is Status.FAILED and run.error_slug in TRANSIENT and tries < MOST_TRIES:
            delay_s = self.settings.first_retry_s * 2 ** (tries - 1)
            queue.wait_again(self.store, run.id, run_after=now + delay_s)
            self.log(f"run {run.id}: try {tries} failed ({run.error_slug}); again in {delay_s:.0f} s")

    def _wait_again(self, child: Child, now: float) -> None:
        """A run that only ended because its worker did goes back into the queue."""
        words = {"stopped": None, "error": "the worker was stopped", "error_slug": "worker-stopped"}
        if not queue.end(self.store, child.run.id, Status.FAILED, owner=child.owner, now=now, words=words):
            queue.fail(self.store, child.run.id, now=now, words=words)
        queue.wait_again(self.store, child.run.id, run_after=now)

    def _cancel_asked(self, now: float) -> None:
        if not self.children:
            return
        for run_id in queue.to_end(self.store, [child.owner for child in self.children.values()]):
            child = self.children.get(run_id)
            if child is not None and child.told_to_end is None:
                child.verdict = {"stopped": "cancelled", "error": None, "error_slug": None}
                child.status = Status.CANCELLED
                self._tell(child, now)

    def _check_limits(self, now: float) -> None:
        for child in self.children.values():
            if child.told_to_end is not None:
                continue
            found: Excess | None = excess(child.process.pid, self.settings)
            if found is None and now - child.began > child.run.cell.limits.timeout_s + 60:
                found = Excess("run-timeout", f"it took longer than {child.run.cell.limits.timeout_s:.0f} s")
            if found is not None:
                child.verdict = {"stopped": None, "error": found.message, "error_slug": found.slug}
                self._tell(child, now)

    def _tell(self, child: Child, now: float) -> None:
        child.told_to_end = now
        _signal(child, signal.SIGTERM)

    def _kill_overdue(self, now: float) -> None:
        for child in self.children.values():
            if child.told_to_end is not None and now - child.told_to_end >= GRACE_S:
                _signal(child, signal.SIGKILL)


def _signal(child: Child, number: int) -> None:
    try:
        os.killpg(child.process.pid, number)
    except (ProcessLookupError, PermissionError):
        return  # it has ended


def _transient(error: type[ProctorError]) -> frozenset[str]:
    found = {error.slug} if issubclass(error, ProviderError) and error.retryable else set()
    return frozenset(found).union(*(_transient(kind) for kind in error.__subclasses__()))


# Failures that may pass by themselves: what a provider's error calls retryable, too many of those, a lost
# database, a process that died.
TRANSIENT = _transient(ProctorError) | {"error-budget", "store", "worker-died"}


def command(run_id: str, owner: str) -> list[str]:
    """The command line of the process that does a run's work."""
    return [sys.executable, "-m", "proctor", "work-on", run_id, "--owner", owner]
