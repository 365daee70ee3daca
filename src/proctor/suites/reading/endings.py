"""Rungs 5 and 6: a conclusion at the end that names one option or label; nothing else in running text is read."""

from __future__ import annotations

import re

from proctor.suites.reading.asked import Asked
from proctor.suites.reading.choice import DOUBT, list_of_options, mentioned, read_choice
from proctor.suites.reading.cues import SENTENCE_END
from proctor.suites.reading.jsons import without_json
from proctor.suites.reading.label import mentions
from proctor.suites.texts import light
from proctor.suites.vocabulary import UNCLEAR, Found

LAST_CHARS = 2000  # how far from the end the last sentence is looked for
MARKED = re.compile(
    r"\(([A-Z])\)|\*\*\(?([A-Z])[).:]?\)?\*\*|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)\s\(?([A-Z])\b(?![-'\u2019])"
)
CONCLUDES = re.compile(
    r"\b(?:therefore|thus|hence|so|accordingly|consequently|in conclusion|in summary|overall|ultimately|i would|i'd|i will|i choose"
    r"|leaves?|leaving|points? to|must be|has to be|best|correct|most likely|most appropriate|answer|conclude|speaks? for|go with"
    r"|i think|i believe|consistent with|diagnosis)\b",
    re.IGNORECASE,
)
# "I would not call it an entailment": a negation in the same clause, however far before the label.
NOT_SAID = re.compile(
    r"(?:\b(?:not|cannot|never|hardly|neither|nor|without)|n't)\b"
    r"(?:(?!\b(?:so|thus|hence|therefore|but|because|since|and|which)\b)[^,;:.!?()\n]){1,80}\Z"
)
HEDGED = re.compile(r"\b(?:whether|if|could|might|may|hard to say|unsure|unclear|either|depends|question|would need|asks?|asked)\b|\?\s*\Z")


def last_line(said: str) -> tuple[str, str]:
    """The last line with something on it, and its last sentence."""
    lines = [line for line in said[-LAST_CHARS:].splitlines() if line.strip()]
    if not lines:
        return "", ""
    parts = [part for part in SENTENCE_END.split(lines[-1]) if part.strip()]
    return lines[-1], parts[-1] if parts else lines[-1]


def in_last_sentence(said: str, asked: Asked) -> Found:
    """One label in the last sentence; of options a last line that is one, or one that is marked in a conclusion."""
    line, sentence = last_line(said)
    if asked.kind == "labels":
        return last_label(sentence, asked)
    lines = [each for each in said[-LAST_CHARS:].splitlines() if each.strip()]
    if not list_of_options(lines[-4:], asked) and (found := read_choice(line, asked, strict=True)) is not None:
        return found
    if without_json(said) is None or DOUBT.search(sentence) or not CONCLUDES.search(sentence):
        return None
    marked = {next(filter(None, groups)) for groups in MARKED.findall(sentence)}
    if len(marked) > 1:
        return UNCLEAR
    return next(iter(marked), None) if marked <= set(asked.letters) else None


def last_label(sentence: str, asked: Asked) -> Found:
    if asked.vocabulary is None:
        return None
    plain = light(sentence)
    named = mentions(plain, asked.vocabulary)
    if any(NOT_SAID.search(plain, 0, start) for _, start, _ in named):
        return UNCLEAR
    names = {name for name, _, _ in named}
    if len(names) > 1:
        return UNCLEAR
    return None if HEDGED.search(plain) else next(iter(names), None)


def in_conclusion(said: str, asked: Asked) -> Found:
    """The one option whose text the last sentence names as its conclusion."""
    if without_json(said) is None:
        return None
    _, sentence = last_line(said)
    if DOUBT.search(sentence) or HEDGED.search(sentence.lower()):
        return None
    named = mentioned(sentence, asked)
    if len(named) > 1:
        return UNCLEAR
    short = said == sentence or len(sentence) <= 80
    return next(iter(named), None) if CONCLUDES.search(sentence) or short else None
