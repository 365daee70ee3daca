"""Items and replies for the tests of graders."""

from __future__ import annotations

from proctor.grading.spec import parse_grader
from proctor.types import Chat, Gold, Grade, Item, Message, Reply


def item(*answers: str, choices: tuple[str, ...] = ()) -> Item:
    """An item with these right answers; without any, nothing is known of the right one."""
    gold = Gold.of(answers[0] if answers else None, answers[1:])
    return Item("open/1", "open", Chat((Message("user", "Which one is it?"),)), gold, choices)


def graded(grader: str, reply: str | Reply, *answers: str) -> Grade:
    return parse_grader(grader).grade(item(*answers), Reply(reply) if isinstance(reply, str) else reply)
