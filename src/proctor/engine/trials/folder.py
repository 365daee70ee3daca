"""A trial's folder: one process works on it, its state is written phase by phase, and what a try left is kept."""

from __future__ import annotations

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from proctor.engine.room import room_for
from proctor.errors import DataError, DiskFull, ProctorError, SandboxError
from proctor.json_object import JsonObject
from proctor.trial_record import PhaseName

STATE, WORK, RECORD = "state.json", "work.json", "record.json"
PATCH = "artifacts/diff.patch"
AGENT_LOG, EVAL_LOG, CALLS_LOG = "logs/agent.log", "logs/eval.log", "logs/calls.jsonl"
NEEDED_ROOM = 64_000_000  # bytes: a patch at its largest, twice, and what is printed
ATTEMPTS, PRIVATE = "attempts", "private"


@dataclass(frozen=True, slots=True)
class TrialState:
    """How far a trial has come. `phase` None: it has ended. `number` is which try it is, from 1.

    `bound` is the hash of all that its work depends on: of another task, agent or limits, the work is not taken.
    """

    phase: PhaseName | None
    since: float
    pid: int
    number: int = 1
    finished: tuple[str, ...] = ()
    bound: str = ""
    patch: str | None = None  # SHA-256 of the patch, once it is collected
    verified: int = 0
    error: str | None = None


def read_state(folder: Path) -> TrialState | None:
    """The state of the trial in a folder; None where there is none, or none that can be read."""
    try:
        told = JsonObject(orjson.loads((folder / STATE).read_bytes()), STATE)
        return TrialState(
            told.word("phase", PhaseName),
            float(told.need("since", float)),
            told.need("pid", int),
            told.need("try", int),
            told.texts("finished"),
            told.need("bound", str),
            told.take("patch", str),
            told.take("verified", int) or 0,
            told.take("error", str),
        )
    except (OSError, orjson.JSONDecodeError, DataError):
        return None


@dataclass(slots=True)
class TrialFolder:
    """A trial's folder while it is worked on. Everything is written whole or not at all."""

    path: Path
    state: TrialState

    @property
    def private(self) -> Path:
        """What is needed while a phase lasts; nothing in it outlives the work on the trial."""
        return self.path / PRIVATE

    def keeps(self, bound: str) -> bool:
        """Whether what an agent made of this very task is collected here, whole."""
        kept = self.state
        return kept.bound == bound and "collect" in kept.finished and kept.patch is not None

    def begin(self, bound: str) -> None:
        """Make way for a new try: what an earlier one left goes into `attempts/N`, and nothing is deleted.

        Raises: DiskFull where what an agent makes would not be sure of its place; nobody is asked for it then.
        """
        with room_for(self.path):
            self._put_aside(bound)
            room = os.statvfs(self.path)
        if room.f_bavail * room.f_frsize < NEEDED_ROOM:
            raise DiskFull(f"{self.path}: less than {NEEDED_ROOM // 1_000_000} MB are left on that disk")
        self._write_state()

    def _put_aside(self, bound: str) -> None:
        left = [each for each in self.path.iterdir() if each.name != ATTEMPTS]
        earlier = self.path / ATTEMPTS
        if left:
            place = earlier / str(len(list(earlier.iterdir())) if earlier.is_dir() else 0)
            place.mkdir(parents=True)
            for each in left:
                each.rename(place / each.name)
        number = 1 + (len(list(earlier.iterdir())) if earlier.is_dir() else 0)
        for name in ("artifacts", "logs"):
            (self.path / name).mkdir(exist_ok=True)
        self.state = TrialState("prepare", time.time(), os.getpid(), number, bound=bound)

    def enter(self, phase: PhaseName) -> None:
        finished = tuple(each for each in self.state.finished if each != phase)
        self.state = replace(
            self.state, phase=phase, since=time.time(), pid=os.getpid(), finished=finished, error=None
        )
        self._write_state()

    def finish(self, phase: PhaseName, *, patch: str | None = None) -> None:
        finished = (*self.state.finished, phase)
        patch = patch or self.state.patch
        self.state = replace(self.state, finished=finished, patch=patch)
        # What is paid for must outlive a power cut; the other marks need only outlive this process.
        self._write_state(lasting=phase in ("collect", "score"))

    def verifies(self) -> None:
        self.state = replace(self.state, verified=self.state.verified + 1)

    def end(self) -> None:
        self.state = replace(self.state, phase=None, since=time.time())
        self._write_state(lasting=True)

    def failed(self, error: ProctorError) -> None:
        """Tell why this try ended without a verdict; its phase stays, so that a resume begins with it."""
        self.state = replace(self.state, error=f"{error.slug}: {error}")
        with suppress(ProctorError):
            self._write_state()

    def write(self, name: str, body: bytes, *, lasting: bool = False) -> None:
        """Raises: DiskFull, SandboxError."""
        place = self.path / name
        new = place.with_name(f"{place.name}.new")
        with room_for(place):
            with new.open("wb") as file:
                file.write(body)
                if lasting:
                    file.flush()
                    os.fsync(file.fileno())
            new.replace(place)

    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except OSError:
            return None

    def _write_state(self, *, lasting: bool = False) -> None:
        told = asdict(self.state)
        told["try"] = told.pop("number")
        self.write(STATE, orjson.dumps(told, option=orjson.OPT_INDENT_2), lasting=lasting)


@contextmanager
def worked_on(path: Path) -> Iterator[TrialFolder]:
    """The folder, for this process alone. Raises: SandboxError where another one works on it; DiskFull."""
    with room_for(path):
        path.mkdir(parents=True, exist_ok=True)
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        kept = read_state(path)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            by = f"process {kept.pid}" if kept else "another process"
            raise SandboxError(f"{path}: {by} works on this trial already") from None
        folder = TrialFolder(path, read_state(path) or TrialState(None, 0.0, 0))
        shutil.rmtree(folder.private, ignore_errors=True)
        try:
            yield folder
        finally:
            shutil.rmtree(folder.private, ignore_errors=True)
    finally:
        os.close(lock)
