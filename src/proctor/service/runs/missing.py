"""What of a run, or of its part, is to be asked, and what of that is still missing."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.engine.attempts import Asking
from proctor.protocols import Source
from proctor.service.kinds import kind_of
from proctor.store import Store
from proctor.store.read.tried import SETTLED, tried
from proctor.types import Cell, Run


def missing(store: Store, run: Run, cell: Cell, source: Source) -> Iterator[Asking]:
    """The askings of the run that have no outcome yet, in the run's order."""
    known, repeats = tried(store, run.id), kind_of(cell.source).repeats
    shard = cell.limits.shard
    for repeat in range(cell.repeats):
        for position, item in enumerate(source.items()):
            if shard is not None and not shard.holds(position, repeat):
                continue
            if repeat >= repeats(source, item, cell):
                continue
            attempt = known.look(item.id, repeat)
            if attempt != SETTLED:
                yield Asking(item, position, repeat, attempt)


def planned(cell: Cell, source: Source) -> int:
    """How many askings the cell has; of a part, its own."""
    kind, shard = kind_of(cell.source), cell.limits.shard
    if shard is None:
        return kind.planned(source, cell)
    return sum(
        shard.holds(position, repeat)
        for position, item in enumerate(source.items())
        for repeat in range(kind.repeats(source, item, cell))
    )
