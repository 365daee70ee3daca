"""`proctor/1`: reading one short value, such as what follows "Answer:", as one of the choices or labels.

A reader gives the answer, or UNCLEAR when something was answered that names no choice or several,
or None when the value states no answer at all.
"""

# ruff: noqa: RUF001 - the quotes and dashes that models write are data here
from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_uppercase

from proctor.grading.patterns import later
from proctor.grading.texts import MARKUP, SEPARATOR, fold, key, light, peel
from proctor.grading.vocabulary import UNCLEAR, Found, Vocabulary

LETTER = later(r"((?:option|choice|letter|answer)\s+)?[(\[*]*([a-z])(?![^\W_])", re.IGNORECASE)
# What stands between a letter and another one: "A or B", "A/B", "A, (C)".
MORE = later(
    r"[)\]*_]*\s*(?:[,;/|&+]|(?:and|or|AND|OR)\b)(?:\s*(?:and|or|AND|OR)\b)?\s*(?:(?:[Oo]ption|[Cc]hoice)\s+)?"
    r"[(\[*]*([A-Z])(?![^\W_]|[-'’]\w)"
)
STATED = later(r"\s*[.):\],;]+|\s+[-–—=]+\s|\s*\(")
REASON = later(r"\s+(?:because|since|due to|given|based on|is)\b")
# A sentence with one of these may name an option in order to turn it down.
DOUBT = later(
    r"\b(?:not|cannot|incorrect|wrong|false|except|unlike|unlikely|rather than|instead of|ruled? out|neither"
    r"|nor|either|less likely)\b|n['’]t\b",
    re.IGNORECASE,
)
LETTERED = later(r"(?:^|[\s,;(])([A-Z])[.)](?=\s|$)")


def by_text(value: str, choices: Sequence[str]) -> Found:
    """The letter of the one choice whose text this is."""
    for form in (light, fold):
        ours = form(value)
        letters = [
            letter for letter, text in zip(ascii_uppercase, choices, strict=False) if form(text) == ours
        ]
        if letters:
            return letters[0] if len(letters) == 1 else UNCLEAR
    return None


def tail_agrees(tail: str, own: str) -> bool:
    """True when what follows the letter is the beginning of that choice's text, or begins with it."""
    ours, theirs = fold(tail), fold(own)
    return ours.startswith(theirs) or (len(ours) >= 8 and theirs.startswith(ours))


def read_choice(value: str, choices: Sequence[str], *, strict: bool = False) -> Found:
    """The letter that a value names: 'B', '(B)', 'B. text', 'B) text', 'option B' or the choice's exact text.

    With `strict` a text after the letter must be that choice's own: for values that nothing
    announced as an answer.
    """
    short = peel(value)
    letters = ascii_uppercase[: len(choices)]
    if len(short) == 1 and short.upper() in letters:
        return short.upper()
    if (found := by_text(value, choices)) is not None or not short:
        return found
    if not strict and (found := opens_with(short, choices)) is not None:
        return found
    head = LETTER.match(light_letters(short))
    if head is None:
        return None
    letter = head[2].upper()
    rest = short[head.end() :].lstrip("*_`\"'”’}")
    if not rest:
        return letter if letter in letters else UNCLEAR
    more = MORE.match(rest if head[2].isupper() else rest.upper())
    # "B, a disease" names one option and "b, a" two: after a capital only capitals count.
    if more and more[1] != letter:
        return UNCLEAR
    return read_rest(letter, rest, choices, announced=bool(head[1]) and head[2].isupper(), strict=strict)


