"""The files of a task as a mapping, so that they can be changed and hashed before anything is written."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from proctor.sources.rollouts.faults import TaskFaults

LEFT_OUT = {"__pycache__", ".git"}  # of no task, wherever they stand: what was compiled, and history


@dataclass(frozen=True, slots=True)
class TaskFile:
    """One file: of this machine at `source`, else `body`; or a link to `link`. `runs` where it is executable."""

    source: Path | None = None
    body: bytes = b""
    link: str | None = None
    runs: bool = False

    @property
    def content(self) -> bytes:
        """Raises: OSError."""
        if self.link is not None:
            return self.link.encode()
        return self.body if self.source is None else self.source.read_bytes()

    @property
    def sha256(self) -> str:
        if self.source is None:
            return hashlib.sha256(self.content).hexdigest()
        with self.source.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()


Tree = Mapping[str, TaskFile]  # by the path relative to the task's folder, with slashes


def tree_of(folder: Path, roots: Iterable[str], faults: TaskFaults) -> dict[str, TaskFile]:
    """The files and links below `roots` of the folder; what is neither is a fault."""
    found: dict[str, TaskFile] = {}
    for root in roots:
        if (folder / root).is_symlink():
            faults.add(root, "is a link, and must be what it stands for")
            continue
        for path in _below(folder / root):
            _add(found, folder, path, faults)
    return found


def _below(place: Path) -> Iterator[Path]:
    """The files below a folder, links to folders among them; a file is itself."""
    if not place.is_dir():
        yield from (each for each in (place,) if each.exists())
        return
    for here, folders, names in os.walk(place):
        linked = [name for name in folders if Path(here, name).is_symlink()]
        folders[:] = [name for name in folders if name not in LEFT_OUT and name not in linked]
        yield from (Path(here, name) for name in (*names, *linked) if name not in LEFT_OUT)


def _add(found: dict[str, TaskFile], folder: Path, path: Path, faults: TaskFaults) -> None:
    name = path.relative_to(folder).as_posix()
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        found[name] = TaskFile(link=str(path.readlink()))
    elif stat.S_ISREG(mode):
        found[name] = TaskFile(path, runs=bool(mode & 0o100))
    else:
        faults.add(name, "is neither a file nor a link")


def links_out(tree: Tree, faults: TaskFaults) -> None:
    """A link that may lead out of the part of the task that it stands in is a fault.

    JsonTold by its words alone: it goes up first, no further than to the top of the part, and then down.
    """
    for name, piece in tree.items():
        if piece.link is None:
            continue
        steps = PurePosixPath(piece.link).parts
        up = sum(step == ".." for step in steps)
        deep = len(PurePosixPath(name).parts) - 2  # folders between it and the top of its part
        if piece.link.startswith("/") or up > max(deep, 0) or ".." in steps[up:]:
            faults.add(name, f"is a link that leads out of {name.partition('/')[0]}, to {piece.link}")


def through_link(tree: Tree, path: str) -> str | None:
    """The link of the tree that a path would go through; None where there is none."""
    parents = [str(each) for each in PurePosixPath(path).parents]
    return next((each for each in parents if each in tree and tree[each].link is not None), None)


def digest(tree: Tree) -> str:
    """SHA-256 over the names, kinds and contents of all files, in the order of their names."""
    found = hashlib.sha256()
    for name in sorted(tree):
        piece = tree[name]
        kind = b"l" if piece.link is not None else b"x" if piece.runs else b"-"
        found.update(name.encode("utf-8", "surrogateescape") + b"\0" + kind + bytes.fromhex(piece.sha256))
    return found.hexdigest()


def write(tree: Tree, folder: Path, folders: Iterable[str] = ()) -> None:
    """Write all files below a new folder, with modes of their own: 0755 where a file runs, 0644 elsewhere.

    `folders` are there afterwards, with or without files.
    """
    for name in ("", *folders):
        (folder / name).mkdir(parents=True)
    for name in sorted(tree):
        piece, place = tree[name], folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if piece.link is not None:
            place.symlink_to(piece.link)
            continue
        if piece.source is None:
            place.write_bytes(piece.body)
        else:
            shutil.copyfile(piece.source, place, follow_symlinks=False)
        place.chmod(0o755 if piece.runs else 0o644)
