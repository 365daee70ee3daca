"""Which judges' runs are about a run: as the judged one, or as the other of pairs."""

from __future__ import annotations

from dataclasses import replace

from proctor.references import JudgingRef
from proctor.service.judging.names import grader_of
from proctor.store import Store
from proctor.types import Run


def judgings_of(store: Store, run_id: str) -> list[Run]:
    """The oldest first, ended or not. Raises: NotFound."""
    run = store.run(run_id)
    name = run.cell.source.listed
    found = store.runs(limit=None, source=JudgingRef(name, run_id).listed)
    return [each for each in reversed(found) if is_about(each, run_id)]


def is_about(run: Run, judged: str) -> bool:
    return judged in about(run)


def about(run: Run) -> tuple[str, ...]:
    """The ids of the runs that a judge's run judged; none of another run."""
    ref = run.cell.source
    return tuple(each for each in (ref.run, ref.against) if each) if isinstance(ref, JudgingRef) else ()


def kept_as(judging: Run, judged: str) -> str:
    """Under which name a judging's grades are kept with a run that it judges: of pairs each names the other."""
    ref = judging.cell.source
    assert isinstance(ref, JudgingRef)
    return grader_of(replace(judging, cell=replace(judging.cell, source=ref.seen_from(judged))))
