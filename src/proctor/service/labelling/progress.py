"""How far labelling has come: counts, what more labels would buy, and how far labellers agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proctor.figures import estimate as in_words
from proctor.findings import Estimate
from proctor.references import Criterion
from proctor.service.context import Context
from proctor.service.judging.names import is_judge, rubric_words
from proctor.service.labelling.queue import LabelQueue
from proctor.service.labelling.said import every_label
from proctor.service.labelling.scores import label_scores
from proctor.stats.judged.agreement import agree, kappa
from proctor.stats.judged.alone import Judged
from proctor.stats.judged.needed import LabelsWorth, labels_for
from proctor.store import Store
from proctor.store.write import grades
from proctor.store.write.graded_labels import counting
from proctor.types import Outcome, Run

ItemRepeat = tuple[str, int]


@dataclass(frozen=True, slots=True)
class LabellerAgreement:
    """How far two people agree by one criterion, over the `both` replies that both labelled blindly and at random."""

    user: str
    other: str
    criterion: str
    both: int
    share: Estimate
    kappa: Estimate

    @property
    def told(self) -> str:
        return (
            f"{self.user} and {self.other} agree on {in_words(self.share)} of {self.both:,} by {self.criterion}; "
            f"kappa {in_words(self.kappa)}"
        )


@dataclass(frozen=True, slots=True)
class LabelProgress:
    """`done` of the `of` entries are wholly graded by this labeller, of the random part `random_done` of `random`.

    `revealed` of them were graded after looking, which no estimate uses. `users` is how many replies each labeller has
    graded by this rubric. `worth` says how wide the interval is and what more labels make it.
    """

    done: int
    of: int
    random_done: int
    random: int
    revealed: int
    users: Mapping[str, int]
    worth: str
    agreement: tuple[LabellerAgreement, ...]

    @property
    def told(self) -> list[str]:
        """In sentences."""
        rest = f", and {self.done - self.random_done:,} of {self.of - self.random:,} where graders disagree"
        lines = [
            f"{self.random_done:,} of {self.random:,} of the random part{rest if self.of > self.random else ''}"
        ]
        if self.revealed:
            lines.append(f"{self.revealed:,} were graded after looking: no estimate uses them")
        return [*lines, self.worth, *(each.told for each in self.agreement)]


def progress(context: Context, made: LabelQueue) -> LabelProgress:
    """Raises NotFound where a run is gone."""
    done = [entry for entry in made.entries if entry.done]
    said = [{each.revealed for each in entry.said.values()} for entry in done]
    return LabelProgress(
        len(done),
        len(made.entries),
        sum(entry.drawn == "random" for entry in done),
        made.random,
        sum(True in each for each in said),
        _users(context.store, made),
        worth_of_more(context.store, made),
        tuple(_agreements(context.store, made)),
    )


def progress_document(found: LabelProgress) -> dict[str, Any]:
    return {**asdict(found), "told": found.told}


def _labelled_runs(made: LabelQueue) -> Sequence[Run]:
    """Those with which labels lie: of pairs the first."""
    return made.runs[:1] if made.pairwise else made.runs


def _users(store: Store, made: LabelQueue) -> dict[str, int]:
    replies = {
        (label.user, run.id, label.item_id, label.repeat)
        for run in _labelled_runs(made)
        for label in counting(every_label(store, run.id, made.rubric.words, made.against))
    }
    return dict(Counter(user for user, *_ in sorted(replies)))


# What more labels buy --------------------------------------------------------------------------


def worth_of_more(store: Store, made: LabelQueue) -> str:
    """A sentence: how wide the interval is that is to be quoted, and how many more labels make it how wide."""
    found = [worth for worth in (_worth(store, made, runs) for runs in _estimated(made)) if worth is not None]
    widest = max(found, key=lambda worth: worth.width or 0.0)
    of = "of the difference " if len(made.runs) == 2 and not made.pairwise else ""
    of = "of the share of wins " if made.pairwise else of
    return widest.sentence.replace("the interval is", f"the interval {of}is", 1)


def _estimated(made: LabelQueue) -> list[tuple[Run, ...]]:
    """Of what there are estimates: a run's score, what lies between two, or of more runs each score."""
    return [made.runs] if len(made.runs) <= 2 else [(run,) for run in made.runs]


