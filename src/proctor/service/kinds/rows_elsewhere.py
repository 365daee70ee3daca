"""Rows of suites on several machines: what one has is put where all share, and the newest import counts everywhere.

suites/ORIGIN/TASK/SPLIT/<sha256>.jsonl                          the rows
suites/ORIGIN/TASK/SPLIT/<time of import>-<sha256>.manifest.json  put after them, so that it is there with them
"""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import SharedError
from proctor.service.context import Context
from proctor.sources.exams.rows.normal_form import (
    FOLDERS,
    Stored,
    manifest_path,
    missing_tasks,
    read_manifest,
    replace_file,
    rows_path,
)
from proctor.store.shared.contract import Shared
from proctor.store.shared.opening import shared_of

LOG = logging.getLogger("proctor.shared")
SPLITS = ("eval", "dev")
ENDING = ".manifest.json"
Key = tuple[str, str]  # task and split


@dataclass(frozen=True, slots=True)
class SharedRows:
    """An import of the rows of one task and split, by the name of its manifest."""

    folder: str
    at: str  # the time of import, digits that sort
    sha256: str

    @property
    def manifest(self) -> str:
        return f"{self.folder}/{self.at}-{self.sha256}{ENDING}"

    @property
    def rows(self) -> str:
        return f"{self.folder}/{self.sha256}.jsonl"


def shares(context: Context) -> bool:
    """Whether there is a place that machines share."""
    return shared_of(context.settings, context.store) is not None


def share_rows(context: Context, keys: Iterable[Key], origin: Stored) -> None:
    """Put this machine's rows of these tasks and splits where others find them, where none newer are.

    A place that is out of reach is logged: what asks the rows here has them.
    """
    shared = shared_of(context.settings, context.store)
    if shared is None:
        return
    try:
        there = _newest(shared, origin)
        for task, split in keys:
            mine = _mine(context.settings.home, task, split, origin)
            if mine is not None and _newer(mine, there.get((task, split))):
                shared.put(mine.rows, rows_path(context.settings.home, task, split, origin))
                shared.put(mine.manifest, manifest_path(context.settings.home, task, split, origin))
    except SharedError as error:
        LOG.warning("rows are on this machine alone: %s", error)


def bring_rows(context: Context, tasks: Sequence[str], origin: Stored) -> None:
    """Have the newest rows of these tasks here that are shared; what is not stays as it is. Raises: SharedError."""
    shared = shared_of(context.settings, context.store)
    if shared is None:
        return
    home, there = context.settings.home, _newest(shared, origin)
    for task in tasks:
        for split in SPLITS:
            found, mine = there.get((task, split)), _mine(home, task, split, origin)
            if found is not None and _newer(found, mine):
                _fetch(shared, found, home, (task, split), origin)


def out_of_reach(context: Context, tasks: Sequence[str], origin: Stored) -> list[str]:
    """The tasks whose rows are neither here nor shared. Raises: SharedError."""
    missing = missing_tasks(tasks, context.settings.home, "eval", origin)
    shared = shared_of(context.settings, context.store) if missing else None
    if shared is None:
        return missing
    there = _newest(shared, origin)
    return [task for task in missing if (task, "eval") not in there]


def _newest(shared: Shared, origin: Stored) -> dict[Key, SharedRows]:
    found = {}
    for name in shared.names(f"suites/{origin}/"):  # in order: what was imported later comes later
        folder, _, last = name.rpartition("/")
        at, dash, sha256 = last.removesuffix(ENDING).partition("-")
        if last.endswith(ENDING) and dash and folder.count("/") == 3:
            _, _, task, split = folder.split("/")
            found[task, split] = SharedRows(folder, at, sha256)
    return found


def _mine(home: Path, task: str, split: str, origin: Stored) -> SharedRows | None:
    manifest = read_manifest(home, task, split, origin)
    if manifest is None or not rows_path(home, task, split, origin).is_file():
        return None
    return SharedRows(f"suites/{origin}/{task}/{split}", f"{manifest.imported_at:018.6f}", manifest.sha256)


def _newer(one: SharedRows, other: SharedRows | None) -> bool:
    return other is None or (one.sha256 != other.sha256 and one.at > other.at)


def _fetch(shared: Shared, found: SharedRows, home: Path, key: Key, origin: Stored) -> None:
    rows, manifest = b"".join(shared.pieces(found.rows)), b"".join(shared.pieces(found.manifest))
    sha256 = hashlib.sha256(rows).hexdigest()
    if sha256 != found.sha256:
        raise SharedError(
            f"{shared.told}: what lies there as {found.rows} is another file, or not all of it "
            f"(SHA-256 {sha256[:12]}); nothing was kept. Delete it and its manifest there, and import again"
        )
    with _alone(home / FOLDERS[origin]):
        replace_file(rows_path(home, *key, origin), rows)
        replace_file(manifest_path(home, *key, origin), manifest)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process of this machine at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)
