"""A text as words that can be found in another; case, accents, articles and number spelling do not count."""

# ruff: noqa: RUF001, RUF002 - quotes and letters of other scripts are data here
from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from proctor.grading.graders.quantities import SMALL
from proctor.grading.patterns import later

ARTICLES = frozenset({"a", "an", "the"})
FIGURES = {word: str(number) for number, word in enumerate(SMALL)}
# Scripts without spaces between words: each sign is a word of its own.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0dff"
TOKEN = later(
    rf"\d+(?:[.,]\d+)*|[{UNSPACED}]|(?:(?![{UNSPACED}])[^\W\d_])(?:(?![{UNSPACED}])(?:[^\W\d_]|[{MARKS}]))*[+#]*"
)
OWNER = later(r"'s\b")
ACCENTS = later(r"[\u0300-\u036f]")
THOUSANDS = later(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")


def folded(text: str) -> str:
    """The text in one case, without accents and compatibility forms.

    >>> folded("Beyoncé’s Ａ")
    "beyonce's a"
    """
    if text.isascii():
        return text.lower()
    text = text.replace("’", "'").replace("ʻ", "'").replace("\u00ad", "")
    return unicodedata.normalize("NFC", ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold()))


def spelled(token: str) -> str:
    """One spelling of a token: "1,000" is 1000, "seven" is 7."""
    if THOUSANDS.fullmatch(token):
        token = token.replace(",", "")
    return FIGURES.get(token, token)


@dataclass(frozen=True, slots=True)
class Words:
    """A text made ready for looking words up in it: the words between single spaces, and where each begins."""

    folded: str
    line: str
    offsets: tuple[int, ...]  # of each word in `line`
    spans: tuple[tuple[int, int], ...]  # of each word in `folded`
    count: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "count", len(self.offsets))

    def find(self, other: Words) -> Iterator[tuple[int, int]]:
        """Where the other's words stand in this text, one after the other: start and end in `folded`."""
        if not other.count:
            return
        place = self.line.find(other.line)
        while place >= 0:
            first = bisect_right(self.offsets, place + 1) - 1
            yield self.spans[first][0], self.spans[first + other.count - 1][1]
            place = self.line.find(other.line, place + 1)


def words_of(text: str) -> Words:
    """The words of a text, without articles unless there is nothing else.

    >>> words_of("The U.S. Army’s 1,000 men").line
    ' u s army 1000 men '
    >>> [words_of("It is the Eiffel Tower.").find(words_of("eiffel tower")).__next__()]
    [(10, 22)]
    """
    ready = folded(text)
    # The sign of possession goes, with its place kept.
    found = list(TOKEN.finditer(OWNER.sub("  ", ready)))
    kept = [match for match in found if match[0] not in ARTICLES] or found
    offsets, parts, place = [], [], 1
    for match in kept:
        word = spelled(match[0])
        offsets.append(place)
        parts.append(word)
        place += len(word) + 1
    line = f" {' '.join(parts)} " if parts else ""
    return Words(ready, line, tuple(offsets), tuple(match.span() for match in kept))
