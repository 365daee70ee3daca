"""What views ask of judges: by the context, so that they see what it reaches and nothing else."""

from __future__ import annotations

from typing import Any

from proctor.references import JudgingRef
from proctor.service.checked.summary import judging_summary, panel_lines, summary_document, summary_lines
from proctor.service.context import Context
from proctor.service.judging.judgings import judgings_of
from proctor.service.judging.kept_judges import JudgeName, kept_judges
from proctor.service.judging.panel import Judges
from proctor.service.kinds import kind_of
from proctor.types import Run


def judgings_here(context: Context, run_id: str) -> list[Run]:
    """Which judges' runs are about a run. Raises NotFound."""
    return judgings_of(context.store, run_id)


def judges_here(context: Context, run_id: str) -> list[JudgeName]:
    """Every judge whose grades of the run are kept. Raises NotFound."""
    return kept_judges(context.store, run_id)


def runs_judged(context: Context, ref: JudgingRef) -> list[Run]:
    """The run that is judged, and the other one of pairs. Raises NotFound."""
    return [context.store.run(each) for each in (ref.run, ref.against) if each]


def told_document(context: Context, judging: Run) -> dict[str, Any]:
    """What a judge's run came to, as JSON."""
    return summary_document(judging_summary(context.store, judging))


def told_lines(context: Context, judging: Run) -> tuple[str, ...]:
    """What a judge's run came to, in sentences."""
    return summary_lines(context.store, judging)


def panel_told(context: Context, of: Judges) -> list[str]:
    """What several judges together came to, in sentences."""
    return list(panel_lines(context.store, of))


def said(context: Context, run: Run) -> tuple[str, ...]:
    """What the run's kind of source says of it beside its scores."""
    return tuple(kind_of(run.cell.source).said(run, context.store))
