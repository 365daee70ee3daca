"""Answers in free words, and one of the row's entities: rungs 1 to 4, without lettered options to look for."""

from __future__ import annotations

import re
from dataclasses import replace

from proctor.grading.entities import named_entity
from proctor.grading.patterns import later
from proctor.grading.reading.cues import SENTENCE_END, spoken_in
from proctor.grading.reading.jsons import in_json, without_json
from proctor.grading.reading.question import Question
from proctor.grading.reading.stated import BEFORE_CUE, BOXED, Stated, at_line, lines, tagged
from proctor.grading.reading.values import is_placeholder
from proctor.grading.texts import LATEX, peel
from proctor.grading.vocabulary import UNCLEAR, Found

SHORT_CHARS = 200  # a reply in free words up to this length is the answer itself
INSTRUCTION = frozenset({"your answer", "answer", "text"})
EMPHASIS = " \t\r\n*_`"
DECLINED = later(
    r"(?:i(?:'m| am) (?:very |so )?(?:sorry|afraid|not sure|unable)|sorry\b|i (?:do not|don't|cannot|can't"
    r"|can not) (?:know|answer|help|provide|determine|assist)"
    r"|as an ai\b|unfortunately, i\b|i apologi[sz]e|there is not enough information|ich weiß (?:es )?nicht"
    r"|je ne sais pas|no lo sé|não sei|non lo so"
    r"|я не знаю|不知道|我不知道|わかりません|모르겠)",
    re.IGNORECASE,
)


def in_words(said: str, raw: str, low: str, asked: Question) -> tuple[Found, int]:
    """The answer and its rung; `raw` is the text as it was written, of the same length."""
    for rung, found in ((1, in_json(raw, asked)), (2, on_line(said, raw, low, asked))):
        if found is not None:
            return mapped(found, asked), rung
    if asked.cut == "length":
        return None, 0
    if not asked.cut and (found := whole(raw, low, asked)) is not None:
        return found, 3
    found = behind_phrase(raw, low)
    return (mapped(found, asked), 4) if found is not None else (None, 0)


def mapped(found: Found, asked: Question) -> Found:
    """An answer in free words as the listed entity it names, where it names one."""
    if asked.kind != "entity" or not isinstance(found, str):
        return found
    return named_entity(found, asked.choices) or found


def on_line(said: str, raw: str, low: str, asked: Question) -> Found:
    found = [
        replace(each, value=raw[each.start : each.start + len(each.value)])
        for each in lines(said, low)
        if not each.strict
    ]
    found = [each for each in found if not each.plural]
    found += [*tagged(raw), *(Stated(match[1], match.start(1), True) for match in BOXED.finditer(raw))]
    for each in sorted(found, key=lambda one: -one.start):
        inner = peel(each.value)
        # "<your answer>", "<entity>": the instruction repeated. In free words only the known ones are.
        if is_placeholder(each.value) and (inner.lower() in INSTRUCTION or not is_entity(inner, asked)):
            continue
        plain = inner if LATEX.search(each.value) else each.value.strip(EMPHASIS)
        if not plain or plain in (":", "-"):
            continue
        if DECLINED.match(plain):
            return UNCLEAR
        return UNCLEAR if asked.cut and not each.ended else plain
    return None


def is_entity(text: str, asked: Question) -> bool:
    return asked.kind != "entity" or named_entity(text, asked.choices) is not None


def phrases(raw: str, low: str) -> list[tuple[int, int]]:
    """Where each "the answer is" begins, and where what it gives does, in the order of the text."""
    found = []
    for cues in spoken_in(low):
        for match in cues.phrase.finditer(low):
            if not (cues.spaced and match.start() and low[match.start() - 1].isalnum()):
                found.append((match.start(), match.end()))
    return sorted(found)


def whole(raw: str, low: str, asked: Question) -> Found:
    """A short reply is the answer itself; of an entity only a listed one is."""
    if len(raw) > SHORT_CHARS or without_json(raw) is None or DECLINED.match(raw):
        return None
    lead = next((end for start, end in phrases(raw, low) if low[:start].strip(" *_") in BEFORE_CUE), 0)
    value = raw[lead:].strip(EMPHASIS)
    if asked.kind == "entity":
        return named_entity(value, asked.choices)
    return value or UNCLEAR


def behind_phrase(raw: str, low: str) -> Found:
    found = phrases(raw, low)
    if not found:
        return None
    value = at_line(raw, found[-1][1]).value
    return SENTENCE_END.split(value, maxsplit=1)[0].strip(EMPHASIS) or None
