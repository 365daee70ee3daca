"""The writer thread: takes attempts from the event loop and commits them in batches."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from itertools import chain
from queue import Empty, SimpleQueue
from typing import Any, Self

from sqlalchemy import Connection, Table, select
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from zstandard import ZstdCompressor

from proctor.errors import Conflict, ProctorError, StoreError
from proctor.store.core import bodies
from proctor.store.core.attempts import Store, narrow
from proctor.store.core.tables import ATTEMPT, ITEM, PAYLOAD
from proctor.store.write.claims import Claim
from proctor.types import Attempt, Outcome

# Rows of one INSERT. Each statement lets go of the interpreter once, so 32 rows wait for it once;
# measured, 32 is also the quickest: 14 us an attempt, against 20 us row by row and 19 us at 256.
_CHUNKS = (32, 8, 1)


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of one transaction. A batch without attempts only renews leases."""

    claim: Claim
    attempts: Sequence[tuple[Any, ...]]
    payloads: Sequence[tuple[Any, ...]]
    items: Sequence[tuple[str, bytes]]


def write(store: Store, batch: Batch, *, again: bool = False) -> None:
    """Commit a batch, all or nothing. `again`: an earlier try may have been committed unheard.

    Raises Conflict if the run, or a shard of it, is no longer the owner's, and the driver's errors as they are.
    """
    try:
        with store.raw_writing() as connection:
            # First, because it locks: whoever claims it meanwhile waits for this batch, and an
            # earlier try that is still being committed is waited for.
            batch.claim.begin(connection)
            if again and batch.attempts and _is_kept(connection, batch.attempts[0]):
                connection.rollback()
                return
            _insert(connection, ITEM, batch.items, "ON CONFLICT DO NOTHING")
            _insert(connection, ATTEMPT, batch.attempts)
            _insert(connection, PAYLOAD, batch.payloads)
            batch.claim.end(connection)
    except Conflict as error:
        raise Conflict(f"{error}; {len(batch.attempts)} attempts were left to that one") from None


def _is_kept(connection: Connection, row: Sequence[Any]) -> bool:
    """One row tells for its whole batch, which was one transaction."""
    key = [column == value for column, value in zip(ATTEMPT.primary_key, row, strict=False)]
    return connection.execute(select(ATTEMPT.c.attempt).where(*key)).first() is not None


def _insert(connection: Connection, table: Table, rows: Sequence[Sequence[Any]], ending: str = "") -> None:
    """Rows in the order of the table's columns, many to a statement, past SQLAlchemy's own care for each."""
    start = 0
    for size in _CHUNKS:
        while len(rows) - start >= size:
            values = tuple(chain.from_iterable(rows[start : start + size]))
            connection.exec_driver_sql(_statement(table, size, ending, connection.dialect.name), values)
            start += size


_MARKS = {"sqlite": "?", "postgresql": "${}"}


@cache
def _statement(table: Table, rows: int, ending: str, dialect: str) -> str:
    names = table.columns.keys()
    width = len(names)
    marks = [_MARKS[dialect].format(number) for number in range(1, rows * width + 1)]
    values = ["(" + ", ".join(marks[row * width : (row + 1) * width]) + ")" for row in range(rows)]
    columns = ", ".join(names)
    return " ".join(["INSERT INTO", table.name, f"({columns})", "VALUES", ", ".join(values), ending])


