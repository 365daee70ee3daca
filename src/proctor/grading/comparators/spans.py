"""Where two texts differ, word by word, as spans for a page: what both have, what is gone, what is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

from proctor.grading.patterns import later

WORDS = later(r"\s+|\w+|[^\w\s]")
LINES = later(r"[^\n]*\n|[^\n]+")
MOST_PIECES = (
    2_000  # of either text, between what both begin and end with: a comparison takes their product of steps
)


class Span(NamedTuple):
    kind: Literal["same", "gone", "new"]
    text: str


def spans(one: str, two: str) -> tuple[list[Span], list[Span]]:
    """The first text in spans that are the same or gone, the second in spans that are the same or new.

    Texts of many words are compared by lines, very long ones only by how they begin and end.

    >>> spans("a red car", "a blue car")[1]
    [Span(kind='same', text='a '), Span(kind='new', text='blue'), Span(kind='same', text=' car')]
    """
    if one == two:
        return _joined([Span("same", one)]), _joined([Span("same", two)])
    first, second = WORDS.findall(one), WORDS.findall(two)
    before = _shared(first, second)
    after = _shared(first[before:][::-1], second[before:][::-1])
    middles = (first[before : len(first) - after], second[before : len(second) - after])
    head, tail = "".join(first[:before]), "".join(first[len(first) - after :])
    gone, new = _middle(*middles)
    ends = (Span("same", head), Span("same", tail))
    return _joined([ends[0], *gone, ends[1]]), _joined([ends[0], *new, ends[1]])


def _shared(one: Sequence[str], two: Sequence[str]) -> int:
    """With how many equal pieces both begin."""
    for place, (ours, theirs) in enumerate(zip(one, two, strict=False)):
        if ours != theirs:
            return place
    return min(len(one), len(two))


def _middle(one: list[str], two: list[str]) -> tuple[list[Span], list[Span]]:
    if max(len(one), len(two)) > MOST_PIECES:
        one, two = (LINES.findall("".join(pieces)) for pieces in (one, two))
    if max(len(one), len(two)) > MOST_PIECES:
        return [Span("gone", "".join(one))], [Span("new", "".join(two))]
    gone: list[Span] = []
    new: list[Span] = []
    for tag, a, b, c, d in SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        gone.append(Span("same" if tag == "equal" else "gone", "".join(one[a:b])))
        new.append(Span("same" if tag == "equal" else "new", "".join(two[c:d])))
    return gone, new


def _joined(told: Sequence[Span]) -> list[Span]:
    return list(_runs(span for span in told if span.text))


def _runs(told: Iterator[Span]) -> Iterator[Span]:
    """Neighbours of one kind as one."""
    last: Span | None = None
    for span in told:
        if last is not None and last.kind == span.kind:
            last = Span(last.kind, last.text + span.text)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
