"""How the answer to an open question is found in a reply, before anything is compared."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.grading.contract import Read
from proctor.grading.reading.forms import lowered, plain
from proctor.grading.reading.free import on_line
from proctor.grading.reading.jsons import in_json
from proctor.grading.reading.ladder import asked_of, climb
from proctor.grading.reading.question import Question
from proctor.grading.reading.said import before_invention, spoken, window
from proctor.types import Item, Reply

WHOLE = 3  # the rung of a reply that is taken as it is
ANNOUNCED = (1, 2)  # the rungs of an answer under an answer key, and behind "Answer:"


@dataclass(frozen=True, slots=True)
class FoundAnswer:
    """The text to compare and the rung that found it; no text where the reply gives none, `cut` where it was cut."""

    text: str | None
    rung: int | None = None
    cut: bool = False


def find_answer(item: Item, reply: Reply, read: Read) -> FoundAnswer:
    """What a reply gives as its answer, reasoning removed first.

    A reply that the length limit cut is not taken as a whole: what it would have come to is not known.
    """
    said = spoken(reply.text)
    asked = asked_of(item, reply, "text", None)
    if said is None:
        return FoundAnswer(None, cut=True)
    if not said:
        return FoundAnswer(None, cut=reply.finish == "length")
    if read == "announced":
        text, rung = climb(said, asked)
        return FoundAnswer(text, rung, cut=text is None and bool(asked.cut))
    if read == "stated":
        said, invented = before_invention(said, asked)
        announced = in_announcement(window(said), asked)
        if announced is not None:
            return announced
        if invented:
            return FoundAnswer(said, WHOLE)
    return FoundAnswer(None, cut=True) if reply.finish == "length" else FoundAnswer(said, WHOLE)


def in_announcement(text: str, asked: Question) -> FoundAnswer | None:
    """An answer under an answer key, or behind "Answer:"; none in it where it is announced and declined."""
    said = plain(text)
    for rung, found in ((1, in_json(text, asked)), (2, on_line(said, text, lowered(said), asked))):
        if found is not None:
            return FoundAnswer(found if isinstance(found, str) else None, rung)
    return None
