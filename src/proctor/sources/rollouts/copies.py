"""Private copies of tasks as they are run, found by the hash of their content: PROCTOR_HOME/cache/tasks/SHA256.

    task/     the task's files, with the overrides applied
    build/    what a program that builds images may see of them: nothing that tells the answer or the tests

Nobody writes into a copy: boxes get copies of it or see it read-only. One that was changed all the same is made anew.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from proctor.sources.rollouts.faults import TaskFaults
from proctor.sources.rollouts.tree import Tree, digest, tree_of, write

FOLDER = Path("cache", "tasks")
UNFINISHED = ".making-"
STALE_S = 3600.0  # after which a copy that nobody finished is cleared away


ALWAYS = ("overlay_repo_files", "evaluation")  # folders of a copy, even where they are empty


def kept(tree: Tree, build: Tree, sha256: str, home: Path) -> Path:
    """The folder of the copy, made if it is not there; safe with other processes that make it at the same time."""
    copies = home / FOLDER
    place = copies / sha256
    if place.is_dir() and not _whole(place, sha256):
        with _room(copies) as aside:
            place.rename(aside / "changed")
    if not place.is_dir():
        with _room(copies) as folder:
            made = folder / sha256
            made.mkdir()
            write(tree, made / "task", ALWAYS)
            write(build, made / "build")
            _moved(made, place)
    return place


def copy_here(sha256: str, home: Path, *, whole: bool = False) -> Path | None:
    """The folder with the files of a copy, if it is here; with `whole` only as it was made, looked at file by file."""
    place = home / FOLDER / sha256
    here = place.is_dir() and (not whole or _whole(place, sha256))
    return place / "task" if here else None


def _whole(place: Path, sha256: str) -> bool:
    task = place / "task"
    names = [each.name for each in task.iterdir()] if task.is_dir() else []
    return digest(tree_of(task, names, TaskFaults(task))) == sha256


def _moved(made: Path, place: Path) -> None:
    try:
        made.rename(place)
    except OSError:
        if not place.is_dir():  # else another process was first
            raise


@contextmanager
def _room(copies: Path) -> Iterator[Path]:
    """A folder beside the copies that is gone afterwards; those of processes that were killed are cleared, too."""
    copies.mkdir(parents=True, exist_ok=True)
    for left in copies.glob(f"{UNFINISHED}*"):
        if time.time() - _age(left) > STALE_S:
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=copies))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _age(path: Path) -> float:
    try:
        return os.lstat(path).st_mtime
    except FileNotFoundError:
        return time.time()
