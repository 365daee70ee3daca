"""Tasks on their way to other machines: the private copy of each, by the hash of its content, is put where all share.

tasks/<sha256>    the files of a private copy, overrides applied; nothing there is ever changed
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from proctor.errors import DataMissing, ProctorError, SharedError
from proctor.references import RolloutsRef, TaskEntry
from proctor.service.context import Context
from proctor.settings import MB
from proctor.sources.rollouts.copies import ALWAYS, copy_here
from proctor.sources.rollouts.reading import read_task
from proctor.sources.rollouts.tree import TaskFile, digest, write
from proctor.store.shared import packing
from proctor.store.shared.contract import Shared
from proctor.store.shared.opening import shared_of

LOG = logging.getLogger("proctor.shared")
ROOM = Path("cache", "carried")  # what is on its way; gone when it has come


def shared_task(sha256: str) -> str:
    """What a task is called where machines share them."""
    return f"tasks/{sha256}"


def share_tasks(ref: RolloutsRef, context: Context) -> RolloutsRef:
    """The reference that means its tasks exactly as they are here now; each is put where other machines find it.

    One whose folder is not here, or that cannot be read, stays as it is: whoever opens it says why.
    """
    shared = shared_of(context.settings, context.store)
    if shared is None:
        return ref
    known: dict[tuple[str, str | None], str | None] = {}
    for entry in ref.tasks:
        key = (entry.folder, entry.overrides)
        if key not in known:
            known[key] = _put(entry, context, shared)
    tasks = (
        replace(entry, content=known[entry.folder, entry.overrides] or entry.content) for entry in ref.tasks
    )
    return replace(ref, tasks=tuple(tasks))


def _put(entry: TaskEntry, context: Context, shared: Shared) -> str | None:
    try:
        task = read_task(Path(entry.folder), context.settings.home, _path(entry.overrides))
    except ProctorError:
        return None
    name = shared_task(task.sha256)
    try:
        if not shared.has(name):
            with room(context) as folder:
                packing.packed(task.folder, folder / "task")
                put_if_it_fits(shared, name, folder / "task")
    except SharedError as error:
        LOG.warning("task %s is on this machine alone: %s", task.id, error)
    return task.sha256


def put_if_it_fits(shared: Shared, name: str, path: Path, most_bytes: int | None = None) -> bool:
    """Put a file where machines share; False, with a line in the log, where it is too large. Raises: SharedError."""
    bounds = [bound for bound in (shared.most_bytes, most_bytes) if bound is not None]
    size = path.stat().st_size
    if bounds and size > min(bounds):
        LOG.warning(
            "%s is on this machine alone: its %d MB are more than %s takes (%d MB); PROCTOR_SHARED names a place "
            "for larger ones",
            *(name, size // MB, shared.told, min(bounds) // MB),
        )
        return False
    shared.put(name, path)
    return True


def lacking_tasks(ref: RolloutsRef, context: Context) -> list[str]:
    """What of the tasks is neither here nor where machines share, as paths. Raises: SharedError."""
    missing = []
    shared = shared_of(context.settings, context.store)
    for entry in _different(ref.tasks):
        paths = [path for path in (entry.folder, entry.overrides) if path]
        if entry.content is None:
            missing += [path for path in paths if not Path(path.partition("#")[0]).exists()]
        elif not (
            copy_here(entry.content, context.settings.home)
            or (shared is not None and shared.has(shared_task(entry.content)))
            or Path(entry.folder).is_dir()
        ):
            missing.append(entry.folder)
    return list(dict.fromkeys(missing))


def bring_tasks(ref: RolloutsRef, context: Context) -> None:
    """Have on this machine what the benchmark's tasks are by their hashes, fetched and checked where it is not.

    Raises: DataMissing where no place has it, SharedError.
    """
    for entry in _different(ref.tasks):
        if entry.content is not None and copy_here(entry.content, context.settings.home, whole=True) is None:
            _bring(entry, entry.content, context)


def _bring(entry: TaskEntry, sha256: str, context: Context) -> None:
    home = context.settings.home
    with suppress(ProctorError):  # another folder of that name is not what is meant
        if read_task(Path(entry.folder), home, _path(entry.overrides)).sha256 == sha256:
            return
    shared = shared_of(context.settings, context.store)
    if shared is None or not shared.has(shared_task(sha256)):
        raise DataMissing(
            f"{entry.folder}: the task as it was handed in (SHA-256 {sha256[:12]}) is not on this machine, and no "
            "shared address has it. Put the folder back as it was, or hand the benchmark in again"
        )
    with room(context) as folder:
        packing.fetched(shared, shared_task(sha256), folder / "task")
        _spread(folder / "task", folder / "files", sha256, shared)
        _made(folder, sha256, home)


def _spread(packed: Path, into: Path, sha256: str, shared: Shared) -> None:
    """The packed task as files of a new folder: written only when its hash is that of the task that was handed in."""
    into.mkdir()
    tree: dict[str, TaskFile] = {}
    with packing.members(packed) as found:
        for count, (member, body) in enumerate(found):
            if body is None:
                tree[member.name] = TaskFile(link=member.linkname)
                continue
            spool = into / str(count)
            with spool.open("xb") as file:
                packing.copied(body, file)
            tree[member.name] = TaskFile(spool, runs=bool(member.mode & 0o100))
    if digest(tree) != sha256:
        raise SharedError(
            f"{shared.told}: what lies there as {shared_task(sha256)} is another task, or not all of it; nothing of "
            "it was kept. Delete it there"
        )
    write(tree, into.with_name("whole"), ALWAYS)


def _made(folder: Path, sha256: str, home: Path) -> None:
    """The private copy of what was fetched, as reading any prepared folder makes it."""
    task = read_task(folder / "whole", home)
    if task.sha256 != sha256:
        raise DataMissing(
            f"task {task.id} is read otherwise by this version of proctor than by the one that shared it: use the "
            "same version on all machines"
        )


def _different(tasks: Sequence[TaskEntry]) -> Iterator[TaskEntry]:
    yield from {(each.folder, each.overrides, each.content): each for each in tasks}.values()


def _path(told: str | None) -> Path | None:
    return None if told is None else Path(told)


@contextmanager
def room(context: Context) -> Iterator[Path]:
    """A folder for what is on its way, gone afterwards. Raises: SharedError for what the disk refuses."""
    place = context.settings.home / ROOM
    try:
        place.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=".", dir=place))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise SharedError(f"{place}: {error.strerror or error}") from error
