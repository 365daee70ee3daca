"""The table of languages compiled: where a text announces an answer, on a line or in a phrase, and where it ends."""

# ruff: noqa: RUF001 - colons and dashes of other scripts are data here
from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from proctor.grading.patterns import later
from proctor.grading.reading.languages import LANGUAGES, Language

# Between the cue and its value on a line: "Answer (letter): ", "**Answer:** ", "Answer = ".
COLON = (
    r"(?:[ _](?:choice|option|letter|idx|index|key|number|is|text))?(?:\s?\([^()\n]{1,30}\))?"
    r"""[\s*_`"')\]}]{0,8}(?:[:=]|->|→|⇒|=>)(?:[*_`\s]|>(?!\s?[\d.])){0,200}"""
)
LOOSE_COLON = r"[*_]{0,3}[.)]?[*_]{0,3}\s{1,3}(?:[-–—]\s{1,3})?(?=[(\[*]{0,4}[a-z](?:[)\].,*]|\s|\Z))"
NOT = r"(?:no|não|nao|non|ne|n'|pas|nicht|kein|keine|не|ليس|ليست|नहीं)"
ADVERBS = (
    r"(?: (?:to|for|of|in|among|from|based on|given|according to|here|therefore|thus) ?[^.:;\n()]{0,80}?)?"
)


@dataclass(frozen=True, slots=True)
class Cues:
    """One language's patterns, over text in lower case. `end` of a match is where the answer begins."""

    stems: tuple[str, ...]
    line: re.Pattern[str]
    phrase: re.Pattern[str]
    after: re.Pattern[str]
    spaced: bool


@cache
def cues() -> tuple[Cues, ...]:
    """Compiled once, when the first reply is read."""
    return tuple(compiled(language) for language in LANGUAGES)


def compiled(of: Language) -> Cues:
    closed = r"(?:[\s:*_`\"'“”,]|-(?!\s?\d)){1,8}" if of.spaced else r"[\s:*_`\"'“”,]{0,8}"
    middle = (
        ADVERBS if of.code == "en" else rf"(?: (?!{NOT}\b)[^\s.:;,\n]{{1,20}}){{0,3}}?" if of.spaced else ""
    )
    space = r"[*_]{0,3}\s" if of.spaced else r"[*_]{0,3}\s?"
    phrases = [rf"{of.nouns}{middle}{space}{of.verbs}{closed}"]
    if of.code == "hi":
        phrases.append(rf"{of.nouns}\s{{1,3}}(?=\W{{0,4}}[a-f](?!\w))")
    if of.before:
        phrases.append(rf"(?:{of.before}){closed}")
    bracketed = rf"|\[{of.nouns}\]\s{{0,4}}"
    return Cues(
        of.stems,
        later(
            rf"{of.nouns}(?:{COLON}"
            rf"|(?=[.)]?[\s*]{{1,4}}(?:[-–—]\s{{1,3}})?[(\[*]{{0,3}}[a-z]){LOOSE_COLON}){bracketed}"
        ),
        later("|".join(phrases)),
        later(rf"[\s*_`\"')\]]{{0,6}}(?:{of.after})"),
        of.spaced,
    )


@lru_cache(maxsize=8)
def spoken_in(low: str) -> tuple[Cues, ...]:
    """The languages of which the text has a stem."""
    return tuple(each for each in cues() if any(stem in low for stem in each.stems))


# Words that a value may hold in any language ------------------------------------------------------


def joined(field: str) -> str:
    """One field of all languages as alternatives, the longest first."""
    forms = sorted(
        {getattr(each, field) for each in LANGUAGES if getattr(each, field)}, key=len, reverse=True
    )
    return "|".join(forms)


@cache
def pattern(field: str, frame: str = "{}") -> re.Pattern[str]:
    """A field of all languages, compiled in a frame such as ``\\A(?:{})``."""
    return later(frame.replace("{}", joined(field)))


SENTENCE_END = later(r"(?:(?<=[.!?])(?<![\s(][A-Z]\.)[\s*_]+|(?<=[。！？])[\s*_]*)")


def first_sentence(value: str) -> str:
    return SENTENCE_END.split(value, maxsplit=1)[0]
