"""The files that a verifier is given: the task's own, with the patch, and without what would steer the verifier."""

from __future__ import annotations

import fnmatch
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.room import room_for
from proctor.engine.trials.baseline import TaskBaseline, linked
from proctor.engine.trials.others.series import parted
from proctor.engine.trials.patch import apply_patch, changed
from proctor.engine.trials.tree import Tree, digest, place_of, tree_of
from proctor.errors import VerifierError
from proctor.printable import in_one_line
from proctor.sources.rollouts.paths import matches
from proctor.sources.rollouts.task import PreparedTask

# What Python and pytest run or obey by its name alone. Others read their settings from `evaluation/`.
STEERING = (
    *("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
    *("sitecustomize.py", "usercustomize.py", "*.pth", "*.pyc", "*.pyo"),
)
# What shells, Python and other programs obey in a home, and the programs that its PATH leads to.
STEERING_AT_HOME = (
    *(".local", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"),
    *(".config", ".cache", ".pydistutils.cfg", ".inputrc", ".curlrc", ".wgetrc", ".npm", ".codex"),
)
MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class CleanFiles:
    """A folder to be copied into a verifier's box, and what of the patch is not in it, as sentences."""

    folder: Path
    notes: tuple[str, ...] = ()


def clean_files(
    task: PreparedTask, baseline: TaskBaseline, patch: bytes, private: Path, tree: str | None = None
) -> CleanFiles:
    """`tree` is the digest that the patched files must have. Raises: VerifierError, DiskFull, SandboxError."""
    patches = [each for _, each in parted(patch) if each]
    if not patches:
        return CleanFiles(baseline.files)
    folder = private / "clean"
    with room_for(folder):
        folder.mkdir(parents=True)
        linked(baseline.tree, baseline.files, folder)
        for number, each in enumerate(patches):
            apply_patch(each, folder, private / f"applying-{number}")
        patched = tree_of(folder)
        if tree is not None and digest(patched) != tree:
            raise VerifierError("The patch does not give the files that the agent left: it is not verified")
        back = [path for path in changed(baseline.tree, patched) if _the_tasks(task, path)]
        _put_back(back, baseline, folder)
    return CleanFiles(folder, tuple(_told(back)))


def _the_tasks(task: PreparedTask, path: bytes) -> bool:
    """Whether the task, and no patch, decides what is in a file."""
    told = os.fsdecode(path)
    name = told.rpartition("/")[2]
    home = f"{(task.place.home or '').strip('/')}/"
    of_home = task.place.home is not None and told.startswith(home)
    if of_home and told.removeprefix(home).partition("/")[0] in STEERING_AT_HOME:
        return True
    return any(fnmatch.fnmatchcase(name, each) for each in STEERING) or matches(told, task.protect)


def _put_back(paths: Iterable[bytes], baseline: TaskBaseline, folder: Path) -> None:
    own = []
    for path in paths:
        place = place_of(folder, path)
        if path in baseline.tree:
            own.append(path)
        elif place.is_symlink() or place.is_file():
            place.unlink()
    for path in own:
        _make_way(place_of(folder, path), folder)
    linked(_part(baseline.tree, own), baseline.files, folder)


def _make_way(place: Path, folder: Path) -> None:
    """Remove what stands in a file's place, and what is no folder on the way to it."""
    way = [each for each in reversed(place.parents) if each.is_relative_to(folder) and each != folder]
    for each in way:
        if each.is_symlink() or each.is_file():
            each.unlink()
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _part(tree: Tree, paths: Iterable[bytes]) -> Tree:
    return {path: tree[path] for path in paths}


def _told(paths: list[bytes]) -> Iterable[str]:
    if paths:
        names = ", ".join(in_one_line(path.decode("utf-8", "replace")) for path in paths[:MOST_NAMES])
        more = f" and {len(paths) - MOST_NAMES} more" if len(paths) > MOST_NAMES else ""
        yield f"put back for the verifier, as the task has it: {names}{more}"
