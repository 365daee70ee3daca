"""`proctor/1`: reading one short value as a number from 0 to 5, or as a set of letters.

Like readers.py: a reader gives the answer, UNCLEAR for an answer that is none of those that may be
given or several at once, and None when the value states no answer.
"""

# ruff: noqa: RUF001 - the dashes and bullets that models write are data here
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from string import ascii_uppercase

from proctor.grading.ladder1.readers import (
    DOUBT,
    LETTERED,
    REASON,
    STATED,
    by_text,
    light_letters,
    tail_agrees,
)
from proctor.grading.patterns import later
from proctor.grading.texts import LATEX, MARKUP, PUNCTUATION, light, peel
from proctor.grading.vocabulary import UNCLEAR, Found
from proctor.grading.worth import HIGHEST

# Numbers ----------------------------------------------------------------------------------------

# What names the scale or a sentence and is no answer: "4 out of 5", "on a scale of 0-5", "sentence 2".
OF_FIVE = later(
    r"(?<=\d)\s{0,3}(?:/|out of|of)\s{0,3}(?:a (?:possible|maximum)(?: of)? )?5(?:[.,]0+)?(?![\w/%]|[.,]\d)"
)
SCALE = later(r"\b(?:scale|range) (?:of |from |between )?0(?:\.0)?\s?(?:to|and|-|–|—|\.\.)\s?5(?:\.0)?\b")
SENTENCE = later(r"\bsentences? [12](?:(?: and |, | & |/)(?:sentence )?[12])?\b")
FIGURE = later(r"[\w.,+%/-]*\d[\w.,+%/-]*")
PLAIN = later(r"[+-]?(?:\d{1,9}(?:[.,]\d{1,15})?|\.\d{1,15})")
# "more than 3" and "not 4" name a number without giving it.
BOUND = later(r"(?:\b(?:not|than|over|under|above|below|least|most|between)|n't|[<>≤≥~])\s{0,3}$")


def read_number(value: str, *, strict: bool = False) -> Found:
    """The one number from 0 to 5 that a value gives, in its shortest spelling.

    With `strict` the value may hold nothing else.

    >>> read_number("**4 out of 5**"), read_number("3.80"), read_number("about 3.5."), read_number("similar")
    ('4', '3.8', '3.5', None)
    """
    # A point may open a number, so only the end loses its punctuation.
    plain = light(LATEX.sub("", value[:400])).strip(MARKUP).rstrip(PUNCTUATION + MARKUP)
    for words in (OF_FIVE, SCALE, SENTENCE):
        plain = words.sub(" ", plain)
    figures = {figure[0].rstrip(".,"): figure.start() for figure in FIGURE.finditer(plain)}
    if not figures or (strict and plain.strip(MARKUP) not in figures):
        return None
    if any(PLAIN.fullmatch(figure) is None for figure in figures):
        return UNCLEAR
    if any(BOUND.search(plain, max(0, place - 12), place) for place in figures.values()):
        return UNCLEAR
    numbers = {float(figure.replace(",", ".")) for figure in figures}
    number = numbers.pop()
    return spelled(number) if not numbers and 0.0 <= number <= HIGHEST else UNCLEAR


def spelled(number: float) -> str:
    """At most three decimals, no zeros at the end.

    >>> spelled(3.80), spelled(5.0), spelled(0.0), spelled(2.3333333)
    ('3.8', '5', '0', '2.333')
    """
    return f"{abs(number):.3f}".rstrip("0").rstrip(".")


# Letters ----------------------------------------------------------------------------------------

LONGEST = 4000  # characters that letters with their texts may take
NONE_RIGHT = later(
    r"none(?: of (?:(?:the|these|those) )?(?:above|them|these|those|options?|answers?|choices?|candidates?)"
    r"(?: answers?| options?)?)?(?: (?:is|are) (?:correct|right|true))?"
)
ALL_RIGHT = later(
    r"all(?: of)?(?: (?:the|these|those|them))?(?: (?:above|options|answers|choices))?(?: are (?:correct|right|true))?"
)
ONE = later(
    r"[\s(\[{*_\"'`$]*(?:(?i:both|only|just) )?(?:(?i:options?|choices?|letters?) )?[(\[{*_\"'`]*"
    r"([A-Za-z])(?!\w)[)\]}*_\"'`]*"
)
JOIN = later(r"\s{0,5}(?:[,;/&+|]\s{0,5}(?:and\b|&)?|\band\b|\bund\b|\bet\b|\by\b)\s{0,5}")
# A space alone joins only where nothing but letters follows: "A C D", not "A (B is wrong)".
SPACE = later(r"\s{1,5}(?=(?:[(*]{0,3}[A-Z][)*]{0,3}(?:\s{1,5}|\Z)){1,30}\Z)")
EITHER = later(r"\s{0,5}(?:,\s?)?(?:/\s?)?\bor\b")
NONE_TOO = later(r"[\s,;/]{0,5}(?:(?:and|or) )?none\b(?! of the (?:other|rest))", re.IGNORECASE)
LONE = later(r"(?<![\w'’-])([B-HJ-Z])(?![\w'’-])|(?<![\w'’-])(A)(?=[.)])")
ARE_RIGHT = later(r"\s(?:are|is)\b")
SPLIT = later(r"\s{0,5}(?:[;\n]|,(?:\s?and\b)?|\band\b)\s{0,5}")
BULLET = later(r"(?<![ \t])[ \t]*(?:[-*•][ \t]+|\d{1,2}[.)][ \t]+)")


