"""The verdicts of a judge's run, reply by reply: which criterion got which votes, and what they say of the reply."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from proctor.references import Criterion, GradingRubric, JudgingRef
from proctor.service.judging.votes import verdict
from proctor.store import AttemptRow, Store
from proctor.store.write.grades import KeptGrade
from proctor.types import Grade, Outcome, Run

EMPTY = "empty reply: there is nothing to judge"  # the note of a grade that no judge gave
UNREADABLE = "unreadable"  # what stands in a note for a vote that could not be read
Key = tuple[str, int]  # item id and repeat of a reply


@dataclass(frozen=True, slots=True)
class ReplyVerdicts:
    """What a judge, or a panel, said of one reply: by criterion a row for each vote, in their order."""

    key: Key
    criteria: Sequence[Criterion]
    rows: Mapping[str, Sequence[AttemptRow]]
    votes: Mapping[str, Sequence[str | None]] = field(default_factory=dict)  # None: unreadable

    def complete(self, votes: int) -> bool:
        """Whether every criterion was asked as often as it was to be: an error is no asking."""
        return all(
            sum(row.outcome is not Outcome.ERROR for row in self.rows.get(each.name, ())) >= votes
            for each in self.criteria
        )


def verdicts(store: Store, run: Run) -> Iterator[ReplyVerdicts]:
    """By reply, in the order in which they were judged; each as far as it was asked. Not of pairs."""
    ref = run.cell.source
    assert isinstance(ref, JudgingRef)
    # The askings of one reply follow each other, so that one reply at a time is held.
    for key, rows in groupby(store.latest(run.id), key=lambda row: asked_of(row.item_id)[1:]):
        yield of_rows(key, list(rows), ref.rubric)


def of_rows(key: Key, rows: Sequence[AttemptRow], rubric: GradingRubric) -> ReplyVerdicts:
    criteria = rubric.of(key[0])
    by_name = {each.name: [row for row in rows if row.task == each.name] for each in criteria}
    votes = {
        name: [
            row.answer if row.score is not None else None for row in of if row.outcome is not Outcome.ERROR
        ]
        for name, of in by_name.items()
    }
    return ReplyVerdicts(key, criteria, by_name, votes)


def asked_of(item_id: str) -> tuple[str, str, int]:
    """Criterion, item and repeat that an item of a judging is about, as `JudgingSource` names it.

    >>> asked_of("correct/q/17/0")
    ('correct', 'q/17', 0)
    """
    criterion, _, rest = item_id.partition("/")
    ident, _, repeat = rest.rpartition("/")
    return criterion, ident, int(repeat)


def graded(given: ReplyVerdicts, attempt: int, name: str) -> KeptGrade | None:
    """The weighted mean of what its criteria are worth; None where one of them has no verdict: it stays ungraded."""
    worths = [(each, verdict(given.votes.get(each.name, ()), each.worth)) for each in given.criteria]
    known = [(each, worth) for each, worth in worths if worth is not None]
    if not known or len(known) < len(worths):
        return None
    score = sum(each.weight * worth for each, worth in known) / sum(each.weight for each, _ in known)
    note = "; ".join(_told(each, given.votes[each.name]) for each, _ in known)
    costs = [row.cost_usd for rows in given.rows.values() for row in rows if row.cost_usd is not None]
    answer = _answer(known, score)
    grade = Grade(
        outcome_of(score), score, answer, grader=name, note=note, cost_usd=sum(costs) if costs else None
    )
    return KeptGrade(*given.key, attempt, time.time(), grade)


def outcome_of(score: float) -> Outcome:
    if score == 1.0:
        return Outcome.CORRECT
    return Outcome.WRONG if score == 0.0 else Outcome.ANSWERED


def _answer(known: Sequence[tuple[Criterion, float]], score: float) -> str:
    """The grade's name where there is one criterion, else the score."""
    criterion, worth = known[0]
    name = next((grade for grade, each in criterion.worth.items() if each == worth), None)
    return name if name is not None and len(known) == 1 else f"{score:.3g}"


def _told(criterion: Criterion, votes: Sequence[str | None]) -> str:
    return f"{criterion.name}: {', '.join(vote or UNREADABLE for vote in votes)}"
