"""A run of one part of a whole whose other parts are asked elsewhere: how it begins, goes on and ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proctor.references import BatchRef, RolloutsRef
from proctor.store import Store
from proctor.types import Cell, Limits, Model, Plan, Run


def of_whole(cell: Cell) -> Cell:
    """What is asked, without who asks which part of it, where, for how long, and into which files."""
    source, model = cell.source, cell.model
    if isinstance(source, BatchRef):
        source = replace(source, out=None)
    if isinstance(source, RolloutsRef):
        source = replace(source, stamp="", first=0, data="", config=None)
    return replace(cell, source=source, model=Model(model.provider, model.name), limits=Limits())


def begun(store: Store, plan: Plan) -> Sequence[Run]:
    """The runs of this store that the same words began for the same part: they go on, so that a task of an array job
    that is started again asks nothing twice. None where something else is asked, or no part.
    """
    found: list[Run] = []
    for cell in plan.cells:
        shard = cell.limits.shard
        runs = store.runs(limit=None, source=cell.source.listed) if shard is not None else []
        wanted = of_whole(cell)
        like = (run for run in runs if run.cell.limits.shard == shard and of_whole(run.cell) == wanted)
        if (run := next(like, None)) is None:
            return ()
        found.append(run)
    return found if len({run.plan_id for run in found}) == 1 else ()


def as_part(run: Run, stopped: str | None) -> str | None:
    """Why fewer than the whole were asked, in words: what stopped the run, and of which part it is."""
    shard = run.cell.limits.shard
    if shard is None:
        return stopped
    told = f"this is shard {shard} of its askings, and `proctor merge` makes one run of all {shard.of}"
    return f"{stopped}; {told}" if stopped else told
