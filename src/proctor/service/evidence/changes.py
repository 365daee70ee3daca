"""How a model moved from one run to its next of the same exam: counted once, at the end or at first need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from proctor import __version__
from proctor.errors import StoreError
from proctor.findings import Difference, Estimate
from proctor.service.results.results import marks, shape
from proctor.stats.compare import differences
from proctor.store import Store
from proctor.store.read.lists import RunLine, before
from proctor.store.write import changes
from proctor.store.write.changes import Step
from proctor.types import Run

__all__ = ["Step", "change", "changed", "count", "steps"]


def steps(lines: Sequence[RunLine]) -> list[Step]:
    """Each complete run of the lines, newest first, with the one before it that was asked the same."""
    found: list[Step] = []
    later: dict[tuple[str | None, ...], RunLine] = {}
    for line in lines:
        if not line.complete or line.comparability is None:
            continue
        asked = (line.full_model, line.exam, line.comparability)
        if asked in later:
            found.append(_step(later[asked], line))
        later[asked] = line
    return found


def _step(run: RunLine, earlier: RunLine) -> Step:
    return Step(run.id, run.finished_at or 0.0, earlier.id, earlier.finished_at or 0.0)


def changed(store: Store, wanted: Sequence[Step]) -> dict[str, Difference]:
    """The changes by the ids of the later runs; what was not kept yet is counted, and kept from now on."""
    known = changes.read(store, wanted, __version__)
    found: dict[str, Difference] = {}
    for step in wanted:
        kept = known.get(step)
        found[step.run] = _counted(store, step) if kept is None else _difference(kept)
    return found


def change(store: Store, run: Run, earlier: Run) -> Difference:
    """The change between two ended runs that were asked the same."""
    step = Step(run.id, run.finished_at or 0.0, earlier.id, earlier.finished_at or 0.0)
    return changed(store, [step])[run.id]


def count(store: Store, run_id: str) -> None:
    """What is counted when a run has ended; killed before that, it is counted where it is first needed."""
    if (pair := before(store, run_id)) is not None:
        changed(store, [_step(*pair)])


def _counted(store: Store, step: Step) -> Difference:
    run, earlier = store.run(step.run), store.run(step.before)
    found = differences(list(marks(store, run)), list(marks(store, earlier)), shape(run), tasks=False)[0]
    if found.path is None:
        with suppress(StoreError):  # a full or read-only disk is no reason to show nothing
            changes.keep(store, step, __version__, asdict(found))
    return found


def _difference(kept: Mapping[str, Any]) -> Difference:
    return Difference(**{**kept, "estimate": Estimate(**kept["estimate"])})
