"""The prepared tasks of a server: folders below PROCTOR_HOME/tasks/prepared, and no others that a request names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from proctor.errors import ConfigError, DataError
from proctor.given_files import is_file, is_folder
from proctor.references import RolloutsRef, TaskEntry
from proctor.service.context import Context
from proctor.service.opening.sources import open_source
from proctor.settings import Settings

PREPARED = PurePosixPath("tasks/prepared")
MOST = 500  # tasks that are listed
_NAME = re.compile(r"[A-Za-z0-9][\w.@:+-]{0,199}")


@dataclass(frozen=True, slots=True)
class OfferedRubric:
    """A criterion of a task, its weight, and by how many test scripts it is told."""

    id: str
    criterion: str
    weight: float
    tests: int


@dataclass(frozen=True, slots=True)
class OfferedTask:
    """A prepared task by the name of its folder. `fault` says why it cannot be run; all else is unknown then."""

    name: str
    id: str | None = None
    title: str | None = None
    sha256: str | None = None
    instruction: str | None = None
    rubrics: Sequence[OfferedRubric] = ()
    fault: str | None = None


def prepared_tasks(context: Context) -> tuple[OfferedTask, ...]:
    """The tasks that a benchmark over the server may name, by name; MOST at most."""
    home = context.settings.home / PREPARED
    if not home.is_dir():
        return ()
    names = sorted(each.name for each in home.iterdir() if _NAME.fullmatch(each.name))
    folders = [name for name in names if _is_own(home / name)]
    return tuple(_offered(name, home / name, context.settings) for name in folders[:MOST])


def _offered(name: str, folder: Path, settings: Settings) -> OfferedTask:
    ref = RolloutsRef(name, tasks=(TaskEntry(str(folder)),), data=str(settings.home.absolute()))
    try:
        (task,) = open_source(ref, settings).tasks  # type: ignore[attr-defined]  # the source of a RolloutsRef
    except (DataError, ConfigError) as error:
        return OfferedTask(name, fault=str(error))
    tests = [script.rubric for script in task.tests]
    rubrics = [
        OfferedRubric(each.id, each.criterion, each.weight, tests.count(each.id)) for each in task.rubrics
    ]
    return OfferedTask(name, task.id, task.title, task.sha256, task.instruction, rubrics)


def folder_named(settings: Settings, given: str, where: str) -> Path:
    """The folder that a request means, by its name or by the path that has it. Raises: ConfigError for any other."""
    home = settings.home.absolute() / PREPARED
    name = PurePosixPath(given).name
    meant = {name, f"{PREPARED}/{name}", f"data/{PREPARED}/{name}", str(home / name)}
    if not _NAME.fullmatch(name) or given.rstrip("/") not in meant:
        raise ConfigError(
            f"{where}: {given[:200]!r} is no prepared task of this server: name one of GET /api/v1/tasks"
        )
    if not _is_own(home / name):
        raise ConfigError(f"{where}: there is no prepared task {name!r}: GET /api/v1/tasks lists them")
    return home / name


def file_inside(folder: Path, given: str, where: str) -> Path:
    """A file of the task's folder by its path in it. Raises: ConfigError for a way out of it, a link, or no file."""
    parts = PurePosixPath(given).parts
    path = folder
    for part in parts:
        path = path / part
        if part in ("..", "/") or _is_link(path):
            raise ConfigError(f"{where}: {given[:200]!r} leads out of the task's folder")
    if not parts or not is_file(path):
        raise ConfigError(f"{where}: the task has no file {given[:200]!r}")
    return path


def _is_own(folder: Path) -> bool:
    return is_folder(folder) and not folder.is_symlink()


def _is_link(path: Path) -> bool:
    """False also for a path that nothing can have."""
    try:
        return path.is_symlink()
    except OSError:
        return False
