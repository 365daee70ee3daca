"""What a judge and what people said of the same replies, as numbers: read off the kept grades and labels of a run."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proctor.references import PREFERENCE, WORTH, Criterion, GradingRubric, JudgingRef, Scale
from proctor.service.checked.found import WHOLE, LabelsUsed
from proctor.service.judging.judgings import judgings_of
from proctor.service.judging.kept_judges import JudgeName
from proctor.service.judging.verdicts import EMPTY
from proctor.service.rows.marks import scored_rows
from proctor.store import AttemptRow, Store
from proctor.store.write import graded_labels, grades
from proctor.store.write.graded_labels import GradedLabel
from proctor.types import Grade, Outcome, Run

LabelPlace = tuple[str, int]  # item id, repeat
TURNED = {"1": "2", "2": "1"}  # a preference as the other run's reply has it


@dataclass(frozen=True, slots=True)
class CheckedReply:
    """One reply that counts: what it is worth by criterion and as a whole, to the judge and to people.

    `people` are means over labellers of random labels; who did not grade all criteria is not in the whole. `cluster`
    is equal for replies that hang together: of one text, or askings of one item.
    """

    item_id: str
    repeat: int
    item_hash: str
    cluster: str | None
    judge: Mapping[str, float]
    people: Mapping[str, float] = field(default_factory=dict)
    empty: bool = False  # worth nothing without asking a judge or a person


@dataclass(frozen=True, slots=True)
class BothGrades:
    """A label beside the judge's grade of the same reply by the same criterion."""

    criterion: str
    judge: str
    people: str
    random: bool


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A judge's grades of a run with the labels of the same rubric. `criteria` are in the rubric's order."""

    run: Run
    name: JudgeName
    criteria: tuple[Criterion, ...]
    replies: tuple[CheckedReply, ...]
    both: tuple[BothGrades, ...]
    labels: LabelsUsed

    def scale(self, criterion: str) -> tuple[str, ...]:
        """The grades that may be given, the best first."""
        return tuple(worths(self.name, next(each for each in self.criteria if each.name == criterion)))


def worths(name: JudgeName, criterion: Criterion) -> Mapping[str, float]:
    return PREFERENCE if name.against else criterion.worth


def checked_run(store: Store, run: Run, name: JudgeName) -> CheckedRun:
    """Raises NotFound for the run, StoreError."""
    given = grades.by(store, run.id, name.grader)
    kept = rubric_kept(store, run.id, name)
    rubric = kept or GradingRubric(criteria=_told_criteria(given))
    rows = {
        (row.item_id, row.repeat): row for row in scored_rows(store, run) if row.outcome is not Outcome.ERROR
    }
    said = _labels(store, run, name)
    counting = {True: [], False: []}  # type: dict[bool, list[GradedLabel]]
    for label in said:
        row = rows.get((label.item_id, label.repeat))
        counting[row is not None and label.attempt in (None, row.attempt)].append(label)
    judged = {
        place: _by_judge(given.get((*place, row.attempt)), rubric.of(place[0]), name)
        for place, row in rows.items()
    }
    people = _by_people([each for each in counting[True] if each.drawn == "random"], rubric, name)
    if kept is None and len(rubric.criteria) > 1:  # by which weights, nobody knows any more
        people = {
            place: {each: worth for each, worth in by.items() if each != WHOLE}
            for place, by in people.items()
        }
    # Beside another reply an empty one loses: then it is not worth nothing, but is a pair like any other.
    single = name.against is None
    empty = {place[:2] for place, grade in given.items() if single and grade.note == EMPTY}
    replies = tuple(
        _reply(
            row,
            run.cell.repeats,
            judged[place],
            {} if place in empty else people.get(place, {}),
            place in empty,
        )
        for place, row in rows.items()
    )
    every = graded_labels.current(store, run.id)
    used = LabelsUsed(
        random=sum(each.drawn == "random" for each in counting[True]),
        chosen=sum(each.drawn != "random" for each in counting[True]),
        stale=len(counting[False]),
        other_rubric=sum(each.against == name.against and not _same(each.rubric, name) for each in every),
        ungraded=sum(WHOLE not in judged[place] for place in people),
        labellers=tuple(sorted({each.user for each in counting[True]})),
    )
    both = tuple(_both(counting[True], judged, rubric, name))
    return CheckedRun(run, name, rubric.criteria, replies, both, used)


def rubric_kept(store: Store, run_id: str, name: JudgeName) -> GradingRubric | None:
    """The rubric of a judge, as the runs of judges about this run have it; None where they are here no more."""
    for judging in judgings_of(store, run_id):
        ref = judging.cell.source
        if isinstance(ref, JudgingRef) and _same(ref.rubric.words, name):
            return ref.rubric
    return GradingRubric() if _same(GradingRubric().words, name) else None


def _same(rubric: str, name: JudgeName) -> bool:
    return rubric.rpartition("#")[2] == name.digits


def _told_criteria(given: Mapping[grades.Place, Grade]) -> tuple[Criterion, ...]:
    """What the notes of grades tell of a rubric that is not kept: names, and scales by the grades that were given."""
    found: dict[str, set[str]] = defaultdict(set)
    for grade in given.values():
        for part in (grade.note or "").split("; "):
            criterion, _, votes = part.partition(": ")
            found[criterion].update(votes.split(", "))
    return tuple(Criterion(name, "", _scale(votes)) for name, votes in found.items())


def _scale(votes: set[str]) -> Scale:
    return next((scale for scale, known in WORTH.items() if votes & set(known)), "pass/fail")


# What was said ------------------------------------------------------------------------------------


def _labels(store: Store, run: Run, name: JudgeName) -> list[GradedLabel]:
    """What counts of the judge's rubric: blind labels of the random part first, of others the newest."""
    said = _history(store, run, name)
    blind = graded_labels.counting(said, drawn="random")
    known = {each.of for each in blind}
    return blind + [each for each in graded_labels.counting(said) if each.of not in known]


