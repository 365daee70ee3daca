"""What of a run, or of its part, is still to be asked."""

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
