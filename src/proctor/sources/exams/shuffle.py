"""Lettered choices in an order of their own for each item, seeded by its id; the target follows."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from string import ascii_uppercase

from proctor.grading.patterns import later
from proctor.sources.exams.rows.normal_form import Row

# "None of the above", "Both of these": true or false by where they stand.
ABOVE = later(
    r"\W*(?:none|all|both|neither|any|either|some|two|more than one|only one)\b.{0,20}\b"
    r"(?:above|these|those|them|foregoing|mentioned|options?|choices|answers)\b.{0,30}",
    re.IGNORECASE,
)
ALONE = later(r"\W*(?:none|all|both|neither)\W*", re.IGNORECASE)
# "Both A and B", "A, C and D only", "a. and c. above": they name other options by letter. Small letters
# count only where a word says so.
JOINED = r"\s*(?:[,&/.]|\band\b|\bor\b|\bnor\b)[\s,.]*(?:and\b|or\b)?\s*"
CAPITALS = rf"\(?[A-J]\)?(?:{JOINED}\(?[A-J]\)?)+"
LETTERS = rf"\(?[A-Ja-j]\)?(?:{JOINED}\(?[A-Ja-j]\)?)+"
CALLED = r"(?i:both|either|neither|all(?: of)?|only|options?|choices?|answers?)\s+"
TAIL = r"\.?\s+(?i:only|above|are\b.{0,20})"
BY_LETTER = later(
    rf"\W*(?:{CAPITALS}(?:{TAIL})?|{CALLED}{LETTERS}(?:{TAIL})?|{LETTERS}{TAIL}|(?i:both) [A-Da-d][A-Da-d])\W*"
)


def shuffled(row: Row, *, seed: int) -> Row:
    """The row with its choices permuted; its letters, one or several, name the same texts as before.

    Closing choices like "none of the above" stay at the end. A row whose choices name each other by
    letter, or point to those above them from the middle, is left as it is.
    """
    choices: Sequence[str] = row.fields["choices"]
    order = permutation(choices, f"{seed}|shuffle|{row.id}")
    if order == list(range(len(choices))):
        return row
    fields = {**row.fields, "choices": [choices[place] for place in order]}
    moved = {ascii_uppercase[old]: ascii_uppercase[new] for new, old in enumerate(order)}
    target = None if row.target is None else renamed(row.target, moved)
    return replace(row, fields=fields, target=target, aliases=tuple(renamed(a, moved) for a in row.aliases))


def renamed(target: str, moved: dict[str, str]) -> str:
    """ "A,C" under the new letters; "none" stays."""
    letters = target.split(",")
    return ",".join(sorted(moved[letter] for letter in letters)) if set(letters) <= moved.keys() else target


def permutation(choices: Sequence[str], luck: str) -> list[int]:
    """Which old choice stands at each place."""
    free = len(choices)
    while free and is_relative(choices[free - 1]):
        free -= 1
    if any(is_relative(text) for text in choices[:free]) or any(map(BY_LETTER.fullmatch, choices)):
        free = 0
    drawn = sorted(range(free), key=lambda place: hashlib.sha256(f"{luck}|{place}".encode()).digest())
    return [*drawn, *range(free, len(choices))]


def is_relative(text: str) -> bool:
    return bool(ABOVE.fullmatch(text) or ALONE.fullmatch(text))
