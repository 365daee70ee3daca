"""Items that show the same under several ids, in one task or in several: they and their clusters are one unit.

Sources give copies one cluster when they are opened. This finds what no source could: copies in two tasks of a suite,
in logs of other tools, and in runs of older versions. Only what is the same to the letter is found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from proctor.stats.estimates_sheet import base_id
from proctor.stats.metrics import Scored

Node = tuple[str, str, str]  # what it is, and its name: an item or a cluster by task, or a content


def together(rows: Iterable[Scored], *, worded: bool) -> Sequence[Scored]:
    """The rows of a run, those of copies with the name of what they hang together with."""
    known = list(rows)
    first: dict[str, tuple[str, str]] = {}
    copied = set()
    for row in known:
        mine = (row.task, base_id(row.item, worded))
        if row.content and first.setdefault(row.content, mine) != mine:
            copied.add(row.content)
    if not copied:
        return known
    return _joined(known, copied, worded)


def _joined(rows: Sequence[Scored], copied: set[str], worded: bool) -> Sequence[Scored]:
    above: dict[Node, Node] = {}

    def root(node: Node) -> Node:
        while (parent := above.get(node, node)) != node:
            above[node] = above.get(parent, parent)
            node = parent
        return node

    for row in rows:
        if row.content in copied:
            one, other = root(_owner(row, worded)), root(("content", "", row.content))
            # The name that sorts first leads, so that the order of rows changes nothing.
            above[max(one, other)] = min(one, other)
    held = {node for pair in above.items() for node in pair}
    owners = [_owner(row, worded) for row in rows]
    return [
        replace(row, together=" ".join(root(owner))) if owner in held else row
        for row, owner in zip(rows, owners, strict=True)
    ]


def _owner(row: Scored, worded: bool) -> Node:
    if row.cluster is not None:
        return "cluster", row.task, row.cluster
    return "item", row.task, base_id(row.item, worded)
