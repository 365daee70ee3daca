"""Where two replies differ: by words, and by fields where both hold JSON."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.grading.comparators.json import KeyLikeness, keys_of
from proctor.grading.comparators.spans import Span, spans


@dataclass(frozen=True, slots=True)
class RequestBeside:
    """One reply in spans that are the same or gone, the other in spans that are the same or new, and JSON by paths."""

    first: tuple[Span, ...]
    second: tuple[Span, ...]
    keys: tuple[KeyLikeness, ...]

    @property
    def same(self) -> bool:
        return all(span.kind == "same" for span in (*self.first, *self.second))


def differing(one: str, two: str) -> RequestBeside:
    """
    >>> [key.path for key in differing('{"a": 1}', '{"a": 2}').keys if not key.alike]
    ['$.a']
    """
    first, second = (_smooth(found) for found in spans(one, two))
    return RequestBeside(first, second, tuple(keys_of(one, two)))


def _smooth(found: list[Span]) -> tuple[Span, ...]:
    """Spaces between two words that differ are marked with them: a phrase is read as one piece.

    >>> _smooth([Span("gone", "a"), Span("same", " "), Span("gone", "b"), Span("same", " c")])
    (Span(kind='gone', text='a b'), Span(kind='same', text=' c'))
    """
    told: list[Span] = []
    for span in found:
        blank = (
            len(told) > 1
            and told[-1].kind == "same"
            and told[-1].text.isspace()
            and "\n" not in told[-1].text
        )
        if blank and span.kind == told[-2].kind:
            told[-2:] = [Span(span.kind, told[-2].text + told[-1].text + span.text)]
        else:
            told.append(span)
    return tuple(told)
