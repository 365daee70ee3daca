"""What a read answer is worth: the outcome and the score that it gives an attempt.

A wrong answer scores 0, and so does a reply in which none was read; where a row has no target
nothing is scored at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from proctor.suites.shapes import Kind
from proctor.suites.texts import same
from proctor.suites.values import CLOSE, HIGHEST, entity_score
from proctor.types import Item, Outcome, Reading

Worth = tuple[bool, float]


def listed(answer: str, accepted: Sequence[str]) -> Worth:
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


WORTH: Mapping[Kind, Callable[[str, Sequence[str]], Worth]] = {
    "choices": listed,
    "labels": listed,
    "text": in_words,
    "number": near,
    "letters": same_set,
    "entity": entity_score,
}


def answered(item: Item, answer: str, rung: int | None, kind: Kind) -> Reading:
    """The reading of a reply that states this answer."""
    if item.target is None:
        return Reading(Outcome.ANSWERED, answer, rung, None)
    right, score = WORTH[kind](answer, (item.target, *item.aliases))
    return Reading(Outcome.CORRECT if right else Outcome.WRONG, answer, rung, score)


def unanswered(item: Item, outcome: Outcome) -> Reading:
    """The reading of a reply that states no answer."""
    return Reading(outcome, None, None, None if item.target is None else 0.0)
