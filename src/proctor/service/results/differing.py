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
    first, second = spans(one, two)
    return RequestBeside(tuple(first), tuple(second), tuple(keys_of(one, two)))
