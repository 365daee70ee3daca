"""Reading one value as a set of letters, where several options may be right."""

# ruff: noqa: RUF001 - the dashes and bullets that models write are data here
from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from proctor.grading.patterns import later
from proctor.grading.reading.choice import DOUBT, REASON, STATED, by_text
from proctor.grading.reading.forms import begins
from proctor.grading.reading.question import Question
from proctor.grading.texts import light, peel
from proctor.grading.vocabulary import UNCLEAR, Found

LONGEST = 4000  # characters that letters with their texts may take
NONE_RIGHT = later(
    r"none(?: of (?:(?:the|these|those) )?(?:above|them|these|those|options?|answers?|choices?|candidates?)"
    r"(?: answers?| options?)?)?(?: (?:is|are) (?:correct|right|true))?"
)
ALL_RIGHT = later(
    r"all(?: of)?(?: (?:the|these|those|them))?(?: (?:above|options|answers|choices))?(?: are (?:correct|right"
    r"|true))?"
)
ONE = later(
    r"[\s(\[{*_\"'`$]*(?:(?i:both|only|just) )?(?:(?i:options?|choices?|letters?) )?[(\[{*_\"'`]*"
    r"([A-Za-z])(?![A-Za-z0-9\u00c0-\u024f])[)\]}*_\"'`]*"
)
JOIN = later(r"\s{0,5}(?:[,;/&+|、]\s{0,5}(?:and\b|&)?|\b(?:and|und|et|y|e|и)\b|[和与與及と와과]|و\s)\s{0,5}")
# A space alone joins only where nothing but letters follows: "A C D", not "A (B is wrong)".
SPACE = later(r"\s{1,5}(?=(?:[(*]{0,3}[A-Z][)*]{0,3}(?:\s{1,5}|\Z)){1,30}\Z)")
EITHER = later(r"\s{0,5}(?:,\s?)?(?:/\s?)?(?:\b(?:or|oder|ou|oppure|или|या)\b|或|または|또는|أو)")
NONE_TOO = later(r"[\s,;/]{0,5}(?:(?:and|or) )?none\b(?! of the (?:other|rest))", re.IGNORECASE)
LETTERED = later(r"(?:^|[\s,;(])([A-Z])[.)](?=\s|$)")
LONE = later(r"(?<![\w'’-])([B-HJ-Z])(?![\w'’-])|(?<![\w'’-])(A)(?=[.)])")
ARE_RIGHT = later(r"\s(?:are|is)\b")
SPLIT = later(r"\s{0,5}(?:[;\n]|,(?:\s?and\b)?|\band\b)\s{0,5}")
BULLET = later(r"(?<![ \t])[ \t]*(?:[-*•][ \t]+|\d{1,2}[.)][ \t]+)")


def read_letters(value: str, asked: Question, *, strict: bool = False) -> Found:
    """The letters that a value names, sorted and joined by commas; "none" when it says that none is right.

    With `strict` the value may hold nothing but the letters and their texts.
    """
    plain = peel(value)
    if not plain or len(plain) > LONGEST:
        return None
    low = light(plain)
    if NONE_RIGHT.fullmatch(low):
        return "none"
    if ALL_RIGHT.fullmatch(low):
        return joined(asked.letters)
    return by_texts(plain, asked) or with_texts(plain, asked) or bare(plain, asked, strict=strict)


def joined(letters: Iterable[str]) -> str:
    return ",".join(sorted(set(letters)))


def by_texts(value: str, asked: Question) -> Found:
    """A value made of nothing but the texts of choices."""
    whole = by_text(value, asked)
    parts = [whole] if whole else [by_text(part, asked) for part in SPLIT.split(value)]
    letters = [part for part in parts if isinstance(part, str)]
    if len(letters) < len(parts):
        return UNCLEAR if any(part is UNCLEAR for part in parts) else None
    return joined(letters)


def with_texts(value: str, asked: Question) -> Found:
    """Letters that each stand before the text of their own choice: "A. Paris, C. London"."""
    marks = list(LETTERED.finditer(value))
    if not marks or marks[0].start() > 0:
        return None
    ends = [mark.start() for mark in marks[1:]] + [len(value)]
    for mark, end in zip(marks, ends, strict=True):
        text = value[mark.end() : end]
        if (
            mark[1] not in asked.letters
            or not peel(text)
            or begins(light(text), asked.by_letter[mark[1]]) is None
        ):
            return None
    return joined(mark[1] for mark in marks)


def bare(value: str, asked: Question, *, strict: bool) -> Found:
    """Letters in a row: "A, C", "A and C", "(A)/(C)", "AC"; a reason may follow."""
    allowed = asked.letters
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


def read_list(lines: Sequence[str], asked: Question) -> Found:
    """The letters of a list with one answer a line; it ends at the first line that is none."""
    answers: list[str] = []
    for line in lines:
        found = read_letters(BULLET.sub("", line, count=1), asked, strict=True)
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
