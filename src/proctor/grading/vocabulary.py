"""What a reader gives, and the labels of a task made ready for reading; both ladders rest on this."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from proctor.grading.formats import Label
from proctor.grading.patterns import later
from proctor.grading.texts import SEPARATOR, key, peel
from proctor.types import Outcome


class Unclear(Enum):
    UNCLEAR = "an answer, but not to one choice"


UNCLEAR = Unclear.UNCLEAR
Found = str | Unclear | None
# What a reader makes of a whole reply: its answer and the rung that found it (None where it has none), or what became
# of a reply that states none.
Reading = tuple[str, int | None] | Outcome


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The labels of a task, ready for reading.

    `words` holds each word's label and `pattern` finds them; `written` are only the words that the
    model is asked to write, with their labels.
    """

    words: Mapping[str, str]
    pattern: re.Pattern[str]
    written: Mapping[str, str]


def vocabulary(labels: Sequence[Label]) -> Vocabulary:
    """Compile labels; a name outranks another label's synonym, and what the model is shown outranks both."""
    words = {key(synonym): label.name for label in labels for synonym in label.synonyms}
    words |= {key(peel(label.name)): label.name for label in labels if peel(label.name)}
    words |= {key(label.name): label.name for label in labels}
    written = {label.shown or label.name: label.name for label in labels}
    words |= {key(word): name for word, name in written.items()}
    longest = sorted(words, key=lambda word: (-len(word), word))
    each = ("[\\s_-]+".join(re.escape(part) for part in SEPARATOR.split(word)) for word in longest)
    # Not inside a word or a compound: "unacceptable" does not hold "acceptable".
    return Vocabulary(words, later(rf"(?<!\w)(?<!\w-)(?:{'|'.join(each)})(?!\w)(?!-\w)"), written)
