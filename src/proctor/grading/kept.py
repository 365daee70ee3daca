"""Replies that nothing is compared with: kept as they are, told apart by how they end."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.types import Grade, Item, Outcome, Reply

ANSWER_CHARACTERS = 200


def kept(_item: Item, reply: Reply) -> Grade:
    """The outcome of a reply without a right answer; the beginning of its text stands for it in lists.

    Vectors and what else has no text end otherwise than by "stop": they are whole.
    """
    if reply.finish == "refused":
        return Grade(Outcome.REFUSED, None)
    answer = reply.text[:ANSWER_CHARACTERS] or None
    if reply.finish == "length":
        return Grade(Outcome.TRUNCATED, None, answer)
    if reply.finish == "stop" and not reply.text.strip():
        return Grade(Outcome.NO_ANSWER, None)
    return Grade(Outcome.ANSWERED, None, answer)


@dataclass(frozen=True, slots=True)
class KeptAsTheyAre:
    """`kept` as a grader."""

    name: str = ""

    def grade(self, item: Item, reply: Reply) -> Grade:
        return kept(item, reply)