def _history(store: Store, run: Run, name: JudgeName) -> list[GradedLabel]:
    """All labels of the rubric; of pairs also those that lie with the other run, turned round."""
    own = [each for each in graded_labels.history(store, run.id) if each.against == name.against]
    if name.against is not None:
        others = (each for each in graded_labels.history(store, name.against) if each.against == run.id)
        own += [
            replace(each, against=name.against, attempt=None, grade=TURNED.get(each.grade or "", each.grade))
            for each in others
        ]
    return sorted((each for each in own if _same(each.rubric, name)), key=lambda label: label.id)


def _by_judge(grade: Grade | None, criteria: Sequence[Criterion], name: JudgeName) -> dict[str, float]:
    if grade is None or grade.score is None:
        return {}
    if len(criteria) == 1:
        return {WHOLE: grade.score, criteria[0].name: grade.score}
    votes = told_votes(grade.note or "", [each.name for each in criteria])
    if not votes:  # nothing had to be asked of any: an empty reply, or two that say the same
        return dict.fromkeys([WHOLE, *(each.name for each in criteria)], grade.score)
    found = {WHOLE: grade.score}
    for criterion in criteria:
        worth = of_votes(votes.get(criterion.name, ()), worths(name, criterion))
        if worth is not None:
            found[criterion.name] = worth
    return found


def of_votes(votes: Sequence[str], worth: Mapping[str, float]) -> float | None:
    """What most votes say; where as many say another, the mean of these, of scales that have a grade between.

    >>> of_votes(["pass", "unreadable"], {"pass": 1.0, "fail": 0.0})
    1.0
    >>> of_votes(["1", "2"], {"1": 1.0, "tie": 0.5, "2": 0.0})
    0.5
    """
    times = Counter(vote for vote in votes if vote in worth)
    most = [vote for vote, n in times.items() if n == max(times.values())]
    if not most or (len(most) > 1 and len(worth) == 2):
        return None
    return sum(worth[vote] for vote in most) / len(most)


def told_votes(note: str, criteria: Sequence[str]) -> dict[str, list[str]]:
    """A judge's votes by criterion, as the note of its grade tells them.

    >>> told_votes("correct: pass, unreadable; polite: 4", ["correct", "polite"])
    {'correct': ['pass', 'unreadable'], 'polite': ['4']}
    """
    names = "|".join(re.escape(each) for each in sorted(criteria, key=len, reverse=True))
    begun = list(re.finditer(rf"(?:^|; )({names}): ", note))
    ends = [each.start() for each in begun[1:]] + [len(note)]
    told = ((each[1], note[each.end() : end]) for each, end in zip(begun, ends, strict=True))
    return {name: [vote.partition(" (")[0].strip() for vote in votes.split(",")] for name, votes in told}


def _by_people(
    labels: Sequence[GradedLabel], rubric: GradingRubric, name: JudgeName
) -> dict[LabelPlace, dict[str, float]]:
    """Means over labellers, by reply and criterion; in the whole are those who graded all of its criteria."""
    said: dict[LabelPlace, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    known = {each.name: worths(name, each) for each in rubric.criteria}
    for label in labels:
        worth = known.get(label.criterion, {}).get(label.grade or "")
        if worth is not None:
            said[label.item_id, label.repeat][label.user][label.criterion] = worth
    return {place: _means(list(by_user.values()), rubric.of(place[0])) for place, by_user in said.items()}


def _means(said: Sequence[Mapping[str, float]], criteria: Sequence[Criterion]) -> dict[str, float]:
    found = {}
    for criterion in criteria:
        if given := [each[criterion.name] for each in said if criterion.name in each]:
            found[criterion.name] = sum(given) / len(given)
    weights = sum(each.weight for each in criteria)
    wholes = [
        sum(each.weight * by[each.name] for each in criteria) / weights
        for by in said
        if len(by) == len(criteria)
    ]
    if wholes:
        found[WHOLE] = sum(wholes) / len(wholes)
    return found


def _reply(
    row: AttemptRow, repeats: int, judge: Mapping[str, float], people: Mapping[str, float], empty: bool
) -> CheckedReply:
    cluster = row.cluster or (row.item_id if repeats > 1 else None)
    return CheckedReply(row.item_id, row.repeat, row.item_hash, cluster, judge, people, empty)


def _both(
    labels: Sequence[GradedLabel],
    judged: Mapping[LabelPlace, Mapping[str, float]],
    rubric: GradingRubric,
    name: JudgeName,
) -> Iterator[BothGrades]:
    """Where a judge was asked several times, its grade is the nearest to the mean of its votes, the lower of two."""
    known = {each.name: worths(name, each) for each in rubric.criteria}
    for label in labels:
        scale = known.get(label.criterion, {})
        worth = judged[label.item_id, label.repeat].get(label.criterion)
        if worth is None or label.grade is None or label.grade not in scale:
            continue
        nearest = _nearest(scale, worth)
        yield BothGrades(label.criterion, nearest, label.grade, label.drawn == "random")


def _nearest(scale: Mapping[str, float], worth: float) -> str:
    return min(reversed(list(scale)), key=lambda grade: abs(scale[grade] - worth))
