"""Runs that nobody needs any more, old ones or a single one, deleted with everything that is theirs alone."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.errors import Conflict, NotFound
from proctor.service.admin.access import note
from proctor.service.context import Context
from proctor.service.kinds import kind_of
from proctor.store.admin import pruning
from proctor.store.core.runs import ID_CHARACTERS
from proctor.store.queue import runlog
from proctor.store.read.batches import files as batch_files
from proctor.types import Run


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was deleted, or with `dry` would be: `runs` by id, and counts of plans and items."""

    runs: tuple[str, ...]
    plans: int
    items: int
    dry: bool


def prune(context: Context, older_s: float, *, by: str, dry: bool = False) -> Pruned:
    """Delete runs that ended longer ago than `older_s`, and their logs below `home`; never one that waits or works."""
    found = tuple(pruning.ended_before(context.store, time.time() - older_s))
    if dry:
        return Pruned(found, 0, 0, True)
    runs = {run_id: context.store.run(run_id) for run_id in found}
    removed = pruning.remove(context.store, found)
    _remove_folders(context, [runs[run_id] for run_id in removed])
    plans, items = pruning.remove_orphans(context.store)
    runlog.remove(context.settings.home, removed)
    batch_files.forget(context.settings.home, removed)
    note(context, by, "prune", f"{len(removed)} runs", f"older than {older_s / 86400:g} days")
    return Pruned(tuple(removed), plans, items, False)


def delete(context: Context, run_id: str) -> None:
    """Delete one ended run by its whole id, and its log below `home`, if it was written on this machine.

    Raises NotFound; Conflict if the run waits or works.
    """
    missing = NotFound(f"Benchmark job {run_id} not found")
    if len(run_id) != ID_CHARACTERS:
        raise missing
    try:
        run = context.store.run(run_id)
    except NotFound:
        raise missing from None
    # What nobody's run needs any more is only known where all runs are seen.
    if not pruning.remove(context.store.whole, (run_id,)):
        raise Conflict(f"Benchmark job {run_id} is {run.status}: cancel it before it is deleted")
    _remove_folders(context, [run])
    pruning.remove_orphans(context.store.whole)
    runlog.remove(context.settings.home, (run_id,))
    batch_files.forget(context.settings.home, (run_id,))


def _remove_folders(context: Context, runs: Sequence[Run]) -> None:
    """What runs that were deleted wrote below `home`, as far as it is on this machine. No link is followed."""
    store = context.store.whole
    for run in runs:
        kind_of(run.cell.source).forget(run, context)
        last = not pruning.has_runs(store, run.plan_id)
        for path in kind_of(run.cell.source).folders(run.cell.source, context.settings, last):
            if path.is_symlink() or path.is_file():
                path.unlink(missing_ok=True)
            else:
                shutil.rmtree(path, ignore_errors=True)
