"""What a long-lived program holds: its settings and one open store, for all its requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proctor.service.runs import open_store
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.walls import Reach


@dataclass(frozen=True, slots=True)
class Desk:
    settings: Settings
    store: Store

    def within(self, reach: Reach) -> Desk:
        """The desk of somebody who reaches these projects: its store gives nothing else away."""
        return replace(self, store=self.store.within(reach))


@contextmanager
def open_desk(settings: Settings) -> Iterator[Desk]:
    """Raises StoreError if the folder or the database cannot be opened."""
    with open_store(settings) as store:
        yield Desk(settings, store)
