"""The worker: takes runs from the queue, starts a process for each, and ends those that must end.

It may be killed at any moment. A run's process goes on without its worker and keeps its own lease; if both
die, the lease runs out and another worker takes the run, which goes on where it stopped.
"""

from __future__ import annotations

import signal
import socket
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from proctor import __version__
from proctor.errors import Conflict, DiskFull, NotFound, StoreError
from proctor.jobs import resources
from proctor.jobs.child import Child, command, helper_command, start
from proctor.jobs.refusing import MOST, Refusals
from proctor.sandbox.opening import left_boxes
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.datasets.shelf import drop_copies
from proctor.store.queue import endings, entries, runlog, shards, taking
from proctor.store.queue.endings import Try, Verdict
from proctor.store.queue.workers import WorkerSign, beat, tidy
from proctor.types import Run, Status

LOOK_EVERY_S = 0.1
MEASURE_EVERY_S = 1.0
LEASE_S = 30.0
GRACE_S = 1.0  # between asking a process to end and killing it: a cancellation is done within 2 s
BOXES_GRACE_S = 10.0  # the same where sandboxes must be emptied and taken down
LONGEST_END_S = 5.0  # for all processes together, when the worker itself ends
STARTING_S = 60.0  # for so long a worker keeps the lease of a process that it has started
TOOK = 200  # runs that it took, which it can still name: where their logs lie is told by it
INTERRUPTED = 130  # how a helper ends whose run has ended
OVERTIME_S = 60.0  # a run ends itself at its time limit; this much later its process is ended


