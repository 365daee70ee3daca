"""What a reply can be read as: the kind of answer, the options or labels, and whether the reply was cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from proctor.grading.formats import AnswerFormat
from proctor.grading.reading.forms import words
from proctor.grading.texts import key, light, peel
from proctor.grading.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Question:
    """One item, as its reply is read. `cut` is "" for a whole reply, "length", or "cut?" for one that looks cut.

    The options stand by their letters, in light form and as words, too.
    """

    kind: AnswerFormat
    vocabulary: Vocabulary | None
    choices: Sequence[str]
    cut: str = ""
    question: str = ""  # what the model was shown
    letters: str = field(init=False)
    by_letter: Mapping[str, str] = field(init=False)
    lights: tuple[str, ...] = field(init=False)
    words: tuple[tuple[str, ...], ...] = field(init=False)

    def __post_init__(self) -> None:
        forms = {
            "letters": ascii_uppercase[: len(self.choices)],
            "by_letter": dict(zip(ascii_uppercase, self.choices, strict=False)),
            "lights": tuple(light(text) for text in self.choices),
            "words": tuple(words(text) for text in self.choices),
        }
        for name, value in forms.items():
            object.__setattr__(self, name, value)

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
