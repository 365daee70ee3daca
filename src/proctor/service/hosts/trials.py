"""Folders of trials on many machines: put where all share as a trial ends, and had from there where one is not at hand.

trials/<id of the run>/<number>-<try>-<sha256>    a trial's folder, packed; the hash is that of the packed file

A folder is put there before the row of its trial is kept, so that every row that is kept has one. Which of two belongs
to a row, where a process was killed between both, the record in it tells: it is the row's own.
"""

from __future__ import annotations

import fcntl
import logging
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from proctor.errors import NotFound, OutputError, ProctorError, SharedError
from proctor.references import RolloutsRef
from proctor.service.context import Context
from proctor.service.hosts.places import firsts_of, trial_folder
from proctor.service.hosts.tasks import put_if_it_fits, room
from proctor.settings import MB
from proctor.store import AttemptRow
from proctor.store.shared.contract import Shared
from proctor.store.shared.in_database import SharedInDatabase
from proctor.store.shared.opening import shared_of
from proctor.store.shared.packing import fetched, packed, unpacked
from proctor.types import Attempt, Outcome, Run

LOG = logging.getLogger("proctor.shared")
NAMED = re.compile(r"trials/[^/]+/(\d+)-(\d+)-([0-9a-f]{64})")
MOST_IN_DATABASE = 16 * MB
STAYS = ("private", "attempts")  # what is needed while a phase lasts; what earlier tries left
NamedFolder = tuple[int, int, str, str]  # number and try of a trial, hash and name of its packed folder
RECORD, MOST_RECORD = "record.json", 64 * MB


def prefix_of(run_id: str) -> str:
    """Below which the folders of a run's trials are called, where machines share them."""
    return f"trials/{run_id}/"


# Put -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class TrialSender:
    """Puts the folder of each trial of a run where other machines find it; in threads, one after the other.

    What could not be put is on this machine all the same; `end` tries it once more.
    """

    context: Context
    run: Run
    ref: RolloutsRef
    shared: Shared
    firsts: Mapping[str, int]
    late: list[tuple[int, int]] = field(default_factory=list)

    def send(self, attempt: Attempt) -> None:
        """Called when the trial has ended, and before its row is kept."""
        number = self.firsts[attempt.item.id] + attempt.repeat
        if not self._tried(number, attempt.attempt):
            self.late.append((number, attempt.attempt))

    def end(self) -> None:
        self.late = [each for each in self.late if not self._tried(*each)]

    def _tried(self, number: int, attempt: int) -> bool:
        try:
            _put(self, number, attempt)
        except SharedError as error:
            LOG.warning("trial %s-%d is on this machine alone: %s", self.ref.stamp, number, error)
            return False
        return True


def sender(run: Run, context: Context) -> TrialSender | None:
    """What puts the trials of a run where machines share; None where there is no such place."""
    shared, ref = shared_of(context.settings, context.store), run.cell.source
    if shared is None or not isinstance(ref, RolloutsRef) or not ref.stamp:
        return None
    return TrialSender(context, run, ref, shared, firsts_of(run, ref))


def _put(sender: TrialSender, number: int, attempt: int) -> None:
    folder = trial_folder(sender.ref, sender.context.settings, number)
    if not folder.is_dir():  # it broke before it had one
        return
    with room(sender.context) as place:
        sha256 = packed(folder, place / "trial", lambda name: name.partition("/")[0] in STAYS)
        name = f"{prefix_of(sender.run.id)}{number}-{attempt}-{sha256}"
        most = MOST_IN_DATABASE if isinstance(sender.shared, SharedInDatabase) else None
        put_if_it_fits(sender.shared, name, place / "trial", most)


def send_all(context: Context, run: Run) -> None:
    """Put what is kept of a run's trials and lies here, as far as no machine has put it there yet; for merged runs.

    A place that is out of reach is logged.
    """
    work = sender(run, context)
    if work is None:
        return
    try:
        there = {(number, attempt) for number, attempt, _, _ in _named(work.shared, run.id)}
        for row in context.store.latest(run.id):
            number = work.firsts[row.item_id] + row.repeat
            if (number, row.attempt) not in there:
                _put(work, number, row.attempt)
    except SharedError as error:
        LOG.warning("folders of trials of run %s are on this machine alone: %s", run.id[:8], error)


def drop(context: Context, run_id: str) -> None:
    """Delete the folders of a run's trials where machines share them; what is left there is some room lost."""
    shared = shared_of(context.settings, context.store)
    if shared is None:
        return
    with suppress(SharedError):
        for name in shared.names(prefix_of(run_id)):
            shared.drop(name)


# Had -----------------------------------------------------------------------------------------------


def have(
    context: Context,
    run: Run,
    number: int,
    row: AttemptRow | None,
    named: Sequence[NamedFolder] | None = None,
) -> bool:
    """Have the folder of a trial on this machine, as its last try left it; whether it is here now.

    `row` is that try, None where none has ended. It is fetched where no folder here is that; a folder of an earlier try
    goes into `attempts/` of the one that comes. What is out of reach is logged, and what is here stays. `named` are the
    run's folders that are shared, where they are known.
    """
    ref = run.cell.source
    assert isinstance(ref, RolloutsRef)  # a trial is of a benchmark of tasks
    place = trial_folder(ref, context.settings, number)
    if row is None:
        return place.is_dir()
    record = _record(context, run, row)
    if place.is_dir() and (record is None or _holds(place, record)):
        return True
    try:
        found = _named_of(context, run) if named is None else named
        mine = [each for each in found if each[:2] == (number, row.attempt)]
        return _fetched(context, mine, place, record) or place.is_dir()
    except (ProctorError, OSError) as error:
        LOG.warning("trial %s is not brought here: %s", place.name, error)
        return place.is_dir()


