"""A task's repository as every agent finds it: its files, and a fresh history of one commit, made once."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

from proctor.engine.trials.folder import room_for
from proctor.engine.trials.patch import baseline_history
from proctor.engine.trials.tree import Tree, digest, place_of, tree_of
from proctor.sandbox.contract import REPO
from proctor.sources.rollouts.task import BoxFile, PreparedTask


@dataclass(frozen=True, slots=True)
class TaskBaseline:
    """`files` and `history` are folders that boxes get copies of; nobody writes into them."""

    place: Path
    tree: Tree

    @property
    def files(self) -> Path:
        return self.place / "files"

    @property
    def history(self) -> Path:
        return self.place / "history"


@dataclass(frozen=True, slots=True)
class Baselines:
    """The baselines of a benchmark's tasks, each made once below a folder, under the hash of its files."""

    made: dict[str, TaskBaseline] = field(default_factory=dict)
    making: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def of(self, task: PreparedTask, folder: Path) -> TaskBaseline:
        """Raises: SandboxError, DiskFull."""
        async with self.making[task.sha256]:
            if task.sha256 not in self.made:
                self.made[task.sha256] = await asyncio.to_thread(made_baseline, task, folder)
            return self.made[task.sha256]


def in_repository(each: BoxFile) -> bool:
    return each.target == REPO or each.target.startswith(f"{REPO}/")


def made_baseline(task: PreparedTask, folder: Path) -> TaskBaseline:
    """Make it, or find it whole: made anew where somebody changed it. Raises: SandboxError, DiskFull."""
    with room_for(folder):
        folder.mkdir(parents=True, exist_ok=True)
        new = Path(tempfile.mkdtemp(prefix="new-", dir=folder))
        try:
            (new / "files").mkdir()
            for each in filter(in_repository, task.agent_files()):
                _copied(each, new / "files")
            tree = tree_of(new / "files")
            place = folder / digest(tree)[:32]
            if (place / "history").is_dir() and tree_of(place / "files") == tree:
                return TaskBaseline(place, tree)
            baseline_history(new / "files", new / "history")
            shutil.rmtree(place, ignore_errors=True)
            _settled(new, place, tree)
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return TaskBaseline(place, tree)


def _settled(new: Path, place: Path, tree: Tree) -> None:
    try:
        new.rename(place)
    except OSError:
        # Another process made the very same in the meantime.
        if tree_of(place / "files") != tree:
            raise


def _copied(each: BoxFile, files: Path) -> None:
    target = files / each.target.removeprefix(REPO).lstrip("/")
    if each.source.is_dir():
        away = shutil.ignore_patterns(".git", "__pycache__")
        shutil.copytree(each.source, target, symlinks=True, dirs_exist_ok=True, ignore=away)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(each.source, target, follow_symlinks=False)


def linked(tree: Tree, files: Path, target: Path) -> None:
    """The files of a baseline once more, as links to the same bytes: whoever changes one writes it anew."""
    for path in tree:
        place = place_of(target, path)
        place.parent.mkdir(parents=True, exist_ok=True)
        source = place_of(files, path)
        try:
            os.link(source, place, follow_symlinks=False)
        except OSError:
            shutil.copy2(source, place, follow_symlinks=False)
