"""The output file of a batch while it grows: a view of the store, put right where the two differ."""

from __future__ import annotations

import fcntl
import logging
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import ConfigError, Conflict, NotFound, OutputError, StoreError
from proctor.interop.batches.written import Shape, written
from proctor.service.output.lines import line_from, line_of, short_of
from proctor.store import Store
from proctor.store.read import said
from proctor.store.read.tried import places
from proctor.types import Attempt, Run

LOG = logging.getLogger(__name__)
SYNC_EVERY_S = 2.0
LINES_AT_ONCE = 256
LAST_REPEAT = 1 << 30
SHARE = 1 / 20  # of the time at most is spent on looking for what other processes have kept
_OWN = re.compile(rb'^\{"id":"batch_req_([0-9a-f]{16})([0-9a-f]{8})"')
_START = b'{"id":"batch_req_'
# What is known of a place: no line belongs into the file, one does, one does and is there.
NONE, WANTED, THERE = 0, 1, 2
_FORGET_THERE = bytes((NONE, WANTED, WANTED, *range(3, 256)))


def writer_of(path: Path) -> str | None:
    """The run whose line comes first, as `short_of` names it; "" where none is to be seen, None where no file is."""
    try:
        with path.open("rb") as file:
            first = file.readline(1 << 16)
    except OSError:
        return None
    found = _OWN.match(first)
    if found is not None:
        return found[1].decode()
    return None if not first else "" if b"\n" not in first and _START.startswith(first[:18]) else "another"


@contextmanager
def growing(path: Path, shape: Shape) -> Iterator[GrowingFile]:
    """The file, for this process alone. Raises: ConfigError if it cannot be written, Conflict if another writes it."""
    file = GrowingFile(path, shape)
    file.open()
    try:
        yield file
    finally:
        file.close()