def have_all(context: Context, run: Run) -> None:
    """Have the folders of all of a run's trials that have ended; what is out of reach is logged."""
    ref = run.cell.source
    if shared_of(context.settings, context.store) is None or not isinstance(ref, RolloutsRef):
        return
    try:
        named, firsts = _named_of(context, run), firsts_of(run, ref)
    except SharedError as error:
        LOG.warning("folders of trials of run %s are not brought here: %s", run.id[:8], error)
        return
    for row in context.store.latest(run.id):
        have(context, run, firsts[row.item_id] + row.repeat, row, named)


def _record(context: Context, run: Run, row: AttemptRow) -> bytes | None:
    """The record that a try's folder must hold; None where the try came to no verdict."""
    if row.outcome is Outcome.ERROR:
        return None
    with suppress(NotFound):
        said = context.store.payload(run.id, row.item_id, row.repeat, row.attempt)
        if said.get("raw"):
            return str(said["raw"]).encode()
    return None


def _holds(folder: Path, record: bytes) -> bool:
    with suppress(OSError, orjson.JSONDecodeError):
        handle = os.open(folder / RECORD, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            return bool(orjson.loads(file.read(MOST_RECORD)) == orjson.loads(record))
    return False


def _named(shared: Shared, run_id: str) -> Iterator[NamedFolder]:
    """Number, try, hash and name of each folder of a run's trials that is shared."""
    for name in shared.names(prefix_of(run_id)):
        if (told := NAMED.fullmatch(name)) is not None:
            yield int(told[1]), int(told[2]), told[3], name


def _named_of(context: Context, run: Run) -> list[NamedFolder]:
    shared = shared_of(context.settings, context.store)
    return [] if shared is None else list(_named(shared, run.id))


def _fetched(context: Context, found: Sequence[NamedFolder], place: Path, record: bytes | None) -> bool:
    """Whether the folder of a try has come, one of those found. Raises: SharedError, OSError."""
    shared = shared_of(context.settings, context.store)
    if shared is None:
        return False
    for _, _, sha256, name in found:
        with room(context) as coming:
            fetched(shared, name, coming / "trial", sha256)
            unpacked(coming / "trial", coming / "folder")
            if record is None or _holds(coming / "folder", record):
                return _moved(coming / "folder", place)
    return False


def _moved(coming: Path, place: Path) -> bool:
    """The folder in its place, unless a process of this machine works on the trial just now."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with _alone(place.parent):
        if place.is_dir() and not place.is_symlink():
            with _alone(place, wait=False) as free:
                if not free:
                    return False
                _put_aside(place, coming)
        coming.rename(place)
    return True


def _put_aside(place: Path, coming: Path) -> None:
    """What an earlier try left here goes into `attempts/`, as when a try begins on one machine."""
    earlier = coming / "attempts"
    earlier.mkdir()
    if (place / "attempts").is_dir():
        for each in sorted((place / "attempts").iterdir()):
            each.rename(earlier / each.name)
        (place / "attempts").rmdir()
    place.rename(earlier / str(len(list(earlier.iterdir()))))


@contextmanager
def _alone(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """One process of this machine at a time; with `wait` False whether it is this one."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield True
    except BlockingIOError:
        yield False
    finally:
        os.close(held)


def fetched_of(context: Context, run_id: str, number: int, ours: Path) -> None:
    """The folder of another store's trial, by its run and number, as ours; nothing where it is not shared."""
    shared = shared_of(context.settings, context.store)
    if shared is None or ours.exists():
        return
    try:
        found = sorted(each for each in _named(shared, run_id) if each[0] == number)
        if found:
            with room(context) as coming:
                fetched(shared, found[-1][3], coming / "trial", found[-1][2])
                unpacked(coming / "trial", coming / "folder")
                _moved(coming / "folder", ours)
    except (SharedError, OSError) as error:
        LOG.warning("trial %s is not brought here: %s", ours.name, error)


# Merged --------------------------------------------------------------------------------------------


def copied(theirs: Path, ours: Path) -> None:
    """A trial's folder of another PROCTOR_HOME as ours, whole or not at all, without links. Raises: OutputError."""
    if ours.exists() or not theirs.is_dir() or theirs.is_symlink():
        return
    coming = ours.with_name(f".{secrets.token_hex(8)}")
    try:
        ours.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(theirs, coming, ignore=_links)
        coming.rename(ours)
    except (OSError, shutil.Error) as error:
        shutil.rmtree(coming, ignore_errors=True)
        raise OutputError(f"{theirs} could not be copied to {ours}: {error}") from error


def _links(folder: str, names: Sequence[str]) -> list[str]:
    """What is neither a file nor a folder of this folder's own."""
    paths = (Path(folder, name) for name in names)
    return [path.name for path in paths if path.is_symlink() or not (path.is_file() or path.is_dir())]
