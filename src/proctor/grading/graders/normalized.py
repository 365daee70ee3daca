"""`normalized`: the answer is one of the right ones but for case, articles, marks around it and number spelling."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.grading.contract import GraderEntry, Mark, NoSettings, any_answers, marked
from proctor.grading.texts import same


def normalized(said: str, answers: Sequence[str], options: NoSettings) -> Mark:
    """
    >>> normalized("**the Eiffel Tower.**", ["Eiffel Tower"], NoSettings()).score
    1.0
    """
    return marked(same(said, answers), said)


ENTRY = GraderEntry(
    "normalized",
    1,
    "the answer is one of the right ones; case, articles, marks around it and the spelling of numbers do not count",
    "short texts",
    NoSettings,
    normalized,
    any_answers,
    read="announced",
)