def _worth(store: Store, made: LabelQueue, runs: Sequence[Run]) -> LabelsWorth:
    first = runs[0]
    sides = [_Side.of(store, made, run) for run in ([first] if made.pairwise else runs)]
    kind: Judged = "preferences" if made.pairwise else "differences" if len(sides) == 2 else "grades"
    people, judge, rest, keys, rest_keys = [], [], [], [], []
    for row in store.latest(first.id):
        if row.outcome is Outcome.ERROR:
            continue
        place = row.item_id, row.repeat
        said = _between([side.said.get(place) for side in sides])
        judged = _between([side.judged.get(place) for side in sides])
        if said is None:
            rest.append(judged)
            rest_keys.append(row.cluster or row.item_id)
        else:
            people.append(said)
            judge.append(judged)
            keys.append(row.cluster or row.item_id)
    clustered = len({*keys, *rest_keys}) < len(keys) + len(rest_keys)
    return labels_for(people, judge, rest, clusters=(keys, rest_keys) if clustered else None, kind=kind)


@dataclass(frozen=True, slots=True)
class _Side:
    """What people and a judge find one run's replies worth."""

    said: Mapping[ItemRepeat, float]
    judged: Mapping[ItemRepeat, float | None]

    @classmethod
    def of(cls, store: Store, made: LabelQueue, run: Run) -> _Side:
        against, criterion = made.against, made.wish.criterion
        found = label_scores(store, run.id, made.rubric, against=against, criterion=criterion)
        said = {place: each.score for place, each in found.items()}
        whole = len(made.criteria) == len(made.rubric.criteria)
        return cls(said, _judged(store, run, made) if whole else {})


def _between(worths: Sequence[float | None]) -> float | None:
    known = [each for each in worths if each is not None]
    if len(known) < len(worths):
        return None
    return known[0] if len(known) == 1 else known[0] - known[1]


def _judged(store: Store, run: Run, made: LabelQueue) -> dict[ItemRepeat, float | None]:
    """The grades of the last judge by this rubric; empty where none has judged."""
    names = [
        each.grader
        for each in grades.graders(store, run.id)
        if is_judge(each.grader) and rubric_words(each.grader) == made.rubric.words
        if (f",against={made.against}" in each.grader if made.against else ",against=" not in each.grader)
    ]
    given = grades.by(store, run.id, names[-1]) if names else {}
    return {(item_id, repeat): grade.score for (item_id, repeat, _), grade in given.items()}


# Agreement -------------------------------------------------------------------------------------


def _agreements(store: Store, made: LabelQueue) -> Iterator[LabellerAgreement]:
    """Of this labeller with each other one, by criterion."""
    given: dict[tuple[str, str], dict[tuple[str, str, int], str]] = {}
    for run in _labelled_runs(made):
        for label in counting(every_label(store, run.id, made.rubric.words, made.against), drawn="random"):
            if label.grade is not None:
                mine = given.setdefault((label.user, label.criterion), {})
                mine[run.id, label.item_id, label.repeat] = label.grade
    users = sorted({user for user, _ in given})
    for criterion in made.criteria:
        mine = given.get((made.wish.user, criterion.name), {})
        for other in users:
            theirs = given.get((other, criterion.name), {})
            shared = sorted(mine.keys() & theirs.keys())
            if other != made.wish.user and shared:
                pairs = [mine[place] for place in shared], [theirs[place] for place in shared]
                yield _agreement(made, criterion, other, pairs)


def _agreement(
    made: LabelQueue, criterion: Criterion, other: str, given: tuple[list[str], list[str]]
) -> LabellerAgreement:
    mine, theirs = given
    ordered = criterion.scale == "1-5" or made.pairwise
    found = kappa(mine, theirs, made.grades(criterion), ordered=ordered)
    return LabellerAgreement(made.wish.user, other, criterion.name, len(mine), agree(mine, theirs), found)
