"""What a read answer is worth: the outcome and the score that it gives an attempt.

A wrong answer scores 0, and so does a reply in which none was read; where a row has no target
nothing is scored at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from proctor.errors import ProctorError
from proctor.grading.formats import AnswerFormat
from proctor.grading.texts import same, squad, token_f1
from proctor.types import Grade, Item, Outcome

Worth = tuple[bool, float]

HIGHEST = 5.0
CLOSE = 0.5  # a number this near to the target counts as right


def among(answer: str, accepted: Sequence[str]) -> Worth:
    right = answer in accepted
    return right, float(right)


def in_words(answer: str, accepted: Sequence[str]) -> Worth:
    right = same(answer, accepted)
    return right, float(right)


def near(answer: str, accepted: Sequence[str]) -> Worth:
    """Right within half a point; the score falls by a fifth for each point."""
    # Rounded, because 3.8 - 3.3 is a little more than 0.5 in binary.
    distance = min(round(abs(float(answer) - float(target)), 6) for target in accepted)
    return distance <= CLOSE, 1.0 - distance / HIGHEST


def same_set(answer: str, accepted: Sequence[str]) -> Worth:
    right = set(answer.split(",")) in [set(target.split(",")) for target in accepted]
    return right, float(right)


def entity_score(answer: str, accepted: Sequence[str]) -> tuple[bool, float]:
    """Whether the answer is one of the accepted texts, and its best token F1 with any of them."""
    right = squad(answer) in {squad(text) for text in accepted}
    return right, 1.0 if right else max((token_f1(answer, text) for text in accepted), default=0.0)


WORTH: Mapping[AnswerFormat, Callable[[str, Sequence[str]], Worth]] = {
    "choices": among,
    "labels": among,
    "text": in_words,
    "number": near,
    "letters": same_set,
    "entity": entity_score,
}


def answered(item: Item, answer: str, rung: int | None, kind: AnswerFormat, grader: str) -> Grade:
    """The grade that `grader` gives a reply that states this answer."""
    if item.target is None:
        return Grade(Outcome.ANSWERED, None, answer, rung, grader)
    right, score = WORTH[kind](answer, item.accepted)
    return Grade(Outcome.CORRECT if right else Outcome.WRONG, score, answer, rung, grader)


def unanswered(item: Item, outcome: Outcome, grader: str) -> Grade:
    """The grade that `grader` gives a reply that states no answer."""
    return Grade(outcome, None if item.target is None else 0.0, grader=grader)


def not_graded(error: ProctorError) -> Grade:
    """What stands where a grader failed: nobody's grade, which measures nothing and says why."""
    return Grade(Outcome.ANSWERED, None, note=f"not graded: {error}")
