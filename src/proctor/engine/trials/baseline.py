"""A task's files as every agent finds them, made once: a repository with a fresh history, or what its steps make."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from proctor.engine.room import room_for
from proctor.engine.trials.others.building import built_files
from proctor.engine.trials.others.stand_ins import stand_ins
from proctor.engine.trials.patch import baseline_history
from proctor.engine.trials.tree import Tree, digest, place_of, tree_of
from proctor.sandbox.contract import REPO, Policy, Sandbox
from proctor.sources.rollouts.task import BoxFile, PreparedTask

OF_STEPS = ("opt", "srv", "mnt", "home")  # folders of a root that no image needs as they are


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

    @property
    def system(self) -> Path | None:
        """What steps of the task made outside of the folders that are carried; None where it has none."""
        path = self.place / "system"
        return path if path.is_dir() else None

    @property
    def tools(self) -> Path:
        """The programs that stand in for others in boxes of this task. Raises: DiskFull, SandboxError."""
        return stand_ins(self.place.parent)

    def policy(self, task: PreparedTask, policy: Policy) -> Policy:
        """With what programs of the task's boxes may write into; what its steps made is put into such folders, too."""
        tops = [] if self.system is None else sorted(each.name for each in self.system.iterdir())
        own = [f"/{top}" for top in tops if top in OF_STEPS]
        return replace(policy, writable=(*policy.writable, *task.place.writable, *own))


@dataclass(frozen=True, slots=True)
class Baselines:
    """The baselines of a benchmark's tasks, each made once below a folder, under the hash of its files."""

    made: dict[str, TaskBaseline] = field(default_factory=dict)
    making: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def of(self, task: PreparedTask, folder: Path, sandbox: Sandbox, policy: Policy) -> TaskBaseline:
        """Steps that make files are taken in a box of `sandbox`.

        Raises: SandboxMissing for a step that cannot be taken; SandboxError, DiskFull.
        """
        async with self.making[task.sha256]:
            if task.sha256 not in self.made:
                if task.place.whole:
                    self.made[task.sha256] = await asyncio.to_thread(made_baseline, task, folder)
                else:
                    self.made[task.sha256] = await built_baseline(task, folder, sandbox, policy)
            return self.made[task.sha256]


async def built_baseline(task: PreparedTask, folder: Path, sandbox: Sandbox, policy: Policy) -> TaskBaseline:
    """Make it by the task's steps, or find it whole. Raises: SandboxMissing, SandboxError, DiskFull."""
    made_of = f"{task.sha256} {sandbox.name} {sandbox.image_sha256}"
    place = folder / f"built-{hashlib.sha256(made_of.encode()).hexdigest()[:32]}"
    found = await asyncio.to_thread(_built, place)
    if found is not None:
        return found
    new = await asyncio.to_thread(_room, folder)
    try:
        made = await built_files(task, sandbox, policy, new)
        return await asyncio.to_thread(_kept, new, place, made.carried)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _room(folder: Path) -> Path:
    with room_for(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="new-", dir=folder))


def _kept(new: Path, place: Path, carried: Path) -> TaskBaseline:
    with room_for(new):
        tree = tree_of(carried)
        (new / "tree").write_text(digest(tree))
        _settled(new, place, lambda: _built(place) is not None)
    return _built(place) or TaskBaseline(place, tree)


def _built(place: Path) -> TaskBaseline | None:
    """What was made before; None where it is not there, or somebody changed it."""
    if not (place / "tree").is_file():
        return None
    tree = tree_of(place / "files")
    return TaskBaseline(place, tree) if digest(tree) == (place / "tree").read_text() else None


def made_baseline(task: PreparedTask, folder: Path) -> TaskBaseline:
    """Make it, or find it whole: made anew where somebody changed it. Raises: SandboxError, DiskFull."""
    new = _room(folder)
    with room_for(folder):
        try:
            (new / "files").mkdir()
            for each in task.agent_files():
                if each.in_repository:
                    _copied(each, new / "files")
            tree = tree_of(new / "files")
            place = folder / digest(tree)[:32]
            if not _whole(place, tree):
                baseline_history(new / "files", new / "history")
                _settled(new, place, lambda: _whole(place, tree))
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return TaskBaseline(place, tree)


def _whole(place: Path, tree: Tree) -> bool:
    return (place / "history").is_dir() and tree_of(place / "files") == tree


def _settled(new: Path, place: Path, whole: Callable[[], bool]) -> None:
    """Give it its name, unless somebody who made the very same has; boxes may be copying that one already."""
    with (place.parent / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole():
            shutil.rmtree(place, ignore_errors=True)
            new.rename(place)


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
