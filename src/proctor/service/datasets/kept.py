"""Data sets: uploaded, listed, read otherwise, renamed, deleted; and the one that a name means."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from proctor.errors import ConfigError, DataError, NotFound
from proctor.given_files import toml_table
from proctor.references import ExamRef
from proctor.service.context import Context, open_context
from proctor.service.datasets.bounded import bounded_look
from proctor.service.datasets.layout import Findings, FirstRow, Layout, findings_from, layout_from, to_json
from proctor.service.datasets.look import some_rows
from proctor.service.datasets.names import checked_name, plain_name
from proctor.settings import Settings
from proctor.sources.exams.tables.tasks import SUITES
from proctor.store import Store
from proctor.store.datasets import content, entries
from proctor.store.datasets.content import KeptFile
from proctor.store.datasets.entries import DatasetRow
from proctor.store.datasets.files import brought, forget, room_for_uploads

MOST_FILES = 50


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A file as it came: what it is called, and its bytes from the beginning."""

    filename: str
    file: BinaryIO


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as people see it. `made` is False where an upload found that it was there already."""

    id: str
    project_id: int
    name: str
    content: str
    bytes: int
    files: tuple[KeptFile, ...]
    layout: Layout
    found: Findings
    created_at: float
    created_by: str
    made: bool = True

    @property
    def ref(self) -> ExamRef:
        """What a run asks: the content, as it is read now, whatever the data set is called or read like later."""
        return self.layout.of(ExamRef("dataset", self.name, content=self.content))


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants of an upload. Without a name it is called as its file is, without the ending."""

    name: str | None = None
    layout: Layout = Layout()
    project_id: int = 1
    user: str = "local"


def upload(context: Context, files: Sequence[Uploaded], wish: Wish) -> Dataset:
    """Look at what came and keep it: one file, or a TOML suite with the files it names.

    The same content again, without another name, is the data set that is there, read as is wished now.
    Raises: DataError for what cannot be read, ConfigError, NotFound for a project, Conflict.
    """
    entries.need_project(context.store, wish.project_id)
    main = _main_file(files)
    listed = tuple(content.hashed(each.file, plain_name(each.filename)) for each in files)
    digest = content.content_of(listed)
    layout = wish.layout.checked()
    for known in entries.of_content(context.store, digest, wish.project_id):
        if wish.name in (None, known.name):
            otherwise = layout if layout not in (Layout(), layout_from(known.reading)) else None
            return replace(change(context, known.id, layout=otherwise), made=False)
    name = checked_name(wish.name if wish.name is not None else PurePath(main).stem)
    with tempfile.TemporaryDirectory(dir=room_for_uploads(context.settings)) as folder:
        for each, kept in zip(files, listed, strict=True):
            each.file.seek(0)
            with (Path(folder) / kept.filename).open("wb") as copy:
                shutil.copyfileobj(each.file, copy)
        found = _looked(Path(folder) / main, layout)
    for each, kept in zip(files, listed, strict=True):
        content.keep_bytes(context.store, kept, each.file)
    row = DatasetRow(
        id="",
        project_id=wish.project_id,
        name=name,
        content=digest,
        format=found.format,
        bytes=sum(each.bytes for each in listed),
        rows=found.rows,
        reading=to_json(layout),
        found=to_json(found),
        created_at=time.time(),
        created_by=wish.user,
    )
    return _dataset(context.store, entries.add(context.store, row, listed))


def _looked(path: Path, layout: Layout) -> Findings:
    """What was found; a suite that cannot be read is refused as a file is. Raises: DataError."""
    try:
        return bounded_look(path, layout)
    except ConfigError as error:
        raise DataError(str(error)) from None


def _main_file(files: Sequence[Uploaded]) -> str:
    """The name of the file that is opened: the only one, or the TOML among several. Raises: ConfigError."""
    names = [plain_name(each.filename) for each in files]
    if not names or len(names) > MOST_FILES or len(set(names)) < len(names):
        raise ConfigError(
            f"Upload one file, or a suite's TOML with its files: up to {MOST_FILES}, each name once"
        )
    tomls = [name for name in names if name.lower().endswith(".toml")]
    if len(names) > 1 and len(tomls) != 1:
        raise ConfigError(
            "Several files are one data set where one of them is the TOML of a suite that names the others"
        )
    if tomls:
        _check_names(files[names.index(tomls[0])], names)
    return tomls[0] if tomls else names[0]


