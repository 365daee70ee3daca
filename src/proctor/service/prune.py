"""`proctor prune`: runs that are older than anybody needs, deleted with everything that is theirs alone."""

from __future__ import annotations

import time
from dataclasses import dataclass

from proctor.service.access import note
from proctor.store import Store, pruning


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted, or with `dry` would be: `runs` by id, and counts of plans and items."""

    runs: tuple[str, ...]
    plans: int
    items: int
    dry: bool


def prune(store: Store, older_s: float, *, by: str, dry: bool = False) -> Pruned:
    """Delete runs that ended longer ago than `older_s`; never one that waits or works."""
    found = tuple(pruning.ended_before(store, time.time() - older_s))
    if dry:
        return Pruned(found, 0, 0, True)
    removed = pruning.remove(store, found)
    plans, items = pruning.remove_orphans(store)
    note(store, by, "prune", f"{removed} runs", f"older than {older_s / 86400:g} days")
    return Pruned(found, plans, items, False)
