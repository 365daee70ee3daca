"""Reading one value as one of a task's labels."""

# ruff: noqa: RUF001 - the dashes that models write are data here
from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from proctor.grading.mirage import lettered_labels
from proctor.grading.patterns import later
from proctor.grading.reading.languages import LANGUAGES
from proctor.grading.reading.question import Question
from proctor.grading.texts import MARKUP, SEPARATOR, key, light, peel
from proctor.grading.vocabulary import UNCLEAR, Found, Vocabulary

NEGATION = later(r"(?:\b(?:can)?not|n't|\bnon|\bnever|\bneither|\bnor)[\s_-]+(?:an? |the |really |quite |)$")
# Words with another use in running text ("there is no evidence", "the true cause"): as labels they
# count there only when no further word follows.
LOOSE = frozenset({"no", "maybe", "true", "false"})
NEXT_WORD = later(r"\s+(?!because\b|since\b|as\b|based\b|given\b|or\b|and\b)\w")
ALTERNATIVE = later(r"[\s,;/|&<>()\"'*_]*(?:(?:or|and)\b[\s,/|&<>()\"'*_]*)?")
PAUSE = later(r"[\"'*_)]*\s*(?:[.,;:!(。]|[-–—]\s|(?:because|since|as)\b)")
# A figure that goes on before or behind a label that is a number: -1, 1.5, 1/2, 10 %.
SIGNED = later(r"(?:[-–—+]\s?|\d[.,/]|[.,])\Z")
FIGURE_ON = later(r"[.,]\d|/\d|\s?%|\s?[-–—]\s?\d")
MARK = later(r"[(\[*\s]{0,4}([a-z])(?:[)\].:*]{1,3}\s*|\s*\Z|\s+[-–—]\s+)")
LETTERED_LINE = later(r"^\s*[(\[*]{0,3}([a-z])[)\].:*]{1,3}\s*(\S.{0,80})$", re.MULTILINE)
CHARS = 400


def read_label(value: str, asked: Question) -> Found:
    """The label that a value names; the one it opens with when a reason follows that names others."""
    known = asked.vocabulary
    if known is None:
        return None
    plain = light(value[: 4 * CHARS])
    exact = exactly(plain, known)
    if exact is not None:
        return exact
    letters = lettered(asked)
    if letters and (mark := MARK.match(plain)) and mark[1] in letters:
        rest = plain[mark.end() :].strip(MARKUP)
        named = read_label(rest, asked) if rest and not MARK.fullmatch(rest) else letters[mark[1]]
        return UNCLEAR if named in (None, UNCLEAR) or named != letters[mark[1]] else named
    return inside(plain[:CHARS].strip(MARKUP), known) or foreign(plain, known)


def exactly(plain: str, known: Vocabulary) -> str | None:
    return known.words.get(SEPARATOR.sub(" ", plain)) or known.words.get(key(peel(plain))) or None


def inside(plain: str, known: Vocabulary) -> Found:
    named = mentions(plain, known)
    if not named:
        return None
    first, start, end = named[0]
    if all(name == first for name, _, _ in named):
        return first
    second = next(place for name, place, _ in named if name != first)
    if start == 0 and PAUSE.match(plain, end) and not ALTERNATIVE.fullmatch(plain[end:second]):
        return first
    return UNCLEAR


def mentions(text: str, known: Vocabulary) -> list[tuple[str, int, int]]:
    """The labels named in a text in light form, with their places; negated ones and parts of figures are left out."""
    found: list[tuple[str, int, int]] = []
    for match in known.pattern.finditer(text):
        start, end = match.span()
        word = key(match[0])
        if NEGATION.search(text, max(0, start - 20), start) or part_of_figure(text, start, end):
            continue
        if start and word in LOOSE and NEXT_WORD.match(text, end) and not beside(text, found, start):
            continue
        found.append((known.words[word], start, end))
    return found


def part_of_figure(text: str, start: int, end: int) -> bool:
    """True for "1" in "-1", "1.5" and "1/2"; a dash at the beginning of a line may be a bullet."""
    if text[start].isdigit() and SIGNED.search(text, max(0, start - 2), start):
        return True
    return text[end - 1].isdigit() and FIGURE_ON.match(text, end) is not None


def beside(text: str, found: list[tuple[str, int, int]], start: int) -> bool:
    """True when only "or", "and" or a stroke stands between the last label found and this place."""
    return bool(found) and ALTERNATIVE.fullmatch(text, found[-1][2], start) is not None


# Labels by their letter, and in other languages -----------------------------------------------------


def lettered(asked: Question) -> Mapping[str, str]:
    """The labels by the letters (in lower case) that the prompt gives them, or that MIRAGE does."""
    known = asked.vocabulary
    if known is None:
        return {}
    shown = {}
    for letter, text in LETTERED_LINE.findall(asked.question.lower()[-8000:]):
        name = exactly(light(text), known)
        if name is not None:
            shown[letter] = name
    if len(set(shown.values())) == len(set(known.words.values())):
        return shown
    return {letter.lower(): name for letter, name in lettered_labels(known).items()}


@cache
def foreign_words() -> Mapping[str, tuple[str, ...]]:
    """Words of other languages, with what they may mean in English."""
    found: dict[str, list[str]] = {}
    for each in LANGUAGES[1:]:  # English words are the labels' own
        for meaning in ("yes", "no", "maybe", "true", "false"):
            for word in getattr(each, meaning):
                found.setdefault(light(word), []).append(meaning)
    return {word: tuple(found[word]) for word in sorted(found, key=lambda word: -len(word))}


FOREIGN_END = later(r"[.,;:!?。(\"'*\-–—]")


def foreign(plain: str, known: Vocabulary) -> Found:
    """A label said in another language: "ja", "是", "아니오", alone or before a pause."""
    text = plain.strip(MARKUP).lstrip("¡¿")
    for word, meanings in foreign_words().items():
        if not text.startswith(word):
            continue
        if len(text) > len(word) and not FOREIGN_END.match(text, len(word)):
            continue
        after = text[len(word) :].lstrip(" .,;:!。")
        names = {known.words[meaning] for meaning in meanings if meaning in known.words}
        rival = any(after.startswith(other) for other in ("o no", "oder", "ou", "или"))
        return next(iter(names)) if len(names) == 1 and not rival else None
    return None
