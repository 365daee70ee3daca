"""Data sets that hold requests: uploaded, listed, read otherwise, renamed, deleted; and what a run of one asks."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath

from proctor.errors import BadLines, ConfigError, NotFound
from proctor.references import BatchRef
from proctor.service.context import Context, open_context
from proctor.service.datasets.arriving import Arrived
from proctor.service.datasets.bounded import look_at_file_of_requests
from proctor.service.datasets.looked import requests_between
from proctor.service.datasets.names import NAME_CHARS, checked_name
from proctor.service.datasets.reading import (
    Found,
    Reading,
    RequestPreview,
    found_from,
    reading_from,
    reading_json,
)
from proctor.settings import Settings
from proctor.store.datasets import entries, shelf
from proctor.store.datasets.entries import REQUESTS, DatasetRow
from proctor.store.shared import copies

TOLD = 20  # faults that a message names; the others are counted
PIECE_BYTES = 2**18


@dataclass(frozen=True, slots=True)
class Requests:
    """A data set as people see it. `content` is the SHA-256 of the file's bytes; `count` lines of it can be sent.

    `made` is False where an upload found that it was there already.
    """

    id: str
    project_id: int
    name: str
    content: str
    bytes: int
    count: int
    reading: Reading
    found: Found
    created_at: float
    created_by: str
    made: bool = True

    @property
    def ref(self) -> BatchRef:
        """What a run asks: the content, as it is read now, whatever the data set is called or read like later."""
        return self.reading.of(BatchRef(self.name, content=self.content))


@dataclass(frozen=True, slots=True)
class RequestsWish:
    """What somebody wants of an upload. Without a name it is called as its file is."""

    name: str | None = None
    reading: Reading = Reading()
    project_id: int = 1
    user: str = "local"


def keep(context: Context, arrived: Arrived, wish: RequestsWish) -> Requests:
    """Check a file that has come, and keep it by its content.

    The same content again, without another name, is the data set that is there, read as is wished now.
    Raises: BadLines naming what cannot be sent, DataError, ConfigError, NotFound for a project, Conflict, DiskFull.
    """
    entries.need_project(context.store, wish.project_id)
    name = None if wish.name is None else checked_name(wish.name)
    known = _known(context, arrived.sha256, name, wish)
    if known is not None and known.reading == wish.reading and _is_here(context, known):
        return replace(known, made=False)
    found = look_at_file_of_requests(arrived.path, wish.reading, named=arrived.filename)
    _refuse(arrived.filename, found, wish.reading)
    if known is not None:
        with shelf.held(context.settings):
            shelf.keep(arrived.path, context.settings, arrived.sha256)
        copies.share(context.store, context.settings, arrived.sha256)
        return replace(_read_anew(context, known.id, wish.reading, found), made=False)
    row = DatasetRow(
        id=f"ds_{secrets.token_hex(12)}",
        project_id=wish.project_id,
        name=name or _free_name(context, arrived.filename, wish.project_id),
        content=arrived.sha256,
        format=found.format,
        bytes=arrived.bytes,
        rows=found.count,
        reading=reading_json(wish.reading),
        found=reading_json(found),
        created_at=time.time(),
        created_by=wish.user,
        holds=REQUESTS,
    )
    with shelf.held(context.settings):
        shelf.keep(arrived.path, context.settings, arrived.sha256)
        try:
            entries.add(context.store, row)
        finally:  # where its row could not be added, nobody names the file
            copies.drop(context.store, context.settings, arrived.sha256)
    copies.share(context.store, context.settings, arrived.sha256)
    return _requests(row)


def _known(context: Context, sha256: str, name: str | None, wish: RequestsWish) -> Requests | None:
    rows = entries.of_content(context.store, sha256, wish.project_id)
    return next((_requests(row) for row in rows if name in (None, row.name)), None)


def _is_here(context: Context, of: Requests) -> bool:
    return shelf.place(context.settings, of.content).is_file()


def _refuse(filename: str, found: Found, reading: Reading) -> None:
    """Raises: BadLines where a line cannot be sent; leniently, where none can."""
    if found.count and (reading.lenient or not found.bad):
        return
    told = [str(each) for each in found.faults[:TOLD]]
    more = found.bad - len(told)
    if more > 0:
        told.append(f"and {more:,} more")
    said = f"{found.bad:,} of {found.lines:,} lines cannot be sent" if found.lines else "it holds no request"
    error = BadLines("\n".join([f"{filename}: {said}", *told]))
    error.faults = [asdict(each) for each in found.faults]
    raise error


def _free_name(context: Context, filename: str, project_id: int) -> str:
    """The file's name; with a number where another data set is called so, as folders of downloads do it."""
    path = PurePath(filename)
    base = checked_name(filename[:NAME_CHARS])
    number = 1
    while entries.named(context.store, base, project_id) is not None:
        number += 1
        ending = f" ({number}){path.suffix}"
        base = f"{path.stem[: NAME_CHARS - len(ending)]}{ending}"
    return base


