"""What form an answer can have, and what a label is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# choices: one letter. labels: one of a few names. text: free words. number: a number in a range.
# letters: every letter that is right ("A,C", or "none"). entity: the text of one of the row's entities.
AnswerFormat = Literal["choices", "labels", "text", "number", "letters", "entity"]


@dataclass(frozen=True, slots=True)
class Label:
    """An answer: its name in the rows, other words that mean it, and how the model is asked to write it."""

    name: str
    synonyms: tuple[str, ...] = ()
    shown: str = ""  # the name itself unless given

    def __post_init__(self) -> None:
        if not self.shown:
            object.__setattr__(self, "shown", self.name)
