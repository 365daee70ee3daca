"""Whether a plan's limit of tokens is known to be too low: replies of the model's last run like it that were cut."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.service.context import Context
from proctor.service.results.profile import counted_tally
from proctor.types import Cell, Outcome, Status

LOOKED_AT = 20  # of a model's newest runs
LEAST = 2048  # tokens that are offered instead
TIMES = 4
SOME = 0.01  # of the replies: fewer that were cut are no reason to ask otherwise


@dataclass(frozen=True, slots=True)
class CutShort:
    """`cut` of `count` replies of a model ended at `tokens` before an answer; `enough` is what may do instead."""

    model: str
    run_id: str
    cut: int
    count: int
    tokens: int
    enough: int


def cut_short(context: Context, cell: Cell) -> CutShort | None:
    """By the last such run of the model on the same source; None where hardly any reply was cut, or none is known."""
    most = cell.sampling.max_tokens
    if most is None:
        return None
    for run in context.store.runs(limit=LOOKED_AT, model=str(cell.model), status=Status.COMPLETED):
        same = run.cell.source.name == cell.source.name and run.cell.sampling == cell.sampling
        if not same or str(run.cell.model) != str(cell.model):
            continue
        outcomes = counted_tally(context.store, run).outcomes
        cut, count = outcomes.get(Outcome.TRUNCATED, 0), sum(outcomes.values())
        if cut < max(1, SOME * count):
            return None
        return CutShort(str(cell.model), run.id, cut, count, most, max(LEAST, TIMES * most))
    return None
