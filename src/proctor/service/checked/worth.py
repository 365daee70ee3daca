"""What a judge is worth: scores and differences by a judge, by people's labels, and by both together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from proctor.errors import ConfigError, NotFound
from proctor.service.checked.estimating import (
    adjusted,
    criteria_to_show,
    difference_of,
    labels_of_both,
    preference_of,
    score_of,
)
from proctor.service.checked.families import candidates_of, kin_words
from proctor.service.checked.found import WHOLE, JudgedComparison, JudgedResult, JudgedSideBySide
from proctor.service.checked.reading import CheckedRun, checked_run
from proctor.service.checked.words import comparison_sentence, result_sentence
from proctor.service.context import Context
from proctor.service.grades.view import regraded
from proctor.service.judging.kept_judges import JudgeName, judge_meant
from proctor.service.judging.names import judges_of
from proctor.service.looks.ledger import LookLedger
from proctor.store import Store
from proctor.types import Run


def judged_result(context: Context, run_id: str, grader: str | None = None) -> JudgedResult:
    """What a judge's grades of a run are worth by the labels there are. `grader` None is its only plain judge.

    Raises: NotFound for the run or where no judge graded it, ConfigError where several did.
    """
    store = context.store
    run = store.run(run_id)
    return _result(checked_run(store, run, judge_meant(store, run, grader)))


def judged_comparison(
    context: Context, first: str, second: str, grader: str | None = None
) -> JudgedComparison:
    """Two runs by one judge. `grader` None is the only plain judge of both, else the only one that preferred of them.

    Raises as `judged_result`.
    """
    return judged_comparisons(context, (first, second), grader)[0]


def judged_comparisons(
    context: Context, run_ids: Sequence[str], grader: str | None = None
) -> tuple[JudgedComparison, ...]:
    """Every pair of runs; the p-values of their wholes are adjusted over all (Holm). Raises as `judged_result`."""
    return judged_side_by_side(context, run_ids, grader).comparisons


def judged_side_by_side(
    context: Context, run_ids: Sequence[str], grader: str | None = None, *, pairs_in_all: int | None = None
) -> JudgedSideBySide:
    """Runs by one judge and every pair of them; of a judge that preferred, the pairs alone. Raises as the others.

    P-values are adjusted for all pairs of models with complete runs that it graded, or for `pairs_in_all`.
    """
    store = context.store
    runs = list({run.id: run for run in map(store.run, run_ids)}.values())
    if len(runs) == 1:
        return JudgedSideBySide((judged_result(context, runs[0].id, grader),), ())
    read: dict[tuple[str, str], CheckedRun] = {}

    def of(run: Run, name: JudgeName) -> CheckedRun:
        """Each is read once, in however many pairs it is."""
        if (run.id, name.grader) not in read:
            read[run.id, name.grader] = checked_run(store, run, name)
        return read[run.id, name.grader]

    pairs = []
    for one, other in combinations(runs, 2):
        name, others = _names(store, one, other, grader)
        pairs.append(_compared(of(one, name), other, None if name.against else of(other, others)))
    if pairs_in_all is None:
        pairs_in_all = _pairs_of_models(store, runs, next(iter(read.values())).name)
    wholes = adjusted([pair.whole for pair in pairs], max(0, pairs_in_all - len(pairs)))
    found = [replace(pair, whole=whole) for pair, whole in zip(pairs, wholes, strict=True)]
    return JudgedSideBySide(
        tuple(_result(each) for each in read.values() if each.name.against is None),
        tuple(replace(pair, sentence=comparison_sentence(pair)) for pair in found),
    )


def _pairs_of_models(store: Store, runs: Sequence[Run], name: JudgeName) -> int:
    """Of these and of further models with complete runs that the judge graded alike; of preferences, of these alone."""
    if name.against is not None:
        return 0
    tried = LookLedger(store, grader=name.grader).tried([regraded(run, name.grader) for run in runs])
    return math.comb(len(runs) + len(tried.others) + tried.unseen, 2)


def _result(checked: CheckedRun) -> JudgedResult:
    name = checked.name
    found = JudgedResult(
        run=checked.run,
        grader=name.grader,
        judge=name.judge,
        rubric=name.rubric,
        against=name.against,
        whole=score_of(checked, WHOLE),
        criteria=tuple(score_of(checked, each) for each in criteria_to_show(checked.criteria)),
        labels=checked.labels,
        sentence="",
        remarks=_remarks((checked.run,), name),
    )
    return replace(found, sentence=result_sentence(found))


def _compared(first: CheckedRun, other: Run, second: CheckedRun | None) -> JudgedComparison:
    """`second` is what was read of `other`, None where the judge preferred: then the first run's grades say all."""
    shown, name = criteria_to_show(first.criteria), first.name
    if second is None:
        whole, criteria = preference_of(first, WHOLE), [preference_of(first, each) for each in shown]
        labels = replace(first.labels, random=whole.labels)
    else:
        whole = difference_of(first, second, WHOLE)
        criteria = [difference_of(first, second, each) for each in shown]
        labels = labels_of_both(first, second)
    return JudgedComparison(
        first=first.run,
        second=other,
        grader=name.grader,
        judge=name.judge,
        rubric=name.rubric,
        pairwise=name.against is not None,
        whole=whole,
        criteria=tuple(criteria),
        labels=labels,
        remarks=_remarks((first.run, other), name),
    )


def _names(store: Store, first: Run, second: Run, grader: str | None) -> tuple[JudgeName, JudgeName]:
    """The judge, by the name of its grades of either run. Of a pairwise one those of the first run say all."""
    try:
        one = judge_meant(store, first, grader)
    except NotFound:
        one = judge_meant(store, first, grader, against=second.id)
    if one.against is not None:
        if one.against != second.id:
            raise ConfigError(
                f"{one.grader} compared run {first.id[:8]} with another run than {second.id[:8]}"
            )
        return one, one
    other = judge_meant(store, second, one.grader if grader is None else grader)
    if one.grader != other.grader:
        raise ConfigError(
            f"Runs {first.id[:8]} and {second.id[:8]} were graded by different judges: "
            f"{one.grader} and {other.grader}. Have both judged by one"
        )
    return one, other


def _remarks(runs: Sequence[Run], name: JudgeName) -> tuple[str, ...]:
    """Whether the judge is of a family with whom it judges: what it leans to besides, `leaning.py` measures."""
    told = (words for judge in judges_of(name.grader) for words in kin_words(judge, candidates_of(*runs)))
    return tuple(dict.fromkeys(told))