def listed(
    context: Context, project_id: int | None = None, *, offset: int = 0, limit: int = 1000
) -> tuple[list[Requests], int]:
    """The newest first, of one project, if named; and how many there are in all."""
    rows, total = entries.newest(context.store, (REQUESTS,), project_id, offset=offset, limit=limit)
    return [_requests(row) for row in rows], total


def one(context: Context, ident: str) -> Requests:
    """Raises: NotFound."""
    row = entries.one(context.store, ident)
    if row.holds != REQUESTS:
        raise NotFound(f"Data set {ident} holds questions: /api/v1/datasets has it")
    return _requests(row)


def named(context: Context, word: str, project_id: int = 1) -> Requests:
    """The data set of a project that a name, or an id, means. Raises: NotFound, ConfigError."""
    row = entries.named(context.store, word, project_id)
    if row is None:
        if elsewhere := entries.projects_with(context.store, word):
            projects = ", ".join(map(str, elsewhere))
            raise ConfigError(f"The data set {word!r} is of project {projects}, and the run of {project_id}")
        raise NotFound(f"Data set {word} not found")
    if row.holds != REQUESTS:
        raise ConfigError(f"The data set {word!r} holds questions, which are asked as an exam: `proctor run`")
    return _requests(row)


def means_requests(context: Context, word: str, project_id: int = 1) -> bool:
    """Whether a name, or an id, is that of a data set of requests."""
    row = entries.named(context.store, word, project_id)
    return row is not None and row.holds == REQUESTS


def batch_ref(context: Context, word: str, project_id: int = 1) -> BatchRef:
    """What a run asks that names a data set of requests. Raises: NotFound, ConfigError, DataMissing."""
    found = named(context, word, project_id)
    need_here(context, found)
    return found.ref


def need_here(context: Context, of: Requests) -> Path:
    """Where its file is on this machine, fetched from where machines share if need be. Raises: DataMissing."""
    copies.fetch(context.store, context.settings, of.name, of.content)
    return shelf.here(context.settings, of.content) or shelf.place(context.settings, of.content)


def requests_named(settings: Settings, word: str) -> BatchRef | None:
    """What a name means in the store of these settings, in project 1, which the command line's runs have."""
    with open_context(settings) as context:  # a name is understood before a command has its context
        row = entries.named(context.store, word, 1)
        return None if row is None else batch_ref(context, word)


def of_ref(context: Context, ref: BatchRef, project_id: int) -> Requests | None:
    """Which data set a run's source is; None where it was deleted, or is a file by its path."""
    if ref.content is None:
        return None
    rows = [
        row for row in entries.of_content(context.store, ref.content, project_id) if row.holds == REQUESTS
    ]
    same = [row for row in rows if row.name == ref.name] or rows
    return _requests(same[0]) if same else None


def rows_of(
    context: Context, of: Requests, *, offset: int = 0, limit: int = 100
) -> tuple[RequestPreview, ...]:
    """Its requests as they stand in the file. Raises: DataMissing."""
    path = need_here(context, of)
    return requests_between(path, of.reading, offset, limit, named=of.name, clean=not of.found.bad)


def content_of(context: Context, of: Requests) -> Callable[[], Iterator[bytes]]:
    """Its bytes as they came, in pieces, once they are asked for. Raises: DataMissing."""
    file = need_here(context, of).open("rb")

    def pieces() -> Iterator[bytes]:
        with file:
            while piece := file.read(PIECE_BYTES):
                yield piece

    return pieces


def change(
    context: Context, ident: str, *, name: str | None = None, reading: Reading | None = None
) -> Requests:
    """Rename it, or read it otherwise from now on; runs that were submitted go on as they are.

    Raises: NotFound, Conflict, ConfigError, BadLines, DataMissing.
    """
    of = one(context, ident)
    if reading is not None:
        path = need_here(context, of)
        found = look_at_file_of_requests(path, reading, named=of.name)
        _refuse(of.name, found, reading)
        _read_anew(context, ident, reading, found)
    if name is not None and checked_name(name) != of.name:
        entries.rename(context.store, entries.one(context.store, ident), checked_name(name))
    return one(context, ident)


def _read_anew(context: Context, ident: str, reading: Reading, found: Found) -> Requests:
    row = replace(
        entries.one(context.store, ident),
        reading=reading_json(reading),
        found=reading_json(found),
        format=found.format,
        rows=found.count,
    )
    entries.read_anew(context.store, row)
    return _requests(row)


def remove(context: Context, ident: str) -> Requests:
    """Delete it, and its file where nothing else is of it.

    Raises: NotFound, Conflict naming the runs that ask it.
    """
    gone = one(context, ident)
    with shelf.held(context.settings):
        entries.remove(context.store, entries.one(context.store, ident))
        copies.drop(context.store, context.settings, gone.content)
    return gone


def holds(context: Context, ident: str) -> str:
    """What a data set holds: questions or requests. Raises: NotFound."""
    return entries.one(context.store, ident).holds


def _requests(row: DatasetRow) -> Requests:
    return Requests(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        content=row.content,
        bytes=row.bytes,
        count=row.rows,
        reading=reading_from(row.reading),
        found=found_from(row.found),
        created_at=row.created_at,
        created_by=row.created_by,
    )
