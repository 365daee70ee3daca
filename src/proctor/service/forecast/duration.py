"""How long a job will take, said at its submission: before its rows are opened, from the size that was asked for."""

from __future__ import annotations

from proctor.service.context import Context
from proctor.service.forecast.forecast import duration_words
from proctor.service.kinds import kind_of
from proctor.types import Cell, Status

LAST_RUNS = 5
ASSUMED_S = (1.0, 3.0)  # a call, where nothing is known: one at a time on a local server
LEAST_SPREAD = 0.2


def estimated_duration(context: Context, cell: Cell, *, calls: int | None = None) -> tuple[str, str]:
    """A range such as "10-30 minutes", and what it rests on: the model's last runs, or an assumption.

    `calls` is how many there will be, where the rows are open already.
    """
    if calls is None:
        kind = kind_of(cell.source)
        calls = kind.sized(cell.source, context) * kind.wordings(cell.source) * cell.repeats
    runs = context.store.runs(limit=50, model=str(cell.model), status=Status.COMPLETED)
    alike = [run for run in runs if run.settled and run.elapsed_s and not run.cell.source.imported]
    same = [run for run in alike if run.cell.source.name == cell.source.name]
    chosen = (same or alike)[:LAST_RUNS]
    if not chosen:
        low, high = ASSUMED_S
        basis = f"no earlier run of {cell.model}: {low:g} to {high:g} s a call assumed for {calls:,} calls"
        return duration_words(low * calls, high * calls), basis
    paces = [run.elapsed_s / run.settled for run in chosen]
    low, high = min(paces) * (1 - LEAST_SPREAD), max(paces) * (1 + LEAST_SPREAD)
    word = "run" if len(chosen) == 1 else f"{len(chosen)} runs"
    where = "of this suite" if same else "of other questions"
    return duration_words(low * calls, high * calls), f"its last {word} {where}, for {calls:,} calls"
