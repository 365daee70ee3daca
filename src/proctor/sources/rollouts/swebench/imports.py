"""What Python files import of others: modules that are neither of the standard library nor of the repository."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

_MODULE = re.compile(r"[A-Za-z_]\w*")


def imported(files: Mapping[str, bytes], paths: Iterable[str]) -> list[str]:
    """The foreign modules that `files` import at their beginning, whatever happens; sorted.

    `paths` are all files of the repository: a module that one of them is called after is its own.
    """
    own = {part for path in paths for part in _names(path)}
    found = {name for body in files.values() for name in _at_top(body)}
    return sorted(name for name in found if name not in own and name not in sys.stdlib_module_names)


def _names(path: str) -> Iterator[str]:
    if path.endswith(".py"):
        place = PurePosixPath(path)
        yield from (place.stem, *place.parts[:-1])


def _at_top(body: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(body)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return
    for each in tree.body:
        if isinstance(each, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in each.names)
        elif isinstance(each, ast.ImportFrom) and each.level == 0 and each.module:
            name = each.module.partition(".")[0]
            yield from (name,) if _MODULE.fullmatch(name) else ()