def opens_with(value: str, choices: Sequence[str]) -> Found:
    """The letter of the choice whose text a value opens with before a pause: "Aspirin, not warfarin".

    UNCLEAR when what follows names another choice's text without turning it down.
    """
    plain = light(value)
    texts = {fold(text): letter for letter, text in zip(ascii_uppercase, choices, strict=False)}
    if len(texts) < len(choices):
        return None
    first = max((text for text in texts if len(text) > 2 and plain.startswith(text)), key=len, default=None)
    if first is None or not PAUSE.match(plain, len(first)):
        return None
    rest = plain[len(first) :]
    others = [
        text for text in texts if text != first and text not in first and len(text) > 2 and text in rest
    ]
    return UNCLEAR if OR_ELSE.match(rest) or (others and not DOUBT.search(rest)) else texts[first]


def light_letters(text: str) -> str:
    """The text with full-width letters made plain, character for character."""
    return text if text.isascii() else text.translate(FULL_WIDTH)


FULL_WIDTH = {0xFEE0 + code: code for code in range(0x21, 0x7F)}


def read_rest(letter: str, rest: str, choices: Sequence[str], *, announced: bool, strict: bool) -> Found:
    """Decide whether a letter followed by something was meant as the answer."""
    stated = STATED.match(rest)
    tail = (rest[stated.end() :] if stated else rest).strip()
    if letter not in ascii_uppercase[: len(choices)]:
        return UNCLEAR if stated and not strict else None
    own = choices[ascii_uppercase.index(letter)]
    if not peel(tail) or tail_agrees(tail, own):
        return letter
    # "A man" and "C-reactive protein" are no answers; "B. text", "B because" and "option B" are.
    if strict or not (stated or announced or REASON.match(rest)):
        return None
    if by_text(tail, choices) is not None:
        return UNCLEAR
    others = {found for found in LETTERED.findall(tail[:300]) if found in ascii_uppercase[: len(choices)]}
    return UNCLEAR if others - {letter} else letter


OR_ELSE = later(r"[\s,;/(]{0,5}(?:or|and)\b")
NEGATION = later(r"(?:\b(?:can)?not|n't|\bnon|\bnever|\bneither|\bnor)[\s_-]+(?:an? |the )?$")
# Words with another use in running text ("there is no evidence", "the true cause"): as labels they
# count there only when no further word follows.
LOOSE = frozenset({"no", "maybe", "true", "false"})
NEXT_WORD = later(r"\s+(?!because\b|since\b|as\b|based\b|given\b|or\b|and\b)\w")
ALTERNATIVE = later(r"[\s,;/|&<>()\"'*_]*(?:(?:or|and)\b[\s,/|&<>()\"'*_]*)?")
PAUSE = later(r"[\"'*_)]*\s*(?:[.,;:!(]|[-–—]\s|(?:because|since|as)\b)")


def mentions(text: str, known: Vocabulary) -> list[tuple[str, int, int]]:
    """The labels named in a text in light form, with their places; negated ones are left out."""
    found: list[tuple[str, int, int]] = []
    for match in known.pattern.finditer(text):
        start, end = match.span()
        if NEGATION.search(text, max(0, start - 16), start):
            continue
        word = key(match[0])
        if start and word in LOOSE and NEXT_WORD.match(text, end) and not beside(text, found, start):
            continue
        found.append((known.words[word], start, end))
    return found


def beside(text: str, found: list[tuple[str, int, int]], start: int) -> bool:
    """True when only "or", "and" or a stroke stands between the last label found and this place."""
    return bool(found) and ALTERNATIVE.fullmatch(text, found[-1][2], start) is not None


def read_label(value: str, known: Vocabulary) -> Found:
    """The label that a value names; the one it opens with when a reason follows that names others."""
    plain = light(value)
    exact = known.words.get(SEPARATOR.sub(" ", plain)) or known.words.get(key(peel(plain)))
    if exact is not None:
        return exact
    plain = plain[:400].strip(MARKUP)
    named = mentions(plain, known)
    if not named:
        return None
    first, start, end = named[0]
    if all(name == first for name, _, _ in named):
        return first
    second = next(place for name, place, _ in named if name != first)
    between = plain[end:second]
    if start == 0 and PAUSE.match(plain, end) and not ALTERNATIVE.fullmatch(between):
        return first
    return UNCLEAR
