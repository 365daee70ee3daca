"""What files a folder holds, as git would tell them, taken from folders that nobody vouches for.

Links are never followed, nothing but files and links is opened, and all is bounded: what cannot be taken is left out
and told.
"""

from __future__ import annotations

import fnmatch
import hashlib
import os
import stat
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proctor.errors import SandboxError
from proctor.printable import in_one_line

FILE, PROGRAM, LINK = "100644", "100755", "120000"
MOST_ENTRIES = 200_000
MOST_PATH = 1_000  # bytes
MOST_FILE = 5_000_000  # bytes of a file that is new or changed
COMPILED = (b"*.pyc", b"*.pyo")
CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file or link: its mode in git's words, its bytes, and SHA-1 as git names what is in it."""

    mode: str
    size: int
    blob: str


Tree = Mapping[bytes, TreeEntry]
NO_TREE: Tree = {}


class TooMuch(Exception):
    """A folder holds more than is taken of anybody."""


@dataclass(slots=True)
class NotTaken:
    """What of a folder was not taken, and why: sentences for people, with the first few names."""

    names: defaultdict[str, list[bytes]] = field(default_factory=lambda: defaultdict(list))
    too_large: bool = False

    def add(self, why: str, path: bytes) -> None:
        self.names[why].append(path)

    def __iter__(self) -> Iterator[str]:
        for why, paths in self.names.items():
            told = ", ".join(in_one_line(path.decode("utf-8", "replace"))[:120] for path in sorted(paths)[:3])
            more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
            yield f"left out, {why}: {told}{more}"


def tree_of(root: Path) -> Tree:
    """All of a folder that is our own."""
    return Walk(root, bounded=False).taken()


def digest(tree: Tree) -> str:
    """SHA-256 over names, modes and contents of all entries, in the order of their names."""
    found = hashlib.sha256()
    for path in sorted(tree):
        found.update(b"%s\0%s %s\0" % (path, tree[path].mode.encode(), tree[path].blob.encode()))
    return found.hexdigest()


@dataclass(slots=True)
class Walk:
    """A walk through a folder, or some folders in it, which alone may be links of ours.

    `known` is what was in it before: what of it grew too large stays as it was.
    Every `.git` is left out wherever it stands, and so is compiled Python, which would be run in place of its source.
    """

    root: Path
    known: Tree = field(default_factory=dict)
    until: float | None = None  # monotonic
    parts: Sequence[str] = ("",)
    bounded: bool = True  # files of our own are taken whatever their size
    left_out: NotTaken = field(default_factory=NotTaken)
    seen: int = 0

    def taken(self) -> dict[bytes, TreeEntry]:
        """Raises: TooMuch; SandboxError where the folder cannot be read, or not in time."""
        try:
            return dict(self._entries())
        except OSError as error:
            raise SandboxError(f"{self.root} could not be read: {error}") from None

    def _entries(self) -> Iterator[tuple[bytes, TreeEntry]]:
        below = [
            os.fsencode(f"{part}/") if part else b"" for part in self.parts if (self.root / part).is_dir()
        ]
        while below:
            folder = below.pop()
            for each in self._scanned(folder):
                path = folder + os.fsencode(each.name)
                kind = each.stat(follow_symlinks=False)
                if not self._wanted(path, kind.st_mode):
                    continue
                if stat.S_ISDIR(kind.st_mode):
                    below.append(path + b"/")
                    continue
                entry = self._entry(path, kind)
                if entry is not None:
                    yield path, entry

    def _scanned(self, folder: bytes) -> Iterator[os.DirEntry[str]]:
        place = place_of(self.root, folder)
        try:
            found = os.scandir(place)
        except PermissionError:
            place.chmod(0o700)
            found = os.scandir(place)
        with found:
            for each in found:
                self.seen += 1
                if self.seen > MOST_ENTRIES:
                    raise TooMuch(f"more than {MOST_ENTRIES:,} files and folders")
                yield each

    def _wanted(self, path: bytes, mode: int) -> bool:
        name = path.rpartition(b"/")[2]
        if self.until is not None and time.monotonic() > self.until:
            raise SandboxError(f"{self.root} could not be read in time")
        if name.lower() == b".git":
            if path != b".git":
                self.left_out.add("history of its own", path)
        elif len(path) > MOST_PATH:
            self.left_out.add("too deep or too long a name", path)
        elif path in self.known or not any(fnmatch.fnmatchcase(name, each) for each in COMPILED):
            if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode):
                return True
            self.left_out.add("no file, folder or link", path)
        return False

    def _entry(self, path: bytes, kind: os.stat_result) -> TreeEntry | None:
        place, before = place_of(self.root, path), self.known.get(path)
        if stat.S_ISLNK(kind.st_mode):
            target = os.fsencode(place.readlink())
            if not _is_text(target):
                self.left_out.add("a link to a name that is no UTF-8", path)
                return before
            return TreeEntry(LINK, len(target), _blob(target))
        if self.bounded and kind.st_size > MOST_FILE and (before is None or before.size != kind.st_size):
            self.left_out.add(f"larger than {MOST_FILE // 1_000_000} MB", path)
            self.left_out.too_large = True
            return before
        mode = PROGRAM if kind.st_mode & 0o100 else FILE
        return TreeEntry(mode, kind.st_size, _hashed(place, kind.st_size))


def place_of(root: Path, path: bytes) -> Path:
    return root / os.fsdecode(path)


def read_entry(root: Path, path: bytes, entry: TreeEntry) -> bytes:
    place = place_of(root, path)
    if entry.mode == LINK:
        return os.fsencode(place.readlink())
    with open(_opened(place), "rb") as file:
        return file.read()


def _opened(place: Path) -> int:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(place, flags)
    except PermissionError:
        place.chmod(0o600)
        return os.open(place, flags)


def _hashed(place: Path, size: int) -> str:
    found = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with open(_opened(place), "rb") as file:
        while chunk := file.read(CHUNK):
            found.update(chunk)
    return found.hexdigest()


def _blob(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body, usedforsecurity=False).hexdigest()


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in body
