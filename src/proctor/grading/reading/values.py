"""Which reader reads one announced value of each kind of task, and what is no value but the instruction repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from proctor.grading.formats import AnswerFormat
from proctor.grading.reading.choice import read_choice
from proctor.grading.reading.label import read_label
from proctor.grading.reading.letters import read_letters
from proctor.grading.reading.number import read_number
from proctor.grading.reading.question import Question
from proctor.grading.vocabulary import Found

SHORT_CHARS = 200

READERS: Mapping[AnswerFormat, Callable[[str, Question], Found]] = {
    "choices": read_choice,
    "labels": read_label,
    "number": lambda value, asked: read_number(value),
    "letters": read_letters,
}


def is_placeholder(value: str) -> bool:
    """True for the instruction repeated: "<letter>", "[your answer]", "...", "A/B/C/D"."""
    plain = value.strip(" *`\"'.()\r\t")
    if not plain:
        return "..." in value
    if len(plain) > SHORT_CHARS:
        return False
    if plain.startswith("<") and plain.endswith(">"):
        return True
    low = plain.strip("[]{}<>").lower()
    return low in PLACEHOLDERS


PLACEHOLDERS = frozenset(
    {
        "your answer",
        "letter",
        "answer",
        "your choice",
        "option letter",
        "letter of your choice",
        "x",
        "$letter",
        "a|b|c|d",
        "a/b/c/d",
        "label",
    }
) - {"x"}