@dataclass(eq=False, slots=True)
class GrowingFile:
    """One line for each request that was tried, in the order in which replies came.

    `begin` makes the file what the store says; from then on `kept` appends what was just committed, in the writer's
    thread, and of a run that others are at work on, now and then, what those have kept. A file that cannot be written
    stops no run: `trouble` says why it lacks lines, and `end` tries once more.
    """

    path: Path
    shape: Shape
    trouble: OutputError | None = None
    _fd: int = -1
    _size: int = 0  # up to which all lines are whole
    _fresh: bool = False
    _synced: float = 0.0
    _store: Store | None = None
    _run: Run | None = None
    _ours: set[str] = field(default_factory=set)  # runs whose lines may be there
    _places: bytearray = field(default_factory=bytearray)
    _began: float = 0.0
    _shared: bool = False
    _look_at: float = 0.0  # when to look for what others have kept (monotonic)

    def open(self) -> None:
        """Open and lock it, and make it where there is none."""
        while self._fd < 0:
            self._fresh = not self.path.exists()
            try:
                fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
            except OSError as error:
                raise ConfigError(
                    f"{self.path} cannot be written: {error.strerror}. Give another file after -o"
                ) from error
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                os.close(fd)
                if not isinstance(error, BlockingIOError):
                    raise ConfigError(f"{self.path} cannot be locked: {error.strerror}") from error
                raise Conflict(
                    f"{self.path} is being written by another run: wait for it, or give another file after -o"
                ) from error
            if self._is_at_path(fd):
                self._fd = fd
            else:  # replaced between opening and locking
                os.close(fd)

    def close(self) -> None:
        """Let go of it; one that was made here and got no line is taken away."""
        if self._fd < 0:
            return
        with suppress(OSError):
            if self._fresh and not os.fstat(self._fd).st_size and self._is_at_path(self._fd):
                self.path.unlink()
        os.close(self._fd)
        self._fd = -1

    def begin(self, store: Store, run: Run, *, asks: bool = True) -> None:
        """Make the file what the store has of the run: no torn line, each request once, none that is `asked` again.

        Raises: ConfigError if it has lines of something else, or cannot be written.
        """
        self._store, self._run, self._began = store, run, time.time()
        self._ours = {short_of(ident) for ident in _line_of_descent(store, run)}
        parts = run.cell.limits.shard.of if run.cell.limits.shard else 1
        self._places = places(store, run.id, run.planned * parts, failed=not asks)
        try:
            self._put_right()
        except OSError as error:
            raise ConfigError(
                f"{self.path} cannot be written: {error.strerror}. Nothing was asked; `proctor resume {run.id[:8]}` "
                "goes on when that is put right"
            ) from error

    def kept(self, attempts: Sequence[Attempt]) -> None:
        """Append the lines of attempts that are safe in the store."""
        assert self._run is not None
        for attempt in attempts:
            self._places[attempt.position] = WANTED
        if self.trouble is not None:
            return
        run_id = self._run.id
        try:
            self._append(b"".join(written(line_from(run_id, each), self.shape) for each in attempts))
            if self._shared and time.monotonic() >= self._look_at:
                self._append_others()
            if time.monotonic() - self._synced >= SYNC_EVERY_S:
                self._sync()
        except (OSError, StoreError) as error:
            self._note(error)

    def shared(self) -> None:
        """Other processes keep attempts of the run as well."""
        self._shared = True

    def _append_others(self, *, failed: bool = False) -> None:
        """The lines of what others have kept since the run's work began. Raises: OSError, StoreError.

        Failures come last, with `failed`: of a shard that is taken again they are asked again.
        """
        assert self._run is not None and self._store is not None
        began = time.monotonic()
        kept = places(self._store, self._run.id, self._run.planned, failed=failed, since=self._began)
        known, self._places = self._places, bytearray(len(kept))
        for position in (each for each, there in enumerate(kept) if there and not known[each]):
            self._places[position] = WANTED
        try:
            self._append_missing()
        finally:
            # As long as no line failed, a place that is wanted has its line.
            self._places = bytearray(map(max, known, self._places.translate(_FORGET_THERE)))
        now = time.monotonic()
        self._look_at = now + max(SYNC_EVERY_S, (now - began) / SHARE)

    def end(self) -> None:
        """Have the file on the disk, with what it lacks if that can be written now."""
        try:
            if self.trouble is not None:
                self._put_right()
                self.trouble = None
            if self._shared:
                self._append_others(failed=True)
            self._sync()
        except (OSError, StoreError) as error:
            self._note(error)

    def _note(self, error: OSError | StoreError) -> None:
        assert self._run is not None
        why = error.strerror if isinstance(error, OSError) else str(error)
        if self.trouble is None:
            LOG.warning("%s cannot be written: %s", self.path, why)
        self.trouble = OutputError(
            f"{self.path} lacks lines, because it could not be written: {why}. All replies are kept; when "
            f"that is put right, `proctor resume {self._run.id[:8]}` writes the missing lines"
        )

    def _append(self, data: bytes) -> None:
        """Raises: OSError, with as many whole lines written as there is room for."""
        left = memoryview(data)
        try:
            while left:
                left = left[os.write(self._fd, left) :]
            self._size += len(data)
        except OSError:
            self._size += data.rfind(b"\n", 0, len(data) - len(left)) + 1
            os.ftruncate(self._fd, self._size)
            raise

    def _sync(self) -> None:
        """Have what was written survive a power failure; a file that was taken away is written again."""
        if not self._is_at_path(self._fd):
            LOG.warning("%s is gone: it is written again", self.path)
            self._reopen()
            self._put_right()
        os.fdatasync(self._fd)
        self._synced = time.monotonic()

    def _reopen(self) -> None:
        os.close(self._fd)
        self._fd = -1
        try:
            self.open()
        except (ConfigError, Conflict) as error:
            self._fd = os.open(os.devnull, os.O_RDWR)
            raise OSError(0, str(error)) from error

    def _is_at_path(self, fd: int) -> bool:
        try:
            there = self.path.stat()
        except OSError:
            return False
        return os.path.samestat(there, os.fstat(fd))

    def _put_right(self) -> None:
        """Cut a torn end, take out what does not belong there, append what is missing."""
        whole, as_they_are = self._look()
        if as_they_are:
            os.ftruncate(self._fd, whole)
            self._size = whole
        else:
            self._rewrite()
        self._append_missing()
        self._places = self._places.translate(_FORGET_THERE)

    def _look(self) -> tuple[int, bool]:
        """The bytes of whole lines, and whether all of them belong there; marks the places whose line is there."""
        whole, as_they_are = 0, True
        with self.path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                as_they_are &= self._belongs(line)
        return whole, as_they_are

    def _belongs(self, line: bytes) -> bool:
        """Whether a line is the only one of a wanted place, which it marks. Raises: ConfigError for a foreign one."""
        assert self._run is not None
        found = _OWN.match(line)
        if found is None or found[1].decode() not in self._ours:
            if b"\0" in line:
                return False  # what a power failure leaves
            raise ConfigError(
                f"{self.path} has lines that no run of this batch wrote, and is left as it is: give another file "
                "after -o"
            )
        place = int(found[2], 16)
        belongs = (
            found[1].decode() == short_of(self._run.id)
            and place < len(self._places)
            and self._places[place] == WANTED
        )
        if belongs:
            self._places[place] = THERE
        return belongs

    def _rewrite(self) -> None:
        """The lines that belong there as a new file, in one step: a crash leaves the one or the other."""
        self._places = self._places.translate(_FORGET_THERE)
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        old = self._fd
        fd = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            self._fd, self._size = fd, 0
            with self.path.open("rb") as file:
                for line in file:
                    if line.endswith(b"\n") and self._belongs(line):
                        self._append(line)
            os.fsync(fd)
            os.fchmod(fd, os.fstat(old).st_mode & 0o777)
            fresh.replace(self.path)
        except OSError:
            self._fd, self._size = old, os.fstat(old).st_size
            os.close(fd)
            fresh.unlink(missing_ok=True)
            raise
        os.close(old)

    def _append_missing(self) -> None:
        """What the store has and the file lacks, in the order of the requests."""
        first, last = self._places.find(WANTED), self._places.rfind(WANTED)
        if first < 0:
            return
        assert self._run is not None and self._store is not None
        lines: list[bytes] = []
        for row, record in said.in_order(self._store, self._run.id, (first - 1, LAST_REPEAT)):
            if row.position > last:
                break
            if self._places[row.position] == WANTED:
                lines.append(written(line_of(self._run.id, row, record), self.shape))
                self._places[row.position] = THERE
            if len(lines) >= LINES_AT_ONCE:
                self._append(b"".join(lines))
                lines.clear()
        self._append(b"".join(lines))


def _line_of_descent(store: Store, run: Run) -> Iterator[str]:
    """The run, and those that it goes on from."""
    yield run.id
    while run.parent_id is not None:
        yield run.parent_id
        try:
            run = store.run(run.parent_id)
        except NotFound:
            return  # it was deleted
