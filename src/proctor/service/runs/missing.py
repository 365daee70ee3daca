"""What of a run, or of its part, is still to be asked."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.engine.abreast import TRIES, Asking
from proctor.protocols import Source
from proctor.service.kinds import kind_of
from proctor.store import Store
from proctor.store.read.tried import SETTLED, tried
from proctor.types import Cell, Item, Run


def missing(store: Store, run: Run, cell: Cell, source: Source) -> Iterator[Asking]:
    """The askings of the run that have no outcome yet, in the run's order.

    A run that ends once a verdict is sure asks an item's repeats one after the other, since only an item that has all
    of them counts; what it has given up stays so.
    """
    known, repeats = tried(store, run.id), kind_of(cell.source).repeats
    shard, until_decided = cell.limits.shard, cell.limits.until_decided
    for repeat, position, item in _in_order(source, cell.repeats, by_item=until_decided):
        if shard is not None and not shard.holds(position, repeat):
            continue
        if repeat >= repeats(source, item, cell):
            continue
        attempt = known.look(item.id, repeat)
        if attempt != SETTLED and not (until_decided and attempt >= TRIES):
            yield Asking(item, position, repeat, attempt)


def _in_order(source: Source, repeats: int, *, by_item: bool) -> Iterator[tuple[int, int, Item]]:
    if by_item:
        for position, item in enumerate(source.items()):
            for repeat in range(repeats):
                yield repeat, position, item
        return
    for repeat in range(repeats):
        for position, item in enumerate(source.items()):
            yield repeat, position, item
