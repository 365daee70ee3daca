"""How long a job will take, said at its submission: before its rows are opened, from the size that was asked for."""

from __future__ import annotations

from pathlib import Path

from proctor.service.context import Context
from proctor.service.forecast.forecast import duration_words
from proctor.sources.exams.rows.normal_form import read_sample
from proctor.sources.exams.tables.tasks import SUITES, TASKS
from proctor.types import Cell, SourceRef, Status

PRESETS = {"quick": 200, "standard": 2000}
LAST_RUNS = 5
ASSUMED_S = (1.0, 3.0)  # a call, where nothing is known: one at a time on a local server
LEAST_SPREAD = 0.2


def estimated_duration(context: Context, cell: Cell, *, calls: int | None = None) -> tuple[str, str]:
    """A range such as "10-30 minutes", and what it rests on: the model's last runs, or an assumption.

    `calls` is how many there will be, where the rows are open already.
    """
    if calls is None:
        calls = items_of(cell.source) * cell.repeats * (3 if cell.source.wording == "all" else 1)
    runs = context.store.runs(limit=50, model=str(cell.model), status=Status.COMPLETED)
    alike = [run for run in runs if run.settled and run.elapsed_s and run.cell.source.kind != "log"]
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


def items_of(source: SourceRef) -> int:
    """How many items a suite's reference asks for, as far as that is known without its rows."""
    suite = SUITES.get(source.name)
    keys = source.tasks
    if suite and not keys:
        keys = tuple(task.key for task in suite.tasks if not task.extra or source.preset == "full")
    known = [key for key in keys if key in TASKS]
    if source.rows == "sample":
        sizes = [len(found.rows) for found in read_sample(known, Path(), "eval").values()]
    else:
        sizes = [TASKS[key].official_size or 0 for key in known]
    if source.limit:
        return sum(min(source.limit, size) for size in sizes) or source.limit
    whole = sum(sizes)
    return (
        min(whole, PRESETS.get(source.preset or "", whole)) if whole else PRESETS.get(source.preset or "", 0)
    )