def read_letters(value: str, choices: Sequence[str], *, strict: bool = False) -> Found:
    """The letters that a value names, sorted and joined by commas; "none" when it says that none is right.

    With `strict` the value may hold nothing but the letters and their texts.
    """
    plain = peel(light_letters(value))
    if not plain or len(plain) > LONGEST:
        return None
    low = light(plain)
    if NONE_RIGHT.fullmatch(low):
        return "none"
    if ALL_RIGHT.fullmatch(low):
        return joined(ascii_uppercase[: len(choices)])
    return by_texts(plain, choices) or with_texts(plain, choices) or bare(plain, choices, strict=strict)


def joined(letters: Iterable[str]) -> str:
    return ",".join(sorted(set(letters)))


def by_texts(value: str, choices: Sequence[str]) -> Found:
    """A value made of nothing but the texts of choices."""
    whole = by_text(value, choices)
    parts = [whole] if whole else [by_text(part, choices) for part in SPLIT.split(value)]
    letters = [part for part in parts if isinstance(part, str)]
    if len(letters) < len(parts):
        return UNCLEAR if any(part is UNCLEAR for part in parts) else None
    return joined(letters)


def with_texts(value: str, choices: Sequence[str]) -> Found:
    """Letters that each stand before the text of their own choice: "A. Paris, C. London"."""
    marks = list(LETTERED.finditer(value))
    if not marks or marks[0].start() > 0:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(value)]
    for mark, end in zip(marks, ends, strict=True):
        place = ascii_uppercase.index(mark[1])
        text = value[mark.end() : end]
        if place >= len(choices) or not peel(text) or not tail_agrees(text, choices[place]):
            return None
    return joined(mark[1] for mark in marks)


def bare(value: str, choices: Sequence[str], *, strict: bool) -> Found:
    """Letters in a row: "A, C", "A and C", "(A)/(C)", "AC"; a reason may follow."""
    allowed = ascii_uppercase[: len(choices)]
    if len(value) > 1 and value.isascii() and value.isupper() and value.isalpha():
        together = list(value) == sorted(set(value)) and set(value) <= set(allowed)
        return joined(value) if together else None
    letters, end = row_of_letters(value)
    if not letters:
        return None
    rest = value[end:]
    if EITHER.match(rest) or NONE_TOO.match(rest):
        return UNCLEAR
    if peel(rest) and (strict or any(letter.islower() for letter in letters)):
        return None
    named = {letter.upper() for letter in letters}
    said = means(rest, named, allowed) if peel(rest) else True
    if said is None:
        return None
    return joined(named) if said and named <= set(allowed) else UNCLEAR


def means(rest: str, named: set[str], allowed: str) -> bool | None:
    """Whether letters followed by this were meant as the answer; None when they were only words."""
    if ARE_RIGHT.match(rest):
        return not DOUBT.search(rest[:400])
    if not (STATED.match(rest) or REASON.match(rest)):
        return None
    others = {
        letter for pair in LONE.findall(rest[:400]) for letter in pair if letter and letter in allowed
    } - named
    # A reason may turn other letters down; naming them otherwise leaves the answer open.
    return not others or DOUBT.search(rest[:400]) is not None


def row_of_letters(value: str) -> tuple[list[str], int]:
    """The letters that a value opens with, and where what follows them begins."""
    letters: list[str] = []
    end = place = 0
    while (found := ONE.match(value, place)) is not None:
        letters.append(found[1])
        end = found.end()
        more = JOIN.match(value, end) or SPACE.match(value, end)
        if more is None:
            break
        place = more.end()
    return letters, end


def read_list(lines: Sequence[str], choices: Sequence[str]) -> Found:
    """The letters of a list with one answer a line; it ends at the first line that is none."""
    answers: list[str] = []
    for line in lines:
        found = read_letters(BULLET.sub("", line, count=1), choices, strict=True)
        if found is UNCLEAR:
            return UNCLEAR
        if not isinstance(found, str):
            break
        answers.append(found)
    if not answers:
        return None
    if "none" in answers:
        return "none" if set(answers) == {"none"} else UNCLEAR
    return joined(letter for answer in answers for letter in answer.split(","))
