"""Paths inside a task: no way out of its folder, and globs over them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import PurePosixPath

PARTS = re.compile(r"\*\*/?|\*|\?|\[!?[^\]]+\]|[^*?\[]+|\[")


def outside(path: str) -> str | None:
    """Why a path that somebody wrote may not stand for a file of the folder; None where it may."""
    if not path or path.endswith("/") or PurePosixPath(path) == PurePosixPath("."):
        return "names no file"
    if path.startswith(("/", "~")) or "\\" in path:
        return "is no path relative to the folder"
    if "\0" in path or any(ord(sign) < 32 for sign in path):
        return "holds a control character"
    if ".." in PurePosixPath(path).parts:
        return "leads out of the folder"
    if ".git" in PurePosixPath(path).parts:
        return "is inside of a .git, and a task has no history"
    return None


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or a folder that it is in, fits one of the globs: `*` within a name, `**` over folders.

    >>> matches("src/deep/one.py", ["src/**/*.py"]), matches("src/one.py", ["*.py"]), matches("a/b/c", ["a/b"])
    (True, False, True)
    """
    return any(_compiled(pattern).match(path) is not None for pattern in patterns)


def is_glob(pattern: str) -> bool:
    return any(sign in pattern for sign in "*?[")


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    told = pattern.strip().removeprefix("./").rstrip("/")
    for parts in (map(_part, PARTS.findall(told)), [re.escape(told)]):
        try:
            return re.compile("".join(parts) + r"(?:/.*)?\Z", re.DOTALL)
        except re.error:  # a range that runs backwards, as in [z-a]: such a pattern means itself
            continue
    raise AssertionError("a text that is escaped is a pattern")


def _part(part: str) -> str:
    if part == "**/":
        return "(?:.*/)?"
    if part == "**":
        return ".*"
    if part == "*":
        return "[^/]*"
    if part == "?":
        return "[^/]"
    if part.startswith("[") and part.endswith("]") and len(part) > 1:
        body = part[1:-1]
        return f"[^{re.escape(body[1:])}/]" if body.startswith("!") else f"[{_class(body)}]"
    return re.escape(part)


def _class(body: str) -> str:
    return re.escape(body).replace(r"\-", "-")
