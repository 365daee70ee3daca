"""Scores, differences and preferences by a judge, by people, and corrected, of what was read of runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proctor.findings import Estimate, Verdict
from proctor.service.checked.found import (
    WHOLE,
    CheckedAgreement,
    JudgedDifference,
    JudgedScore,
    LabelsUsed,
    Quote,
)
from proctor.service.checked.reading import CheckedReply, CheckedRun
from proctor.stats.compare import PRACTICALLY
from proctor.stats.judged.agreement import agree, judge_and_people
from proctor.stats.judged.prediction import (
    Corrected,
    better,
    corrected_difference,
    corrected_mean,
    corrected_preference,
)
from proctor.stats.paired import holm

if TYPE_CHECKING:
    from proctor.references import Criterion

NOBODY = "nobody has checked this judge: no reply that was drawn at random has a label"
PREFERENCES_EQUAL = 0.5


@dataclass(frozen=True, slots=True)
class _Entry:
    """What the statistics take of one reply, or of the same item's two: None of people's is unlabelled.

    What is `empty` is worth 0, is drawn for nobody, and stands for no other.
    """

    judge: float | None
    people: float | None
    cluster: str | None
    empty: bool = False


Correct = Callable[..., Corrected]


def score_of(checked: CheckedRun, criterion: str) -> JudgedScore:
    correct = corrected_preference if checked.name.against else corrected_mean
    entries = [_entry(each, criterion) for each in checked.replies]
    found = _corrected(correct, entries)
    labels = _labelled(entries)
    agreement = agreement_of(checked, criterion)
    if not labels:
        return JudgedScore(criterion, found.judge, None, None, "judge", NOBODY, agreement=agreement)
    return JudgedScore(
        criterion=criterion,
        judge=found.judge,
        people=found.people,
        corrected=found.corrected,
        quote=_quote(found),
        why=found.why,
        labels=labels,
        correlation=found.correlation,
        weight=found.weight,
        agreement=agreement,
    )


def agreement_of(checked: CheckedRun, criterion: str) -> CheckedAgreement | None:
    """Label by label; of the whole, all criteria together. None without labels, or where they have several scales."""
    whole = criterion == WHOLE
    both = [each for each in checked.both if whole or each.criterion == criterion]
    scales = {checked.scale(each.criterion) for each in both}
    if len(scales) != 1:
        return None
    (scale,) = scales
    random = [each for each in both if each.random]
    chosen = [each for each in both if not each.random]
    named = {each.criterion for each in both}
    apart = agree([each.judge for each in chosen], [each.people for each in chosen]) if chosen else None
    of = random or chosen
    found = judge_and_people(
        [each.judge for each in of], [each.people for each in of], scale, ordered=len(scale) > 2
    )
    name = named.pop() if len(named) == 1 else WHOLE
    return CheckedAgreement(name, found, len(random), len(chosen), apart)


def difference_of(first: CheckedRun, second: CheckedRun, criterion: str) -> JudgedDifference:
    """On the replies to the same items under the same number of repeat, first minus second."""
    return _difference(corrected_difference, _differences(first, second, criterion), criterion, 0.0)


def preference_of(checked: CheckedRun, criterion: str) -> JudgedDifference:
    """Of replies that were judged against those of another run."""
    entries = [_entry(each, criterion) for each in checked.replies]
    return _difference(corrected_preference, entries, criterion, PREFERENCES_EQUAL)


def labels_of_both(first: CheckedRun, second: CheckedRun) -> LabelsUsed:
    """`random` are the items whose replies in both runs have labels; the other counts are of both runs together."""
    pairs = _differences(first, second, WHOLE)
    one, other = first.labels, second.labels
    return LabelsUsed(
        random=_labelled(pairs),
        chosen=one.chosen + other.chosen,
        stale=one.stale + other.stale,
        other_rubric=one.other_rubric + other.other_rubric,
        ungraded=sum(each.people is not None and each.judge is None for each in pairs),
        labellers=tuple(sorted({*one.labellers, *other.labellers})),
    )


def adjusted(differences: Sequence[JudgedDifference], further: int = 0) -> list[JudgedDifference]:
    """The same with verdicts, their p-values adjusted for all of them (Holm).

    `further` pairs could have been compared; each is taken to come last, which is never to the favour of these.
    """
    own = _holm([each.p_value for each in differences], further)
    alone = _holm([each.judge_p_value for each in differences], further)
    found = []
    for each, p, judge_p in zip(differences, own, alone, strict=True):
        verdict = _verdict(each.quoted, p, each.equal) if each.labels else "no difference shown"
        said = _verdict(each.judge, judge_p, each.equal)
        found.append(
            replace(
                each,
                adjusted_p=p,
                verdict=verdict,
                judge_verdict=said,
                comparisons=len(differences) + further,
            )
        )
    return found


def criteria_to_show(criteria: Sequence[Criterion]) -> list[str]:
    """Beside the whole, which is all of a rubric with one; those of single tasks are no figures of their own."""
    return [each.name for each in criteria if each.task is None] if len(criteria) > 1 else []


# -- entries ---------------------------------------------------------------------------------------


def _entry(reply: CheckedReply, criterion: str) -> _Entry:
    if reply.empty:
        return _Entry(0.0, 0.0, reply.cluster, empty=True)
    return _Entry(reply.judge.get(criterion), reply.people.get(criterion), reply.cluster)


def _differences(first: CheckedRun, second: CheckedRun, criterion: str) -> list[_Entry]:
    others = {(each.item_id, each.repeat, each.item_hash): each for each in second.replies}
    found = []
    for each in first.replies:
        other = others.get((each.item_id, each.repeat, each.item_hash))
        if other is not None:
            a, b = _entry(each, criterion), _entry(other, criterion)
            empty = a.empty and b.empty
            found.append(_Entry(_less(a.judge, b.judge), _less(a.people, b.people), a.cluster, empty))
    return found


def _less(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first - second


def _corrected(correct: Correct, entries: Sequence[_Entry]) -> Corrected:
    asked = [each for each in entries if not each.empty]
    labelled = [each for each in asked if each.people is not None]
    rest = [each for each in asked if each.people is None]
    keys = [each.cluster for each in labelled], [each.cluster for each in rest]
    hang = any(key is not None for side in keys for key in side)
    return correct(
        [each.people for each in labelled],
        [each.judge for each in labelled],
        [each.judge for each in rest],
        clusters=keys if hang else None,
        known=len(entries) - len(asked),
    )


def _labelled(entries: Sequence[_Entry]) -> int:
    return sum(each.people is not None and not each.empty for each in entries)


def _quote(found: Corrected) -> Quote:
    """What `found` says to quote, unless there is no value of it: so few labels leave the judge alone."""
    quoted = found.corrected if found.quote == "corrected" else found.people
    return found.quote if quoted.value is not None else "judge"


def _difference(
    correct: Correct, entries: Sequence[_Entry], criterion: str, equal: float
) -> JudgedDifference:
    found = _corrected(correct, entries)
    labels = _labelled(entries)
    if not labels:
        return JudgedDifference(
            criterion,
            found.judge,
            None,
            None,
            "judge",
            NOBODY,
            equal=equal,
            judge_p_value=found.judge_p_value,
        )
    quote = _quote(found)
    return JudgedDifference(
        criterion=criterion,
        judge=found.judge,
        people=found.people,
        corrected=found.corrected,
        quote=quote,
        why=found.why,
        labels=labels,
        correlation=found.correlation,
        equal=equal,
        p_value=None if quote == "judge" else found.quoted_p_value,
        judge_p_value=found.judge_p_value,
    )


def _verdict(of: Estimate, p: float | None, equal: float) -> Verdict:
    if (found := better(of, p, null=equal)) is not None:
        return found
    if of.low is None or of.high is None:
        return "no difference shown"
    near = of.low - equal >= -PRACTICALLY and of.high - equal <= PRACTICALLY
    return "practically equal" if near else "no difference shown"


def _holm(p_values: Sequence[float | None], further: int) -> list[float | None]:
    known = iter(holm([*(p for p in p_values if p is not None), *[1.0] * further]))
    return [None if p is None else next(known) for p in p_values]
