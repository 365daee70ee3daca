"""`none`: replies are kept and nothing is compared, for answers that only a person or a judge model could grade."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.grading.contract import GraderEntry, Mark, NoSettings, any_answers

WHY = "not graded: whether this reply says what the right answer says is for a person or a judge model"


def none(said: str, answers: Sequence[str], options: NoSettings) -> Mark:
    return Mark(None, said, WHY)


ENTRY = GraderEntry(
    "none",
    1,
    "no score: replies are kept for a person or a judge model to grade",
    "nothing",
    NoSettings,
    none,
    any_answers,
    without_gold=True,
)
