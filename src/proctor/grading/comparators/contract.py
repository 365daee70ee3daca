"""What a comparator is: a pure comparison of two texts, with settings of its own, and what it finds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Tells = Literal["nothing more", "labels", "fields"]


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a comparison of two texts found.

    `alike` says whether they come to the same. `one` and `two` are what was compared where that is not the whole
    text; None where a text holds none. `fields` says of each field of JSON whether both have the same.
    """

    alike: bool
    one: str | None = None
    two: str | None = None
    fields: Mapping[str, bool] = field(default_factory=dict)
    note: str | None = None


O = TypeVar("O")  # noqa: E741 - a comparator's options


@dataclass(frozen=True, slots=True)
class ComparatorEntry(Generic[O]):
    """One comparator: a row of the table.

    `options` is a frozen dataclass of settings with defaults, made with grading/contract.py's `setting`. `compare`
    is pure, and its time is bounded for texts of bounded length. `fault` says why settings cannot be used, or None.
    """

    name: str
    what: str
    options: type[O]
    compare: Callable[[str, str, O], Likeness]
    fault: Callable[[O], str | None] = lambda _options: None
    tells: Tells = "nothing more"


@dataclass(frozen=True, slots=True)
class Comparator:
    """A comparator with its settings. `words` is what `parse_comparator` takes."""

    words: str
    tells: Tells
    _compare: Callable[[str, str], Likeness]

    def __call__(self, one: str, two: str) -> Likeness:
        return self._compare(one, two)


def opened(entry: ComparatorEntry[Any], options: Any, words: str) -> Comparator:
    return Comparator(words, entry.tells, lambda one, two: entry.compare(one, two, options))