def _check_names(toml: Uploaded, names: Sequence[str]) -> None:
    """Raises: ConfigError for a TOML that names files of this machine: it may open what came with it alone."""
    toml.file.seek(0)
    tables: Any = toml_table(toml.file.read(), toml.filename).get("tasks", [])
    tasks = [each for each in tables if isinstance(each, dict)] if isinstance(tables, list) else []
    named = [each.get(key) for each in tasks for key in ("file", "dev_file") if each.get(key) is not None]
    if missing := [str(name) for name in named if name not in names]:
        raise ConfigError(
            f"{toml.filename} names {missing[0]!r}, which was not uploaded with it: a suite and its files are one "
            "upload, and its TOML names them without folders"
        )


def listed(context: Context, project_id: int | None = None) -> list[Dataset]:
    """By name; of one project, if named."""
    return [_dataset(context.store, row) for row in entries.listed(context.store, project_id)]


def one(context: Context, ident: str) -> Dataset:
    """Raises: NotFound."""
    return _dataset(context.store, _row(context, ident))


def _row(context: Context, ident: str) -> DatasetRow:
    row = entries.one(context.store, ident)
    if row.holds != entries.QUESTIONS:
        raise NotFound(f"Data set {ident} holds requests: /admin/datasets has it")
    return row


def by_word(context: Context, word: str, project_id: int = 1) -> Dataset:
    """The data set of a project that a name, or an id, means. Raises: NotFound."""
    row = entries.named(context.store, word, project_id)
    if row is None or row.holds != entries.QUESTIONS:
        raise NotFound(f"Data set {word!r} not found in project {project_id}")
    return _dataset(context.store, row)


def ref_named(context: Context, word: str, project_id: int = 1) -> ExamRef | None:
    """What a run asks that names a suite by a data set's name, or id; None where there is none.

    Raises: DataError for one that cannot be asked as it is read.
    """
    row = None if word.lower() in SUITES else entries.named(context.store, word, project_id)
    if row is None:
        if word.lower() not in SUITES and (elsewhere := entries.projects_with(context.store, word)):
            projects = ", ".join(map(str, elsewhere))
            raise ConfigError(f"The data set {word!r} is of project {projects}, and the run of {project_id}")
        return None
    if row.holds != entries.QUESTIONS:
        raise ConfigError(f"The data set {row.name!r} holds requests: run it with `proctor batch run`")
    found = _dataset(context.store, row)
    if found.found.error is not None:
        raise DataError(f"The data set {row.name!r} cannot be asked as it is read: {found.found.error}")
    return found.ref


def here(settings: Settings) -> Callable[[str], ExamRef | None]:
    """Finds what a name means in the store of these settings, in project 1, which the command line's runs have."""

    def found(word: str) -> ExamRef | None:
        with open_context(settings) as context:  # a name is understood before a command has its context
            ref = ref_named(context, word)
            if ref is not None and ref.content is not None:
                brought(context.store, ref.content, settings)
            return ref

    return found


def rows(context: Context, of: Dataset, *, offset: int = 0, limit: int = 100) -> tuple[FirstRow, ...]:
    """Rows as they stand in the file, each cell cut to a few hundred characters. Raises: ConfigError for a suite."""
    if of.found.tasks:
        raise ConfigError(f"{of.name!r} is a suite of several files, whose rows are not listed")
    return some_rows(brought(context.store, of.content, context.settings), of.layout, offset, limit)


def change(context: Context, ident: str, *, name: str | None = None, layout: Layout | None = None) -> Dataset:
    """Rename it, or read it otherwise from now on; runs that were submitted go on as they are.

    Raises: NotFound, Conflict, ConfigError, DataError.
    """
    row = _row(context, ident)
    if layout is not None:
        path = brought(context.store, row.content, context.settings)
        found = _looked(path, layout.checked())
        row = replace(
            row, reading=to_json(layout), found=to_json(found), format=found.format, rows=found.rows
        )
        entries.read_anew(context.store, row)
    if name is not None and checked_name(name) != row.name:
        entries.rename(context.store, row, checked_name(name))
    return one(context, ident)


def remove(context: Context, ident: str) -> Dataset:
    """Delete it, and its files on this machine. Raises: NotFound, Conflict naming the runs that ask it."""
    gone = one(context, ident)
    entries.remove(context.store, entries.one(context.store, ident))
    forget(gone.content, context.settings)
    return gone


def _dataset(store: Store, row: DatasetRow) -> Dataset:
    return Dataset(
        id=row.id,
        project_id=row.project_id,
        name=row.name,
        content=row.content,
        bytes=row.bytes,
        files=tuple(content.files_of(store, row.content)),
        layout=layout_from(row.reading),
        found=findings_from(row.found),
        created_at=row.created_at,
        created_by=row.created_by,
    )
