"""The ways of reading replies, by name and version: proctor's ladder, and those of other benchmarks.

An extractor's version is part of what makes two scores comparable. `proctor/2` is the default;
`proctor/1` is kept for the runs that were read by it; the others read as their authors' programs
do, for figures that are to be set beside theirs.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from string import ascii_uppercase
from typing import Protocol, get_args

from proctor.errors import ConfigError
from proctor.grading.formats import AnswerFormat
from proctor.grading.ladder1 import ladder as ladder1
from proctor.grading.mirage import lettered_labels, mirage_letter
from proctor.grading.reading import ladder
from proctor.grading.vocabulary import Reading, Vocabulary
from proctor.grading.worth import answered, unanswered
from proctor.types import Grade, Item, Outcome, Reply


class Reader(Protocol):
    def __call__(
        self, item: Item, reply: Reply, *, kind: AnswerFormat, vocabulary: Vocabulary | None = None
    ) -> Reading: ...


class Find(Protocol):
    """Gives the answer that a text states, or None."""

    def __call__(self, text: str, item: Item, vocabulary: Vocabulary | None) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Extractor:
    """One way of reading replies, and the forms of answer that it can read."""

    name: str
    read: Reader
    kinds: frozenset[AnswerFormat]
    what: str

    def grade_reply(
        self, item: Item, reply: Reply, *, kind: AnswerFormat, vocabulary: Vocabulary | None = None
    ) -> Grade:
        """What the answer that it reads is worth, compared as answers of this form are.

        Raises ConfigError for a form that it cannot read.
        """
        reading = self.read(item, reply, kind=kind, vocabulary=vocabulary)
        if isinstance(reading, Outcome):
            return unanswered(item, reading, self.name)
        answer, rung = reading
        return answered(item, answer, rung, kind, self.name)


def read_with(
    item: Item,
    reply: Reply,
    *,
    kind: AnswerFormat,
    vocabulary: Vocabulary | None = None,
    name: str,
    find: Find,
) -> Reading:
    """The reading of a reply by an extractor without rungs."""
    check_kind(EXTRACTORS[name], kind)
    if reply.finish == "refused":
        return Outcome.REFUSED
    answer = find(reply.text, item, vocabulary)
    if answer is None:
        return Outcome.TRUNCATED if reply.finish == "length" else Outcome.NO_ANSWER
    return answer, None


def mirage(item: Item, reply: Reply, *, kind: AnswerFormat, vocabulary: Vocabulary | None = None) -> Reading:
    """As MIRAGE reads; an empty reply is wrong, as every reply asked for counts there."""
    check_kind(EXTRACTORS["mirage/1"], kind)
    check_labels(EXTRACTORS["mirage/1"], vocabulary)
    if not reply.text.strip():
        return Outcome.NO_ANSWER
    letter = mirage_letter(reply.text)
    if vocabulary is None:
        return letter, None
    label = lettered_labels(vocabulary).get(letter)
    return (label, None) if label else Outcome.NO_ANSWER


def first_stated(text: str, item: Item, vocabulary: Vocabulary | None) -> str | None:
    """The letter of the first "Answer: X", one of the item's; nothing is asked of what follows the letter."""
    letters = ascii_uppercase[: len(item.choices)]
    found = re.search(rf"Answer[ \t]*:[ \t]*\$?([{letters}])", text, re.IGNORECASE) if letters else None
    return found[1].upper() if found else None


LONGEST_LINE = 10_000  # characters; a longer first line is no label
PUNCTUATION = str.maketrans("", "", string.punctuation)


def bare(text: str) -> str:
    return text.translate(PUNCTUATION).strip().casefold()


def first_line(text: str, item: Item, vocabulary: Vocabulary | None) -> str | None:
    """The letter or label that is the whole first line, whatever its case and punctuation."""
    lines = text.lstrip()[:LONGEST_LINE].splitlines()
    written: Mapping[str, str] = (
        vocabulary.written
        if vocabulary is not None
        else {letter: letter for letter in ascii_uppercase[: len(item.choices)]}
    )
    by_form = {bare(word): name for word, name in written.items()}
    return by_form.get(bare(lines[0])) if lines else None


_ALL: frozenset[AnswerFormat] = frozenset(get_args(AnswerFormat))
_LETTERED: frozenset[AnswerFormat] = frozenset({"choices"})

EXTRACTORS: Mapping[str, Extractor] = {
    extractor.name: extractor
    for extractor in (
        Extractor(
            ladder.EXTRACTOR,
            ladder.read_reply,
            _ALL,
            "the ladder: what a reply states after its reasoning, in any of twelve languages, never a guess",
        ),
        Extractor(ladder1.EXTRACTOR, ladder1.read_reply, _ALL, "the ladder as it was, for runs read by it"),
        Extractor("mirage/1", mirage, _LETTERED | {"labels"}, "MIRAGE's reading: A where no letter is found"),
        Extractor(
            "simple-evals/1",
            partial(read_with, name="simple-evals/1", find=first_stated),
            _LETTERED,
            'the first "Answer: X"',
        ),
        Extractor(
            "first-line/1",
            partial(read_with, name="first-line/1", find=first_line),
            _LETTERED | {"labels"},
            "the first line, if it is a letter or a label and nothing else",
        ),
    )
}


def extractor(name: str, kinds: Iterable[AnswerFormat] = ()) -> Extractor:
    """The extractor of this name. Raises ConfigError for an unknown one, or one that cannot read these kinds."""
    if name not in EXTRACTORS:
        raise ConfigError(f"No extractor {name!r}. Extractors: {', '.join(EXTRACTORS)}")
    for kind in kinds:
        check_kind(EXTRACTORS[name], kind)
    return EXTRACTORS[name]


def check_kind(chosen: Extractor, kind: AnswerFormat) -> None:
    """Raises ConfigError."""
    if kind not in chosen.kinds:
        able = ", ".join(name for name, other in EXTRACTORS.items() if kind in other.kinds)
        raise ConfigError(
            f"Extractor {chosen.name} reads tasks of kind {', '.join(sorted(chosen.kinds))}; "
            f"this one's answers are of kind {kind}. For these: {able}"
        )


def check_labels(chosen: Extractor, known: Vocabulary | None) -> None:
    """Raises ConfigError for `mirage/1` on labels that MIRAGE gives no letters."""
    if chosen.name == "mirage/1" and known is not None and not lettered_labels(known):
        raise ConfigError(
            "Extractor mirage/1 reads tasks with lettered choices and PubMedQA's yes, no and maybe; "
            f"this one's labels are {', '.join(known.written)}. Read them with {ladder.EXTRACTOR}"
        )
