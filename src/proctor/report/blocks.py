"""What a report is made of, before it is HTML or Markdown: headings, paragraphs, notices, tables, one plot."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence nobody may overlook: `lead` says what it is, `text` the rest."""

    kind: Literal["warning", "verdict"]
    lead: str
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """The first cell of each row names the row. `numbers` are the columns that hold figures, from 0."""

    caption: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Dot:
    """One value with the ends of its interval."""

    label: str
    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Plot:
    """Values and intervals on one axis. Every number in it also stands in a table."""

    title: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class PairWalked:
    """A pair's walk, look by look, and the boundary it had to reach. Where it came to also stands in a table.

    `points` are (items, walk, boundary); a boundary of None is none. `said` tells the drawing in words.
    """

    first: str
    second: str
    said: str
    of: int
    points: tuple[tuple[int, float, float | None], ...]


@dataclass(frozen=True, slots=True)
class Listing:
    entries: tuple[str, ...]


Block = Heading | Paragraph | Notice | Table | Plot | PairWalked | Listing


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    subtitle: str
    blocks: tuple[Block, ...]


_BIDI = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def plain(text: str) -> str:
    """One line without what a page must not hold: control characters, halves of surrogate pairs, marks that
    turn the direction of writing (a name could otherwise pose as another one). Each becomes U+FFFD.

    >>> plain("two\\n lines"), plain("a\\x00b") == "a\\ufffdb"
    ('two lines', True)
    """
    line = " ".join(text.split())
    return "".join("\ufffd" if c in _BIDI or unicodedata.category(c) in ("Cc", "Cs") else c for c in line)