@dataclass(eq=False, repr=False, slots=True)
class AttemptWriter:
    """Keeps the attempts of one claimed run, and keeps its lease, until closed.

    `keep` is for one thread, usually the event loop's. `on_commit` is called in the writer thread
    with the attempts just committed. Trouble in the thread is raised by the next `keep`
    and by `close`.
    """

    store: Store
    run_id: str
    _: KW_ONLY
    owner: str
    lease_s: float = 60.0
    batch: int = 256
    linger_s: float = 0.25  # an attempt waits at most this long for others
    on_commit: Callable[[Sequence[Attempt]], None] | None = None
    clock: Callable[[], float] = time.time
    timed: bool = True  # False where the work was done elsewhere: keeping it takes none of its time
    helps: bool = False  # the run is another's, and shards of it are the owner's
    # Of a divided run: which shard an attempt is of. It changes only while nothing is handed over.
    shard_of: Callable[[Attempt], int] | None = None
    pauses_s: tuple[float, ...] = (0.1, 0.5, 1.4)  # before each further try at a batch
    # Hashes of items known to be kept. More than this are forgotten at once: to write an item again
    # is harmless, to remember a million of them is 100 MB.
    known_max: int = 100_000
    _run_num: int = field(init=False)
    _thread: threading.Thread = field(init=False)
    _queue: SimpleQueue[Attempt] = field(init=False, default_factory=SimpleQueue)
    _wake: threading.Event = field(init=False, default_factory=threading.Event)
    _closing: threading.Event = field(init=False, default_factory=threading.Event)
    # Each of these two has one writer, the caller and the thread, so neither needs a lock.
    _kept: int = field(init=False, default=0)
    _committed: int = field(init=False, default=0)
    # The thread's own.
    _known: set[str] = field(init=False, default_factory=set)
    _compressor: ZstdCompressor = field(init=False, default_factory=bodies.packer)
    _due: float = field(init=False)  # when the lease must be renewed
    _counted: float = field(
        init=False, default_factory=time.monotonic
    )  # up to when the run's time is counted
    _error: ProctorError | None = field(init=False, default=None)
    _done: bool = field(init=False, default=False)  # ended because it was closed, with everything kept

    def __post_init__(self) -> None:
        self._run_num = self.store.number(self.run_id)
        self._due = self.clock() + self.lease_s / 3
        self._thread = threading.Thread(target=self._work, name=f"writer-{self.run_id[:8]}", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """False once it has given up; `close` says why."""
        return self._thread.is_alive()

    @property
    def kept(self) -> int:
        """How many attempts were handed over."""
        return self._kept

    @property
    def committed(self) -> int:
        """How many attempts are safe on disk."""
        return self._committed

    @property
    def backlog(self) -> int:
        """How many attempts were handed over and are not committed yet."""
        return self._kept - self._committed

    def keep(self, attempt: Attempt) -> None:
        """Hand over one attempt; it is committed soon. Never waits.

        Raises StoreError or Conflict if the writer has given up.
        """
        if not self._thread.is_alive():
            self._complain()
        self._queue.put(attempt)
        self._kept += 1
        if self._queue.qsize() >= self.batch and not self._wake.is_set():
            self._wake.set()

    def close(self) -> None:
        """Commit what is left and end the thread. Raises StoreError or Conflict if anything was not kept."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        if not self._done or self.backlog:
            self._complain()

    def _complain(self) -> None:
        lost = f"{self.backlog} attempts were not kept"
        if self._error is not None:
            raise type(self._error)(f"{self._error} ({lost})") from self._error
        why = "is closed" if self._done else "died of a defect, which the log shows"
        raise StoreError(f"Run {self.run_id}: the writer thread {why}; {lost}")

    def _work(self) -> None:
        try:
            while not (self._closing.is_set() and self._queue.empty()):
                # Sleep until there is a whole batch, not until each attempt: every waking costs
                # more than the attempt itself.
                if self._queue.qsize() < self.batch and not self._closing.is_set():
                    self._wake.wait(self.linger_s)
                self._wake.clear()
                self._step()
            self._done = True
        except ProctorError as error:
            self._error = error

    def _step(self) -> None:
        """Commit one batch, or renew the lease if it is time."""
        attempts = self._drain()
        if not attempts and self.clock() < self._due:
            return
        self._commit(self._pack(attempts))
        self._committed += len(attempts)
        if self.on_commit is not None and attempts:
            self.on_commit(attempts)

    def _drain(self) -> list[Attempt]:
        taken: list[Attempt] = []
        try:
            while len(taken) < self.batch:
                taken.append(self._queue.get_nowait())
        except Empty:
            pass  # less than a whole batch is a batch too
        return taken

    def _pack(self, attempts: Sequence[Attempt]) -> Batch:
        fresh: dict[str, bytes] = {}
        rows = []
        for attempt in attempts:
            digest = attempt.item.hash
            if not digest or (digest not in self._known and digest not in fresh):
                body = bodies.item_body(attempt.item)
                digest = digest or hashlib.sha256(body).hexdigest()[:32]
                fresh[digest] = body
            rows.append(narrow(self._run_num, attempt, digest))
        # In order of the hash: two runs that keep the same items then never wait for each other in
        # a circle.
        digests = sorted(fresh)
        packed = bodies.pack_all(
            self._compressor,
            [*(bodies.payload_body(attempt) for attempt in attempts), *(fresh[digest] for digest in digests)],
        )
        now, ticks = self.clock(), time.monotonic()
        self._due = now + self.lease_s / 3
        before, self._counted = self._counted, ticks
        return Batch(
            claim=self._claim(attempts, now, ticks - before if self.timed else 0.0),
            attempts=rows,
            payloads=[(*row[:4], body) for row, body in zip(rows, packed, strict=False)],
            items=list(zip(digests, packed[len(rows) :], strict=True)),
        )

    def _claim(self, attempts: Sequence[Attempt], now: float, seconds: float) -> Claim:
        shard_of = self.shard_of
        return Claim(
            run_num=self._run_num,
            owner=self.owner,
            until=now + self.lease_s,
            settled=sum(attempt.grade.outcome is not Outcome.ERROR for attempt in attempts),
            seconds=seconds,
            shards=None if shard_of is None else frozenset(map(shard_of, attempts)),
            helps=self.helps,
        )

    def _commit(self, batch: Batch) -> None:
        for tries, pause_s in enumerate((*self.pauses_s, None)):
            try:
                write(self.store, batch, again=tries > 0)
                self._remember(digest for digest, _ in batch.items)
                return
            except (OperationalError, InterfaceError, PoolTimeout) as error:
                # A lost connection, a full disk, a lock, a server that restarts: it may pass.
                if pause_s is None:
                    raise self.store.trouble(error, self._given_up(error, tries + 1)) from error
                time.sleep(pause_s)  # this thread's own time; `close` waits for it
            except (DBAPIError, UnicodeEncodeError) as error:
                raise StoreError(self._given_up(error, tries + 1)) from error

    def _given_up(self, error: Exception, tries: int) -> str:
        return f"{self.store.words(error)}; tries: {tries}"

    def _remember(self, digests: Iterable[str]) -> None:
        if len(self._known) > self.known_max:
            self._known.clear()
        self._known.update(digests)
