"""What every use case is given: settings and one open store; and which run a word means."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from proctor.errors import NotFound
from proctor.settings import Settings
from proctor.store import Store
from proctor.store.core.walls import Reach
from proctor.types import Run

LEASE_S = 30.0


@dataclass(frozen=True, slots=True)
class Context:
    settings: Settings
    store: Store

    @property
    def reach(self) -> Reach:
        """How far all that is read reaches; part of the key of whatever is kept for several readers."""
        return self.store.reach

    def within(self, reach: Reach) -> Context:
        """The context of somebody who reaches these projects: its store gives nothing else away."""
        return replace(self, store=self.store.within(reach))


@contextmanager
def open_context(settings: Settings) -> Iterator[Context]:
    """Raises StoreError if the folder or the database cannot be opened."""
    with open_store(settings) as store:
        yield Context(settings, store)


@contextmanager
def open_store(settings: Settings) -> Iterator[Store]:
    """Raises StoreError if the folder or the database cannot be opened."""
    store = Store.open(settings.database_url)
    try:
        yield store
    finally:
        store.close()


def find(store: Store, ident: str) -> list[Run]:
    """The run with this id, or the runs of the plan with it; a unique beginning is enough.

    Raises NotFound.
    """
    try:
        return [store.run(ident)]
    except NotFound as missing:
        runs = store.plan_runs(ident)
        if not runs:
            raise missing
        return runs


def runs_named(context: Context, idents: Iterable[str]) -> list[Run]:
    """The runs that words mean, in their order; see `find`. Raises NotFound."""
    return [run for ident in idents for run in find(context.store, ident)]


def dead_owner(store: Store, run_id: str) -> str | None:
    """The run's owner, if it was a process of this machine that no longer lives."""
    owner = store.owner_of(run_id)
    return owner if gone(owner) else None


def gone(owner: str | None) -> bool:
    """Whether a run has an owner, and that was a process of this machine that no longer lives."""
    return owner is not None and is_gone(owner)


def is_gone(owner: str) -> bool:
    """Whether an owner was a process of this machine that no longer lives."""
    host, _, pid = owner.rpartition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False
