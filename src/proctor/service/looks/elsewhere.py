"""The same items under another name: a file that was rewritten and renamed is one more selection of its questions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from proctor.service.looks.choices import TRIAL
from proctor.store import Store
from proctor.store.read.elsewhere import SameItems, same_items_elsewhere
from proctor.types import Run

SOME, EVERY = 400, 20  # of the first rows of a run every so many stand for all of it


def selections_elsewhere(store: Store, runs: Sequence[Run], projects: Collection[int]) -> int:
    """How many other exams, of other sources, ask much of the same and have complete runs of all these models."""
    first = runs[0]
    rows = list(store.latest(first.id, limit=SOME))
    found = same_items_elsewhere(
        store,
        SameItems(
            projects,
            {(run.cell.model.provider, run.cell.model.name) for run in runs},
            {run.cell.source.listed for run in runs},
            {run.comparability for run in runs if run.comparability},
            {row.item_hash for row in rows[:: max(1, len(rows) // EVERY)]},
            int(TRIAL * first.planned / first.cell.repeats),
        ),
    )
    of_models = [{exam for model, exam in found if model == str(run.cell.model)} for run in runs]
    return len(set.intersection(*of_models))
