"""What a reply can be read as: the kind of answer, the options or labels, and whether the reply was cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_uppercase

from proctor.suites.reading.forms import words
from proctor.suites.shapes import Kind
from proctor.suites.texts import key, light, peel
from proctor.suites.vocabulary import Vocabulary


@dataclass(frozen=True)  # not slotted: the forms of the options are kept once they are needed
class Asked:
    """One item, as its reply is read. `cut` is "" for a whole reply, "length", or "cut?" for one that looks cut."""

    kind: Kind
    vocabulary: Vocabulary | None
    choices: Sequence[str]
    cut: str = ""
    question: str = ""  # what the model was shown

    @cached_property
    def letters(self) -> str:
        return ascii_uppercase[: len(self.choices)]

    @cached_property
    def lights(self) -> tuple[str, ...]:
        return tuple(light(text) for text in self.choices)

    @cached_property
    def words(self) -> tuple[tuple[str, ...], ...]:
        return tuple(words(text) for text in self.choices)

    @cached_property
    def by_letter(self) -> Mapping[str, str]:
        return dict(zip(ascii_uppercase, self.choices, strict=False))

    def may_go_on(self, value: str, found: str) -> bool:
        """True when a value cut at its end could have become another answer than the one found."""
        if self.kind in ("number", "letters"):
            return True  # "3" may become "3.5", and "A" may become "A, C"
        ours = key(peel(value))
        if self.vocabulary is not None:
            named = self.vocabulary.words.items()
            return any(name != found and word.startswith(ours) for word, name in named)
        rivals = (text for letter, text in self.by_letter.items() if letter != found)
        return len(ours) > 1 and any(key(peel(text)).startswith(ours) for text in rivals)
