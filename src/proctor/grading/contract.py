"""What a grader of open answers is: one entry with settings of its own, a pure comparison, and the mark it gives.

Three choices are apart: the form of answer that the prompt asks for, how the answer is found in the reply
(`Read`, found.py), and how it is compared with the right ones (a `GraderEntry`, one file in graders/).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from proctor.grading.formats import AnswerFormat

# stated: the announced answer where there is one, else the whole reply. announced: as a careful reader
# takes it ("Answer: ...", a short reply, "the answer is ..."), or none. whole: all of the reply.
Read = Literal["stated", "announced", "whole"]


@dataclass(frozen=True, slots=True)
class Mark:
    """What a comparison found.

    `score` is 1.0 for a right answer, 0.0 for a wrong one, between for parts of one, None where nothing
    was measured; then `note` says why. `answer` is what was compared; None where the reply holds no
    answer of the kind.
    """

    score: float | None
    answer: str | None
    note: str | None = None


O = TypeVar("O")  # noqa: E741 - a grader's options


@dataclass(frozen=True, slots=True)
class GraderEntry(Generic[O]):
    """One grader: a row of the table.

    `options` is a frozen dataclass of settings with defaults, made with `setting`. `compare` takes the
    text that was found in a reply, the right answers of its row (the target, then aliases) and the
    settings; it is pure, and its time is bounded for any text of bounded length. `fault` says why the
    answers of a row cannot be compared with, or None. With `without_gold` it also grades items of
    which no right answer is known.
    """

    name: str
    version: int
    what: str
    needs: str
    options: type[O]
    compare: Callable[[str, Sequence[str], O], Mark]
    fault: Callable[[Sequence[str], O], str | None]
    read: Read = "stated"
    without_gold: bool = False
    on_line: Callable[[str, Sequence[str], O], Mark] | None = (
        None  # compares announced answers; None: as others
    )
    kind: AnswerFormat = "text"  # of the answers; those of other kinds are found by the ladder alone

    @property
    def full_name(self) -> str:
        return f"{self.name}/{self.version}"


def setting(
    default: Any, says: str, *, one_of: Sequence[str] = (), rest: bool = False, file: bool = False
) -> Any:
    """A field of a grader's options.

    `rest`: on the command line it takes all the text that is left, commas too. `file`: a text that does
    not begin with a brace is the path of a file, whose text is taken.
    """
    return field(default=default, metadata={"says": says, "one_of": one_of, "rest": rest, "file": file})


@dataclass(frozen=True, slots=True)
class NoSettings:
    """The options of a grader that has none."""


def any_answers(answers: Sequence[str], options: object) -> str | None:
    """The `fault` of graders that compare with any text."""
    return None


RIGHT, WRONG = 1.0, 0.0


def marked(right: bool, answer: str | None, note: str | None = None) -> Mark:
    """The mark of an answer that is right or wrong."""
    return Mark(RIGHT if right else WRONG, answer, note)


HEAD, TAIL = 10_000, 20_000  # characters of a longer text that are looked at


def bounded(text: str) -> str:
    """The text, or the beginning and the end of a very long one, as lines of their own."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}\n\n{text[-TAIL:]}"
