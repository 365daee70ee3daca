"""How many askings a cell has; a cell of one part, its own."""

from __future__ import annotations

from proctor.protocols import Source
from proctor.service.kinds import kind_of
from proctor.types import Cell


def planned(cell: Cell, source: Source) -> int:
    """Items times repeats, as the kind of source counts them."""
    kind, shard = kind_of(cell.source), cell.limits.shard
    if shard is None:
        return kind.planned(source, cell)
    return sum(
        shard.holds(position, repeat)
        for position, item in enumerate(source.items())
        for repeat in range(kind.repeats(source, item, cell))
    )
