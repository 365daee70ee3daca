"""The language of a user's questions, and prompts that ask for the last line in its own word: "정답: ..."."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from proctor.grading.patterns import later
from proctor.grading.reading.languages import ENGLISH, LANGUAGES, Language
from proctor.sources.exams.prompts.form import Prompt, Writer

# Languages that their script tells, by the share of letters that is theirs.
SCRIPTS: Mapping[str, re.Pattern[str]] = {
    "ko": later(r"[\uac00-\ud7af]"),
    "ja": later(r"[\u3040-\u30ff]"),
    "zh": later(r"[\u3400-\u9fff]"),
    "ru": later(r"[\u0400-\u04ff]"),
    "ar": later(r"[\u0600-\u06ff]"),
    "hi": later(r"[\u0900-\u097f]"),
}
SHARE = {"ja": 0.1}
USUAL_SHARE = 0.3
# Words that every longer text of the language holds, and hardly any of the others.
WORDS: Mapping[str, frozenset[str]] = {
    "en": frozenset(
        [
            "the",
            "of",
            "is",
            "and",
            "which",
            "what",
            "to",
            "in",
            "does",
            "for",
            "are",
            "on",
            "with",
            "that",
            "following",
        ]
    ),
    "de": frozenset(
        [
            "der",
            "die",
            "das",
            "und",
            "ist",
            "nicht",
            "welche",
            "welcher",
            "welches",
            "ein",
            "eine",
            "von",
            "mit",
            "für",
            "wird",
            "bei",
        ]
    ),
    "fr": frozenset(
        [
            "le",
            "la",
            "les",
            "des",
            "est",
            "une",
            "un",
            "quel",
            "quelle",
            "dans",
            "pour",
            "du",
            "et",
            "qui",
            "sont",
            "quelles",
        ]
    ),
    "es": frozenset(
        [
            "el",
            "los",
            "las",
            "una",
            "qué",
            "cuál",
            "es",
            "del",
            "por",
            "para",
            "la",
            "de",
            "cuáles",
            "con",
            "en",
            "un",
        ]
    ),
    "pt": frozenset(
        [
            "o",
            "os",
            "uma",
            "qual",
            "não",
            "é",
            "do",
            "da",
            "dos",
            "para",
            "das",
            "em",
            "um",
            "são",
            "quais",
            "com",
        ]
    ),
    "it": frozenset(
        [
            "il",
            "lo",
            "gli",
            "una",
            "quale",
            "che",
            "è",
            "di",
            "della",
            "per",
            "del",
            "quali",
            "nel",
            "un",
            "sono",
            "con",
        ]
    ),
}
FEWEST = 0.12  # of the words of a text
QUESTIONS, CHARS = 200, 300


def language_of(questions: Iterable[str]) -> Language:
    """The language of a file's first 200 questions: by script, else by its commonest words; English when in doubt."""
    text = " ".join(
        question[:CHARS] for _, question in zip(range(QUESTIONS), questions, strict=False)
    ).lower()
    letters = sum(char.isalpha() for char in text) or 1
    by_code = {each.code: each for each in LANGUAGES}
    for code, script in SCRIPTS.items():
        if len(script.findall(text)) / letters >= SHARE.get(code, USUAL_SHARE):
            return by_code[code]
    words = re.findall(r"[^\W\d_]+", text)
    counts = {code: sum(word in known for word in words) for code, known in WORDS.items()}
    first, second = sorted(counts, key=lambda code: -counts[code])[:2]
    sure = counts[first] > counts[second] and counts[first] >= FEWEST * len(words)
    return by_code[first] if sure and counts[first] > 2 * counts["en"] else ENGLISH


def in_own_words(prompts: Sequence[Writer], language: Language) -> tuple[Writer, ...]:
    """The prompts with the language's own cue in the last line; each has a version of its own."""
    return tuple(
        replace(
            each,
            ask=each.ask.replace("Answer: ", f"{language.cue}: "),
            version=f"{each.version}/{language.code}",
        )
        if isinstance(each, Prompt)
        else each
        for each in prompts
    )
