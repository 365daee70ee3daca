"""A patch as pages show it: files, hunks and lines with their numbers. Bounded, for an agent wrote it.

The format is that of `git diff`: https://git-scm.com/docs/diff-format
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

MOST_FILES = 300
MOST_LINES = 5_000  # of the whole patch
LINE_CHARACTERS = 1_000

Change = Literal["modified", "added", "deleted", "renamed"]
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")


@dataclass(frozen=True, slots=True)
class PatchLine:
    """A line of a hunk: " ", "+", "-", or "\\\\" for a note; its numbers in the old and the new file."""

    mark: str
    old: int | None
    new: int | None
    text: str


@dataclass(frozen=True, slots=True)
class PatchHunk:
    header: str
    lines: tuple[PatchLine, ...]


@dataclass(frozen=True, slots=True)
class PatchFile:
    """What a patch does to one file. `added` and `removed` count all of its lines, shown or not."""

    path: str
    change: Change
    added: int
    removed: int
    binary: bool = False
    old_path: str | None = None
    hunks: tuple[PatchHunk, ...] = ()


@dataclass(frozen=True, slots=True)
class PatchView:
    """A patch. `cut`: not all of its files or lines are here; the counts are of all of them."""

    files: tuple[PatchFile, ...] = ()
    added: int = 0
    removed: int = 0
    cut: bool = False
    characters: int = 0


@dataclass(slots=True)
class _Hunk:
    header: str
    old: int
    new: int
    old_left: int
    new_left: int
    lines: list[PatchLine] = field(default_factory=list)

    @property
    def full(self) -> bool:
        return self.old_left <= 0 and self.new_left <= 0


@dataclass(slots=True)
class _File:
    path: str
    change: Change = "modified"
    old_path: str | None = None
    binary: bool = False
    added: int = 0
    removed: int = 0
    hunks: list[_Hunk] = field(default_factory=list)

    def told(self) -> PatchFile:
        hunks = tuple(PatchHunk(each.header, tuple(each.lines)) for each in self.hunks)
        return PatchFile(self.path, self.change, self.added, self.removed, self.binary, self.old_path, hunks)


def view_of(patch: str) -> PatchView:
    """What a patch says; what is no patch has no files.

    >>> view = view_of("diff --git a/x b/x\\n--- a/x\\n+++ b/x\\n@@ -1 +1 @@\\n-old\\n+new\\n")
    >>> view.files[0].path, view.added, [line.mark for line in view.files[0].hunks[0].lines]
    ('x', 1, ['-', '+'])
    """
    files: list[_File] = []
    shown = 0
    for line in _lines(patch):
        hunk = files[-1].hunks[-1] if files and files[-1].hunks else None
        if hunk is not None and (not hunk.full or line.startswith("\\")):
            shown += _take(files[-1], hunk, line, keep=shown < MOST_LINES)
        elif line.startswith("diff --git "):
            files.append(_File(_path(line)))
        elif files:
            _head(files[-1], line)
    return PatchView(
        tuple(each.told() for each in files[:MOST_FILES]),
        sum(each.added for each in files),
        sum(each.removed for each in files),
        shown > MOST_LINES or len(files) > MOST_FILES,
        len(patch),
    )


def _lines(patch: str) -> Iterator[str]:
    """Ended by newlines alone: what else ends lines may stand inside one."""
    begin = 0
    while begin < len(patch):
        end = patch.find("\n", begin)
        end = len(patch) if end < 0 else end
        yield patch[begin:end]
        begin = end + 1


def _take(file: _File, hunk: _Hunk, line: str, *, keep: bool) -> int:
    mark = line[:1] or " "
    old = hunk.old if mark in " -" else None
    new = hunk.new if mark in " +" else None
    hunk.old += old is not None
    hunk.new += new is not None
    hunk.old_left -= old is not None
    hunk.new_left -= new is not None
    file.added += mark == "+"
    file.removed += mark == "-"
    if keep:
        hunk.lines.append(PatchLine(mark, old, new, line[1 : 1 + LINE_CHARACTERS]))
    return 1


def _head(file: _File, line: str) -> None:
    """A line between `diff --git` and the first hunk, or a hunk's first one."""
    if (found := _HUNK.match(line)) is not None:
        old, old_lines, new, new_lines = found.groups()
        file.hunks.append(_Hunk(line, int(old), int(new), int(old_lines or 1), int(new_lines or 1)))
    elif line.startswith("new file mode"):
        file.change = "added"
    elif line.startswith("deleted file mode"):
        file.change = "deleted"
    elif line.startswith("rename from "):
        file.change, file.old_path = "renamed", line.removeprefix("rename from ")
    elif line.startswith("rename to "):
        file.path = line.removeprefix("rename to ")
    elif line.startswith(("GIT binary patch", "Binary files ")):
        file.binary = True


def _path(line: str) -> str:
    """The file's name after the change: names with odd characters stand in quotes, as git writes them."""
    told = line.removeprefix("diff --git ")
    if told.endswith('"') and ' "b/' in told:
        return told[told.rindex(' "b/') + 4 : -1]
    half = told[2 : (len(told) - 1) // 2]  # "a/NAME b/NAME" says the same name twice
    return half if told == f"a/{half} b/{half}" else told.rpartition(" b/")[2]
