"""Rung 4: the last phrase that gives an answer, before it ("the answer is B") or behind it ("B is correct")."""

# ruff: noqa: RUF001 - the dashes that models write are data here
from __future__ import annotations

import re

from proctor.grading.patterns import later
from proctor.grading.reading.choice import BOTH, by_text, by_words, read_choice
from proctor.grading.reading.cues import first_sentence, spoken_in
from proctor.grading.reading.label import read_label
from proctor.grading.reading.letters import read_letters
from proctor.grading.reading.number import read_number
from proctor.grading.reading.question import Question
from proctor.grading.texts import peel
from proctor.grading.vocabulary import UNCLEAR, Found, Unclear

VALUE_CHARS = 600
CLAUSE_CHARS = 1200
MOST_PHRASES = 16  # how many are looked at, from the last
NEGATED = later(
    r"[\s*_:\"']{0,4}(?:not|neither|never|nicht|keine?|pas|no |não|non|не|नहीं|ليس)\b"
    r"(?!.{1,120}(?:\bbut\b|[,;.–—-]\s?(?:it(?:'s| is)|rather|instead)\b))"
    r"|[\s:]{0,3}(?:不是|非)",
    re.IGNORECASE,
)
NOT_SAID = later(
    r"(?:\b(?:if(?! i had to)|whether|were|unless|(?<!that's )(?<!that is )(?<!this is )(?<!which is )why|not"
    r"|cannot|n't|hypothetically"
    r"|wenn|ob|nicht|si|se|если)\b|n't)(?:(?!\bbut\b)[^.!?\n;:]){0,80}\Z",
    re.IGNORECASE,
)
LETTER_BEHIND = later(
    r"(?:(?<![\w'’-])|(?<=[\u3040-\u9fff\uac00-\ud7af]))(?:([B-HJ-Z])|\(([A-Z])\)|\[([A-Z])\]"
    r"|[*_]{2}\(?([A-Z])[).:]?[*_]{2}|([A-Z])(?=\.? (?:is|ist|est|es|é|è) |[가-힣이はがも]))\Z"
)
JOINED = later(
    r"(?:\b(?i:or|and|both|either|neither|nor|und|oder|ou|et|y|o)\b|(?:(?<![\w'])[A-Z]"
    r"|[)\]*\"])\s?[,/&])\s*(?i:option\s*)?[(\[*\"]{0,4}\Z"
)


def in_phrase(said: str, low: str, asked: Question) -> Found:
    """The answer of the last phrase that states one."""
    judged = behind(said, low, asked)
    for match in before(low):
        if judged and judged[0] > match.end():
            return judged[1]
        found = given(match, said, low, asked)
        if found is not None:
            return found
    return judged[1] if judged else None


def before(low: str) -> list[re.Match[str]]:
    """The phrases that an answer follows, "the answer is", the last first."""
    found = []
    for cues in spoken_in(low):
        for match in cues.phrase.finditer(low):
            start = match.start()
            if not (cues.spaced and start and (low[start - 1].isalpha() or low[start - 1].isdigit())):
                found.append(match)
    return sorted(found, key=lambda each: -each.end())[:MOST_PHRASES]


def given(match: re.Match[str], said: str, low: str, asked: Question) -> Found:
    """What one phrase gives as the answer."""
    start = match.start()
    value = said[match.end() : match.end() + VALUE_CHARS]
    if not any("\n" in text for text in asked.choices):
        value = value.split("\n", 1)[0]
    if NOT_SAID.search(low, max(0, start - 100), start) or not peel(value):
        return None
    if NEGATED.match(value):  # or an option that begins with "not"
        return by_own_text(peel(value), asked) if asked.kind == "choices" else None
    found = value_of(value, asked)
    # What a cut reply says last may have gone on.
    if (
        isinstance(found, str)
        and asked.cut
        and match.end() + len(first_sentence(value.rstrip())) >= len(said.rstrip())
    ):
        return UNCLEAR if asked.cut == "length" or asked.may_go_on(value, found) else found
    return found


def last_value(said: str, low: str) -> str | None:
    """What follows the last phrase, whatever it is."""
    found = before(low)
    return said[found[0].end() : found[0].end() + VALUE_CHARS].split("\n", 1)[0] if found else None


def value_of(value: str, asked: Question) -> Found:
    if asked.kind == "choices":
        return read_choice(value, asked)
    sentence = first_sentence(value)
    if asked.kind == "labels":
        return read_label(sentence, asked)
    return read_number(sentence) if asked.kind == "number" else read_letters(sentence, asked)


def behind(said: str, low: str, asked: Question) -> tuple[int, str | Unclear] | None:
    """The letter or text of an option before "is correct", with its place; one in a clause, and not turned down."""
    if asked.kind != "choices":
        return None
    matches = [match for cues in spoken_in(low) for match in cues.after.finditer(low)]
    found = []
    for match in sorted(matches, key=lambda each: -each.end())[:MOST_PHRASES]:
        start = match.start()
        clause = said[max(0, start - CLAUSE_CHARS, said.rfind("\n", 0, start) + 1) : start].rstrip(
            " *_`\"')]"
        )
        named = named_behind(clause, said[start : match.end()], asked)
        if named is not None:
            found.append((match.end(), named))
    # Statements that are judged one by one, several of them correct, are no answer.
    return found[0] if len({named for _, named in found}) == 1 else None


def named_behind(clause: str, phrase: str, asked: Question) -> Found:
    closers = phrase[: len(phrase) - len(phrase.lstrip(" *_`\"')]"))]
    whole = clause + closers.strip(" ")
    letter = LETTER_BEHIND.search(whole) or BARE.search(clause) or SMALL.search(whole)
    if letter is not None:
        name = next(filter(None, letter.groups())).upper()
        head = whole[: letter.start()]
        if name not in asked.letters or NOT_SAID.search(head[-100:]) or STATEMENT.search(head[-24:]):
            return None
        return UNCLEAR if JOINED.search(head[-40:]) else name
    return by_own_text(clause, asked)


STATEMENT = later(r"\b(?:statement|sentence|claim|fact)s?\s*[(\[*\"]{0,4}\Z", re.IGNORECASE)
BARE = later(r"(?<![\w'’-])([A-Z])\Z")
SMALL = later(r"\b(?i:option|choice|answer)\s[(\[*]{0,3}([a-z])[)\]*]{0,3}\Z")
OWN = later(r"(?:\A|[.:;!?]\s|\s)[(*]{0,3}([A-Z])[).:][*]{0,2}\s")


def by_own_text(clause: str, asked: Question) -> Found:
    """ "B. Iron deficiency is the correct answer": a letter with its own text, or the text as the whole clause."""
    marks = [each for each in OWN.finditer(clause) if each[1] in asked.letters]
    if marks:
        last = marks[-1]
        own = by_text(clause[last.end() :], asked)
        if own == last[1] and not NOT_SAID.search(clause[max(0, last.start() - 100) : last.start()]):
            return UNCLEAR if JOINED.search(clause[: last.start() + 1]) else own
        return None
    if isinstance(whole := by_text(clause, asked), str):
        return whole
    sentence = re.split(r"(?<=[.!?;])\s|, ", clause)[-1]
    sentence = re.sub(r"\A(?:therefore|thus|hence|so|in conclusion)\b,? ", "", sentence, flags=re.IGNORECASE)
    found = by_text(sentence, asked) or by_words(sentence, asked)
    return found if isinstance(found, str) and not BOTH.match(sentence.lower()) else None
