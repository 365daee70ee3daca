"""The stored rows as a whole: what is here, what it looks like, and whether it still is what it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import DataError, DataMissing, NotFound
from proctor.sources.exams.rows.normal_form import (
    FOLDERS,
    HIDDEN,
    Row,
    RowManifest,
    Stored,
    checked,
    manifest_path,
    read_manifest,
    rows_path,
)
from proctor.sources.exams.tables.tasks import TASKS

MANIFEST = ".manifest.json"
ROWS = ".jsonl"


@dataclass(frozen=True, slots=True)
class StoredSet:
    """The rows of one task and split from one origin; the manifest is None where it cannot be read."""

    origin: Stored
    task: str
    split: str
    manifest: RowManifest | None


@dataclass(frozen=True, slots=True)
class StoredPreview:
    """A stored set with its first rows."""

    stored: StoredSet
    first: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class StoredCheck:
    """What is wrong with a stored set; nothing when it is what its manifest and its task say."""

    stored: StoredSet
    faults: tuple[str, ...]


def stored_sets(home: Path) -> Iterator[StoredSet]:
    """Everything in HOME/suites and HOME/hub, also what lacks one of its two files."""
    for origin, folder in FOLDERS.items():
        found = {
            (path.parent.name, path.name.removesuffix(ending))
            for ending in (ROWS, MANIFEST)
            for path in (home / folder).glob(f"*/*{ending}")
            if not path.name.startswith(".")
        }
        for task, split in sorted(found):
            yield StoredSet(origin, task, split, read_manifest(home, task, split, origin))


def show_task(home: Path, task: str, *, first: int = 3) -> list[StoredPreview]:
    """The stored sets of a task with their first rows.

    Raises: NotFound for a task of no suite, DataMissing when none of its rows are here, DataError for
    rows that are not those of their manifest.
    """
    mine = [each for each in stored_sets(home) if each.task == task]
    if not mine and task not in TASKS:
        raise NotFound(
            f"No task {task!r}. Tasks are listed in docs/reference/suites.md; MMLU's are its subjects"
        )
    if not mine:
        raise DataMissing(f"No rows for {task} in {home / 'suites'} or {home / 'hub'}")
    return [StoredPreview(each, checked(task, home, each.split, each.origin).rows[:first]) for each in mine]


def verify_stored(home: Path) -> list[StoredCheck]:
    """Every stored set checked against its manifest and against the official size and answers."""
    return [StoredCheck(each, tuple(faults(home, each))) for each in stored_sets(home)]


def faults(home: Path, stored: StoredSet) -> Iterator[str]:
    """What differs, in sentences that name the file."""
    path = rows_path(home, stored.task, stored.split, stored.origin)
    if not path.is_file():
        name = manifest_path(home, stored.task, stored.split, stored.origin).name
        yield f"{path}: the rows are gone, only {name} is left. Import or download them again."
        return
    try:
        row_set = checked(stored.task, home, stored.split, stored.origin)
    except DataError as error:
        yield str(error)
        return
    if stored.task not in TASKS:
        yield f"{path}: {stored.task!r} is no task of a suite. Delete the folder."
        return
    if len({row.id for row in row_set.rows}) < len(row_set.rows):
        yield f"{path}: an id stands in it twice. Import or download it again."
    if row_set.manifest is not None:
        yield from (f"{path}: {text}" for text in differences(row_set.manifest))


def differences(manifest: RowManifest) -> list[str]:
    """How stored rows differ from the official split: sentences for a person, none when they agree."""
    task = TASKS[manifest.task]
    what = f"{task.title} ({manifest.split})"
    size = task.official.get(manifest.split)
    if size is not None and manifest.n != size:
        return [f"{what} has {manifest.n:,} rows, the official set {size:,}."]
    labels: Mapping[str, int] = manifest.labels
    known = manifest.split == "eval" and task.histogram and not is_hidden(labels)
    if known and dict(labels) != dict(task.histogram):
        return [f"{what} has the answers {dict(labels)}, the official set {dict(task.histogram)}."]
    return []


def is_hidden(labels: Mapping[str, int]) -> bool:
    """True when no row has an answer."""
    return labels.keys() == {HIDDEN}


def remarks(manifest: RowManifest) -> list[str]:
    """What whoever imports these rows should know: how they differ, and that they have no answers."""
    name = manifest.source[0]
    said = [f"{name}: {text}" for text in differences(manifest)]
    if is_hidden(manifest.labels):
        title = TASKS[manifest.task].title
        said.append(f"{name}: {title} ({manifest.split}) has no answers: replies can be kept, not scored.")
    return said