@dataclass(slots=True)
class Worker:
    """One worker. `due` does what else falls due, such as schedules, and says what; `go_on` False ends the worker.

    `lacking` says what this machine lacks for a run, None where that is nothing: such a run is left to others.
    While `takes` is False it takes no run by itself: it is told of them (rq_look.py).
    """

    store: Store
    settings: Settings
    environ: Mapping[str, str]
    log: Callable[[str], None]
    due: Callable[[float], list[str]] = lambda _now: []
    go_on: Callable[[], bool] = lambda: True
    takes: Callable[[], bool] = lambda: True
    lacking: Callable[[Run], str | None] = lambda _run: None
    lease_s: float = LEASE_S
    command: Callable[[str, str, float], list[str]] = command
    # By owner: a run may be taken again while the process of its last try is still on its way out.
    children: dict[str, Child] = field(default_factory=dict)
    name: str = field(default_factory=lambda: f"worker {socket.gethostname()} {uuid.uuid4().hex[:8]}")
    no_help: set[str] = field(default_factory=set)  # runs with which a helper has failed here
    part_of: str | None = None  # the worker that this one is a slot of
    stopping: bool = False
    refusals: Refusals = field(init=False)
    began_at: float = field(default_factory=time.time)
    _took: deque[str] = field(default_factory=lambda: deque(maxlen=TOOK))
    _measured: float = 0.0
    _complained: bool = False
    _no_room: str | None = None

    def __post_init__(self) -> None:
        self.refusals = Refusals(self.store, self.lacking)

    def work(self, *, once: bool = False) -> None:
        """Until `stopping`; what is under way then ends, its runs waiting to be taken up again.

        With `once` until nothing waits and nothing of its own runs. Raises StoreError only then.
        """
        tidy(self.store, now=time.time())
        left_boxes(self.settings.home)
        with suppress(StoreError):
            drop_copies(self.store, self.settings)
        try:
            while not self.stopping and self.go_on():
                if not self._look(once) and once:
                    return
                time.sleep(LOOK_EVERY_S)
        finally:
            self.end_all()
            self._beat(time.time(), ended=True)

    def _look(self, once: bool) -> bool:
        """True if there is or may be something left to do."""
        try:
            self.step(time.time())
            self._complained = False
            return bool(self.children) or self._something_waits() if once else True
        except StoreError as error:
            if once:
                raise
            # The database may come back; the processes go on meanwhile, and their leases tell how long.
            if not self._complained:
                self.log(f"database: {error}")
            self._complained = True
            return True

    def _something_waits(self) -> bool:
        """For this worker: runs that it leaves to others are none of its."""
        return any(map(self.refusals.may_take, taking.waiting_ids(self.store, limit=MOST)))

    def step(self, now: float) -> None:
        """One look at everything: ended processes, cancellations, limits, schedules, new runs."""
        for child in list(self.children.values()):
            if child.process.poll() is not None:
                self._ended(child, now)
        self._keep_leases(now)
        self._cancel_asked(now)
        self._kill_overdue(now)
        for run_id in endings.bury(self.store, now=now):
            self.log(f"run {run_id}: it was cancelled, and nobody was at work on it any more")
        if now - self._measured >= MEASURE_EVERY_S:
            since_s, self._measured = now - self._measured, now
            self._look_for_room()
            self._check_limits(now, since_s)
            self._beat(now)
            for told in self.due(now):
                self.log(told)
        while self.takes() and self._has_place() and self._take(now):
            pass
        while self.takes() and self._has_place() and self.help(now):
            pass

    def _has_place(self) -> bool:
        return not self._no_room and len(self.children) < self.settings.most_running

    def do_only(self, run_id: str, *, helps: bool = False) -> bool:
        """Take this run, or help with it, and see that to its end; False if it cannot be now. Raises StoreError."""
        self.takes = lambda: False
        self._look_for_room()
        begin = self.help if helps else self._take
        if not (self._has_place() and begin(time.time(), only=run_id)):
            return False
        try:
            while self.children and not self.stopping and self.go_on():
                time.sleep(LOOK_EVERY_S)
                self._look(once=False)
        finally:
            self.end_all()
            self._beat(time.time(), ended=True)
        return True

    def end_all(self) -> None:
        """Have every process end; its run waits for the next worker, and this try does not count."""
        self.stopping = True
        for child in self.children.values():
            self._tell(child, time.time())
        deadline = time.monotonic() + LONGEST_END_S
        while self.children and time.monotonic() < deadline + LONGEST_END_S:
            if time.monotonic() >= deadline:
                for child in self.children.values():
                    child.signal(signal.SIGKILL)
            for child in list(self.children.values()):
                if child.process.poll() is not None:
                    self._ended_at_last(child)
            time.sleep(0.05)

    def _beat(self, now: float, *, ended: bool = False) -> None:
        lacks = {} if ended else self.refusals.look(taking.waiting_ids(self.store, limit=MOST))
        loads = {child.run.id: child.load for child in self.children.values() if child.load}
        sign = WorkerSign(
            name=self.name,
            host=socket.gethostname(),
            home=str(self.settings.home),
            version=__version__,
            began_at=self.began_at,
            at=now,
            waits_for=self._no_room,
            loads=loads,
            lacks=lacks,
            took=tuple(self._took),
            ended=ended,
            part_of=self.part_of,
        )
        beat(self.store, sign)

    def _ended_at_last(self, child: Child) -> None:
        try:
            self._ended(child, time.time())
        except StoreError as error:  # its lease runs out, and the next worker takes the run
            del self.children[child.owner]
            self.log(f"run {child.run.id}: {error}")

    def _look_for_room(self) -> None:
        """While the disk is full no run is taken: it would only fail there."""
        before = self._no_room
        to_begin = bool(before) or not self.children
        self._no_room = resources.too_little_room(self.settings, to_begin=to_begin)
        if self._no_room and not before:
            self.log(f"no run is taken until there is room: {self._no_room}")
        elif before and not self._no_room:
            self.log("there is room on the disk again: runs are taken")

    # Starting ------------------------------------------------------------------------------------

    def _take(self, now: float, *, only: str | None = None) -> bool:
        owner = f"{self.name} {uuid.uuid4().hex[:8]}"
        run = taking.take_next(
            self.store,
            owner=owner,
            now=now,
            lease_s=self.lease_s,
            most_running=self.settings.most_running,
            may_take=self.refusals.may_take,
            only=only,
        )
        if run is None:
            return False
        self._took.append(run.id)
        words = self.command(run.id, owner, self.lease_s)
        home = self.settings.home
        try:
            child = start(words, run, owner, home=home, environ=self.environ, now=now)
        except OSError as error:
            how = f"its process could not be started: {error.strerror}"
            self._try_again(run, owner, how, now, blameless=True)
            return True
        self.children[owner] = child
        self.log(f"run {run.id}: {run.cell.model} on {run.source_title}, process {child.process.pid}")
        return True

    def help(self, now: float, *, only: str | None = None) -> bool:
        """Start a process at a run that another worker owns, where one has shards to take; False if there is none."""
        besides = {child.run.id for child in self.children.values()} | self.no_help
        while (run := shards.help_wanted(self.store, now=now, besides=besides)) is not None:
            if only in (None, run.id) and self.refusals.may_take(run.id):
                break
            besides.add(run.id)
        if run is None:
            return False
        owner = f"{self.name} {uuid.uuid4().hex[:8]}"
        words, home = helper_command(run.id, owner, self.lease_s), self.settings.home
        try:
            child = start(words, run, owner, home=home, environ=self.environ, now=now)
        except OSError as error:
            self.log(f"run {run.id}: no helper could be started: {error.strerror}")
            return False
        child.helps = True
        self.children[owner] = child
        self.log(
            f"run {run.id}: helping with {run.cell.model} on {run.source_title}, process {child.process.pid}"
        )
        return True

    def _helped(self, child: Child) -> None:
        """A helper has ended: what it had not done waits for others. One that failed here is not started again."""
        shards.put_back(self.store, owner=child.owner)
        del self.children[child.owner]
        code = child.process.returncode
        if child.excess is not None or (code and child.told_to_end is None and code != INTERRUPTED):
            self.no_help.add(child.run.id)
            why = child.excess or f"{child.how_it_ended()}; {runlog.where(child.run.id)}"
            self.log(f"run {child.run.id}: this worker helps no more: {why}")

    def _keep_leases(self, now: float) -> None:
        """A process keeps its own lease, but not before it has started, which a busy machine may take long over."""
        for child in self.children.values():
            if (
                not child.helps
                and now >= child.renew_at
                and now - child.began < STARTING_S
                and child.process.poll() is None
            ):
                child.renew_at = now + self.lease_s / 3
                self.store.renew(child.run.id, owner=child.owner, until=now + self.lease_s)

    # Ending --------------------------------------------------------------------------------------

    def _ended(self, child: Child, now: float) -> None:
        """A process has ended: its row says how, or is made to say it here.

        While the database cannot be written the child stays in its place, and is looked at again.
        """
        child.signal(signal.SIGKILL)  # what it may have left behind in its group
        if child.helps:
            self._helped(child)
            return
        if child.run.cell.agent is not None and (left := left_boxes(self.settings.home)):
            self.log(f"run {child.run.id}: {len(left)} boxes that it left were taken away")
        try:
            job = entries.job(self.store, child.run.id)
        except NotFound:
            del self.children[child.owner]
            return  # deleted meanwhile
        if child.excess is not None:
            self._passed_a_limit(child, now)
        elif job.cancel_at is not None:
            self._end(child, Verdict(Status.CANCELLED, "cancelled"), now)
        elif child.told_to_end is not None:
            self._put_back(child, now)
        else:
            # Its database was out of reach or its disk full, as it says by its exit code or as the disk shows.
            blameless = child.process.returncode == StoreError.exit_code or bool(self._no_room)
            self._try_again(child.run, child.owner, child.how_it_ended(), now, blameless=blameless)
        del self.children[child.owner]
        run = self.store.run(child.run.id)
        stopped = child.told_to_end is not None and not child.no_room and run.status is Status.PENDING
        why = "its worker was stopped, the next one goes on with it" if stopped else run.error
        self.log(f"run {run.id}: {run.status}{f', {why}' if why else ''}")

    def _put_back(self, child: Child, now: float) -> None:
        """It was told to end for no fault of its own, and waits for the next worker or for room."""
        slug = DiskFull.slug if child.no_room else None
        verdict = Verdict(Status.PENDING, None, child.no_room, slug, run_after=now, counted=False)
        if not self._end(child, verdict, now) and child.no_room:
            endings.explain(self.store, child.run.id, verdict)

    def _passed_a_limit(self, child: Child, now: float) -> None:
        verdict = Verdict(Status.FAILED, error=child.excess, error_slug=child.excess_slug)
        if not self._end(child, verdict, now):
            endings.overrule(self.store, child.run.id, verdict, now=now)

    def _end(self, child: Child, verdict: Verdict, now: float) -> bool:
        return endings.end(self.store, child.run.id, verdict, owner=child.owner, now=now)

    def _try_again(self, run: Run, owner: str, how: str, now: float, *, blameless: bool = False) -> None:
        """A process that died without a word may do better next time, unless several settled nothing."""
        job = entries.job(self.store, run.id)
        why = f"{how}; {runlog.where(run.id)}"
        last = f"{job.tries} tries ended without a result, and settled nothing. The last: {why}"
        failed = Verdict(Status.FAILED, error=last, error_slug="worker-died")
        tried = Try(run.settled, blameless)
        verdict = endings.after(failed, job, tried, now=now, first_retry_s=self.settings.first_retry_s)
        next_step = f"failed after {job.tries} tries in a row that settled nothing"
        if verdict.status is Status.PENDING:
            verdict = replace(verdict, error=why)
            tries = endings.tries_left(verdict, job.tries)
            next_step = f"pending, {endings.next_try(verdict.run_after, tries)}{endings.uncounted(verdict)}"
        if endings.end(self.store, run.id, verdict, owner=owner, now=now):
            runlog.say(self.settings.home, run.id, f"{next_step}: {how}")

    def _cancel_asked(self, now: float) -> None:
        if not self.children:
            return
        for owner in endings.to_end(self.store, list(self.children)):
            self._tell(self.children[owner], now)

    def _check_limits(self, now: float, since_s: float) -> None:
        if not self.children:
            return
        used = resources.used_by([child.group for child in self.children.values()])
        for child in self.children.values():
            own = used[child.group]
            child.measured(own.memory_bytes, own.cpu_s, after_s=since_s)
            if child.told_to_end is not None:
                continue
            if self._no_room:
                child.no_room = self._no_room
                self._tell(child, now)
                continue
            child.excess = resources.too_much_memory(own.memory_bytes, self.settings)
            longest_s = child.run.cell.limits.timeout_s
            if child.excess is None and now - child.began > longest_s + OVERTIME_S:
                child.excess, child.excess_slug = f"it took longer than {longest_s:g} s", "run-timeout"
            if child.excess is not None:
                self._end_for_excess(child, now)

    def _end_for_excess(self, child: Child, now: float) -> None:
        if not child.helps:
            self._cancel(child, now)
        if child.excess is not None:
            self._tell(child, now)

    def _cancel(self, child: Child, now: float) -> None:
        """As if it were cancelled, so that it neither starts again nor goes on if this worker dies now."""
        try:
            if self.store.owner_of(child.run.id) != child.owner:
                raise Conflict(f"run {child.run.id} has left this process")
            entries.cancel(self.store, child.run.id, now=now)
        except (Conflict, NotFound):
            child.excess = None  # it has just ended by itself

    def _tell(self, child: Child, now: float) -> None:
        if child.told_to_end is None:
            child.told_to_end = now
            child.signal(signal.SIGTERM)

    def _kill_overdue(self, now: float) -> None:
        for child in self.children.values():
            grace_s = GRACE_S if child.run.cell.agent is None else BOXES_GRACE_S
            if child.told_to_end is not None and now - child.told_to_end >= grace_s:
                child.signal(signal.SIGKILL)
