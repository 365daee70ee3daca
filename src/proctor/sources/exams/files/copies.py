"""Questions that stand in a file more than once: found, told, and made one cluster with what else hangs together."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.sources.exams.items import short_hash

Node = tuple[str, Hashable]  # NAMED and a name of the file, or COPIES and what the copies ask
NAMED, COPIES = "named", "copies"


@dataclass(frozen=True, slots=True)
class Copies:
    """How many questions stand more than once, in how many rows, and the places of two copies that disagree."""

    questions: int
    rows: int
    first: tuple[int, int]
    differing: tuple[tuple[int, int], ...] = ()


def alike(asked: Any) -> Any:
    """What is asked, as copies of it are alike: without case, spaces, forms of a letter and marks at the end.

    >>> alike("What is  2 + 2? "), alike(["A  cat.", 3])
    ('what is 2 + 2', ['a cat', 3])
    """
    if isinstance(asked, str):
        text = asked if asked.isascii() else unicodedata.normalize("NFKC", asked)
        words = " ".join(text.casefold().split())
        return words.rstrip(" .?!:") or words
    if isinstance(asked, Mapping):
        return {name: alike(value) for name, value in asked.items()}
    return [alike(each) for each in asked] if isinstance(asked, list | tuple) else asked


class Clusters:
    """What hangs together: trees of the file's own names for clusters and of questions that have copies.

    A root is the name that stands first in the file, or a question where none of its copies has a name.
    """

    def __init__(self) -> None:
        self._above: dict[Node, Node] = {}

    def root(self, node: Node) -> Node:
        above = self._above
        while (parent := above.get(node, node)) != node:
            above[node] = above.get(parent, parent)
            node = parent
        return node

    def join(self, copies: Node, named: Node) -> None:
        first, second = self.root(copies), self.root(named)
        if first == second:
            return
        if first[0] == COPIES:
            first, second = second, first
        self._above[second] = first


def clustered(
    keys: Sequence[Hashable], names: Sequence[str | None], rights: Sequence[frozenset[str]]
) -> tuple[list[str | None], Copies | None]:
    """Each row's cluster, None where it stands alone, and what there is to tell of copies.

    `keys` are what a row asks (equal for copies), `names` the clusters that the file gives, `rights` the texts
    of the right answers. Clusters that share a question become one. Time is linear in the rows, nearly.
    """
    first: dict[Hashable, int] = {}
    again = [(first[key], place) for place, key in enumerate(keys) if first.setdefault(key, place) != place]
    copied = {keys[one] for one, _ in again}
    trees = Clusters()
    for key, name in zip(keys, names, strict=True) if copied else ():
        if name is not None and key in copied:
            trees.join((COPIES, key), (NAMED, name))
    found: list[str | None] = []
    for key, name in zip(keys, names, strict=True):
        alone = name is None and key not in copied
        found.append(None if alone else _named(trees.root((COPIES, key) if name is None else (NAMED, name))))
    differing = tuple((one, two) for one, two in again if rights[one] != rights[two])
    return found, Copies(len(copied), len(copied) + len(again), again[0], differing) if again else None


def _named(root: Node) -> str:
    """A root's short name; that of a file's own cluster is the one it has without copies."""
    kind, what = root
    return short_hash(str(what) if kind == NAMED else repr(what))
