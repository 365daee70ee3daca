"""Official files of a suite that were uploaded: bounded, brought in as `proctor data import` does, told task by task.

Rows serve all projects of an installation, so whoever may bring them in is the administrator.
"""

from __future__ import annotations

import bz2
import fcntl
import gzip
import lzma
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proctor.errors import ConfigError, Conflict, DataError, DiskFull, NotFound, TooLarge
from proctor.service.context import Context
from proctor.service.data.suite_data import origins
from proctor.service.data.transfer import import_data, share_imported
from proctor.service.datasets.arriving import Arrived
from proctor.settings import MB, Settings
from proctor.sources.exams.official.archives import BROKEN, TAR_ENDINGS, listing
from proctor.sources.exams.rows.normal_form import read_manifest
from proctor.sources.exams.rows.stored import differences, is_hidden
from proctor.sources.exams.tables.shapes import Suite, Task
from proctor.sources.exams.tables.tasks import SUITES, TASKS

MOST_FILES = 200  # in one upload
MOST_ENTRIES = 20_000  # files in its archives
MOST_FILE_BYTES = 256 * 2**20  # of one of them, unpacked
MOST_BYTES = 4 * 2**30  # of all of them
READ_BYTES = 2**20
State = Literal["official", "differs", "unknown"]
OPENERS: Mapping[str, Callable[..., Any]] = {
    ".gz": gzip.open,
    ".tgz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


@dataclass(frozen=True, slots=True)
class BroughtTask:
    """Rows of a task that an upload brought. `state` is what they are beside the published set, `said` why.

    `changed` is False where the very same rows were here before.
    """

    task: str
    title: str
    split: str
    rows: int
    sha256: str
    state: State
    said: str
    changed: bool
    source: str


@dataclass(frozen=True, slots=True)
class Brought:
    """What became of an upload for a suite: its tasks, those of other suites, and what was in it besides.

    `missing` are tasks of the suite (key, title) of which no evaluated rows are here now, imported or the hub's.
    """

    suite: str
    title: str
    tasks: Sequence[BroughtTask]
    others: Sequence[BroughtTask]
    missing: Sequence[tuple[str, str]]
    skipped: Sequence[tuple[str, str]]
    failed: Sequence[tuple[str, str]]
    warnings: Sequence[str]


def suite_of(key: str) -> Suite:
    """Raises: NotFound."""
    if key not in SUITES:
        raise NotFound(f"No suite {key}; there are {', '.join(SUITES)}")
    return SUITES[key]


def bring(context: Context, suite: str, files: Sequence[Arrived]) -> Brought:
    """Import uploaded files, one upload at a time, and say what they were.

    Raises: NotFound, ConfigError for an upload without a file, TooLarge for what unpacks to more than any known set,
    Conflict while another is at work, DiskFull, DataError.
    """
    of = suite_of(suite)
    if not files:
        raise ConfigError("Choose the archive or the files as their publisher gives them")
    settings = context.settings
    with _alone(settings), tempfile.TemporaryDirectory(prefix="import-", dir=settings.home) as folder:
        path = _laid_out(files, Path(folder))
        _check_bounds(path)
        try:
            report = import_data(path, settings)
        except OSError as error:
            raise DiskFull(
                f"The rows could not be written below {settings.home}: {error.strerror}"
            ) from error
        share_imported(context, report)
    found = [_told(settings, each.task, each.split, each.changed, each.source) for each in report.imported]
    mine = {task.key for task in of.tasks}
    there = origins(settings)
    return Brought(
        of.key,
        of.title,
        [each for each in found if each.task in mine],
        [each for each in found if each.task not in mine],
        [(task.key, task.title) for task in of.tasks if task.key not in there],
        report.skipped,
        report.failed,
        [text for text in report.warnings if not any(each.said and each.said in text for each in found)],
    )


@contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Raises: Conflict where another upload is being imported on this machine."""
    folder = settings.home / "suites"
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise Conflict("Another upload of rows is being imported: try again when it has ended") from None
    try:
        yield
    finally:
        os.close(handle)


def _laid_out(files: Sequence[Arrived], folder: Path) -> Path:
    """The files under the names that their sender gives them: readers know some sets by these."""
    for number, each in enumerate(files):
        place = folder / each.filename
        if place.exists():
            place = folder / str(number) / each.filename
            place.parent.mkdir()
        os.link(each.path, place)
    return folder if len(files) > 1 else folder / files[0].filename


def _check_bounds(path: Path) -> None:
    """Raises: TooLarge before anything of it is read into memory."""
    paths = [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path]
    for each in paths:
        if each.name.lower().endswith(TAR_ENDINGS):
            check_stream(each)
    with listing(path) as found:
        if len(found.entries) > MOST_ENTRIES:
            raise TooLarge(
                f"The upload holds {len(found.entries):,} files; at most {MOST_ENTRIES:,} are looked into"
            )
        for entry in found.entries:
            if entry.size_bytes > MOST_FILE_BYTES:
                raise TooLarge(
                    f"{entry.name} unpacks to {entry.size_bytes // MB:,} MB; no file of a known set has more than "
                    f"{MOST_FILE_BYTES // MB:,} MB"
                )
        total = sum(entry.size_bytes for entry in found.entries)
    if total > MOST_BYTES:
        raise TooLarge(
            f"The upload unpacks to {total // MB:,} MB; at most {MOST_BYTES // MB:,} MB are looked into"
        )


def check_stream(path: Path, most: int = MOST_BYTES) -> None:
    """Raises: TooLarge where a packed stream gives more than may be; one that is damaged is the import's to tell."""
    opened = OPENERS.get(path.suffix.lower())
    if opened is None:
        return
    came = 0
    try:
        with opened(path, "rb") as file:
            while piece := file.read(READ_BYTES):
                came += len(piece)
                if came > most:
                    raise TooLarge(f"{path.name} unpacks to more than {most // MB:,} MB; no known set does")
    except BROKEN:
        return


def _told(settings: Settings, key: str, split: str, changed: bool, source: str) -> BroughtTask:
    task = TASKS[key]
    manifest = read_manifest(settings.home, key, split)
    if manifest is None:
        raise DataError(f"{settings.home / 'suites' / key}: the rows of {task.title} are gone again")
    said = differences(manifest)
    if said:
        state: State = "differs"
    elif is_hidden(manifest.labels):
        state, said = "differs", ["It has no answers: replies can be kept, not scored."]
    else:
        state, said = ("official", [_checked_by(task, split)]) if split in task.official else ("unknown", [])
    return BroughtTask(
        key, task.title, split, manifest.n, manifest.sha256, state, " ".join(said), changed, source
    )


def _checked_by(task: Task, split: str) -> str:
    return (
        "number and answers are the official set's"
        if split == "eval" and task.histogram
        else "as many rows as the official set"
    )
