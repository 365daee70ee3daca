"""Evaluations by a judge's grades: their verdicts are what labels of people leave of what the judge says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from proctor.findings import Evaluation
from proctor.service.checked.found import JudgedSideBySide
from proctor.service.checked.leaning import leanings
from proctor.service.checked.worth import judged_side_by_side
from proctor.service.context import Context
from proctor.service.grades.named import kept_name
from proctor.service.judging.kept_judges import fits, judge_told, kept_judges
from proctor.service.looks.words import looks_said
from proctor.types import Run


def as_checked(context: Context, found: Evaluation, grader: str | None) -> Evaluation:
    """The same with the verdicts that are corrected by labels, where `grader` is a judge; its figures stay as they are.

    Of a judge that nobody has checked every verdict is "no difference shown".
    """
    judged = judged_beside(context, found, grader)
    if judged is None or not found.comparisons:
        return found
    verdicts = {(each.first.id, each.second.id): each.verdict for each in judged.comparisons}
    pairs = tuple(
        replace(pair, whole=replace(pair.whole, verdict=verdicts[pair.first.id, pair.second.id]))
        for pair in found.comparisons
    )
    return replace(found, comparisons=pairs, verdict=f"{judged.verdict} {looks_said(found)}".rstrip())


def judged_beside(context: Context, found: Evaluation, grader: str | None) -> JudgedSideBySide | None:
    """What the judge is worth by whose grades runs were evaluated; None where that was no judge."""
    runs = [result.run for result in found.results]
    if grader is None or not runs:
        return None
    name = kept_name(context.store, context.store.run(runs[0].id), grader)
    if name is None or judge_told(name) is None:
        return None
    pairs = found.looks.pairs if found.looks else None
    return judged_side_by_side(context, [run.id for run in runs], grader, pairs_in_all=pairs)


def preferred_beside(context: Context, runs: Sequence[Run], grader: str | None) -> JudgedSideBySide | None:
    """Runs of which the judge that `grader` means only ever preferred one of two replies; None for all others."""
    if grader is None or len(runs) < 2:
        return None
    meant = [name for name in kept_judges(context.store, runs[0].id) if fits(grader, name)]
    if not meant or any(name.against is None for name in meant):
        return None
    return judged_side_by_side(context, [run.id for run in runs], grader)


def leaning_words(context: Context, found: JudgedSideBySide) -> tuple[str, ...]:
    """What the judge of these runs leans to, measured on every reply that it graded, so it takes its time.

    Whether it is of a candidate's family is among the remarks of what was found.
    """
    told: dict[str, None] = {}
    graded = [(each.run, each.grader) for each in found.results]
    graded = graded or [(each.first, each.grader) for each in found.comparisons]
    for run, grader in graded:
        for each in leanings(context, run.id, grader=grader):
            for words in each.told_measured:
                told[f"{run.cell.model}: {words}" if len(graded) > 1 else words] = None
    return tuple(told)
