"""What judges have given, for one's own analysis: results of their runs, and their grades as records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from proctor.references import JudgingRef
from proctor.service.checked.found import JudgedResult
from proctor.service.checked.worth import judged_result
from proctor.service.context import Context
from proctor.service.judging.judgings import kept_as
from proctor.store.write import grades
from proctor.types import Run


def judged_results(context: Context, judgings: Iterable[Run]) -> tuple[JudgedResult, ...]:
    """Of each judge's run that gave grades what the judged run shows by them."""
    found = []
    for judging in judgings:
        ref = judging.cell.source
        assert isinstance(ref, JudgingRef)
        name = kept_as(judging, ref.run)
        if any(each.grader == name for each in grades.graders(context.store, ref.run)):
            found.append(judged_result(context, ref.run, name))
    return tuple(found)


def grade_records(context: Context, run_id: str, grader: str) -> list[dict[str, Any]]:
    """Raises NotFound for the run."""
    return [
        {
            "run_id": run_id,
            "grader": grader,
            "item_id": item,
            "repeat": repeat,
            "score": grade.score,
            "answer": grade.answer,
            "note": grade.note,
        }
        for (item, repeat, _), grade in sorted(grades.by(context.store, run_id, grader).items())
    ]
