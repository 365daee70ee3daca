"""Rung 5, first: a sentence in plain words that gives one letter, "it's B", "I'd pick B", "we select option (B)"."""

from __future__ import annotations

import re

from proctor.grading.patterns import later
from proctor.grading.reading.choice import DOUBT, more, read_choice
from proctor.grading.reading.cues import first_sentence
from proctor.grading.reading.phrases import NOT_SAID
from proctor.grading.reading.question import Question
from proctor.grading.vocabulary import UNCLEAR, Found

VALUE_CHARS = 400
GIVES = later(
    r"(?:(?<![\w'])(?:it(?:'s| is| must be| should be| has to be| would be| can only be)"
    r"|(?:i|we)(?:'d| would| will|'ll| must| should)? (?:therefore |then )?(?:pick|say|guess|choose|select|answer|take)"
    r"|(?:let me|i(?:'d| would| will|'ll)?|we(?:'ll)?) go (?:with|for)|leads? (?:us|me) to (?:answer|choose|select)"
    r"|looking for is|supports|final(?: answer)?:|so|thus:?|therefore:?|hence:?)"
    r"|(?<=[,.!] )(?:choose|pick|select|take)|(?<=[\s,])but(?: rather| instead)?|(?<=[.?!:;] )(?:no|wait|no wait),?"
    r"|[\u2013\u2014]\s?no,?)"
    r"(?: (?:likely|probably|definitely|clearly|most likely|that|the answer|option|choice|letter|answer))*[ :,*]{1,6}"
    r"(?=[(\[*]{0,4}[a-z](?![\w'-]))",
)
LETTER = later(
    r"(?:[Oo]ption |[Cc]hoice )?[(\[*\"]{0,4}([A-Z])(?![\w'-])[)\]*\"]{0,4}"
    r"(?=\s*(?:[.!;:,\n]|\Z|[-\u2013\u2014]\s|(?:because|since|as|here|on this|for this|it is|due to|is my)\b))"
)
SMALL = later(r"[(\[*\"]{0,4}([a-z])[)\]*\"]{0,4}[.!]?\Z")
MOST = 16


def in_weak_phrase(said: str, low: str, asked: Question) -> Found:
    """What the last such sentence gives; nothing where it is a condition, or what others say."""
    if asked.kind != "choices":
        return None
    for match in reversed(list(GIVES.finditer(low))[-MOST:]):
        clause = low[max(0, match.start() - 100) : match.start()].rpartition(",")[2]
        if (NOT_SAID.search(clause) and not match[0].startswith("but")) or OTHERS.search(clause):
            continue
        found = given(said[match.end() : match.end() + VALUE_CHARS].split("\n", 1)[0], asked)
        if found is UNCLEAR and match[0].startswith(("so", "but")):
            continue  # "so C and D fall away"
        if found is not None:
            return found
    found = in_bold(said, asked)
    return at_the_end(said, asked) if found is None else found


# What may stand before a letter that ends the reply; "vitamin C", "type B" and "with B" are none.
ENDS = later(
    r"(?i:\b(?:is|be|'s|'d be|ergo|hence|thus|so|therefore|vote|pick|choose|select|hands down|definitely|probably"
    r"|clearly|certainly|obviously|lean(?:ing)? (?:toward|towards|to)|going with|conclusion|result|correction|easy)"
    r"|[:\u2234])[\s:,]{1,3}(?:[Oo]ption )?[(*]{0,3}([A-Z])[)*]{0,3}"
    r"(?:,? (?i:to me|for me|for sure|final answer|here|i think|i believe))?[.!)*\s]{0,4}\Z"
)


def at_the_end(said: str, asked: Question) -> Found:
    """The letter that ends the last sentence, where the words before it give it: "Hands down B."."""
    tail = said[-200:]
    found = ENDS.search(tail)
    if found is None or found[1] not in asked.letters:
        return None
    clause = re.split(r"[.!?;\n]\s", tail[: found.start(1)])[-1]
    doubtful = DOUBT.search(clause) or NOT_SAID.search(clause.lower()) or OTHERS.search(clause.lower())
    return None if doubtful or UNSURE.search(clause) else found[1]


UNSURE = later(
    r"\b(?:might|may|could|perhaps|maybe|possibly|consider|or|and|group|type|vitamin|statement)\b",
    re.IGNORECASE,
)
BOLD = later(r"(?:^|(?<=[\s]))\*\*([^*\n]{1,400})\*\*(?=[ \t]*[.!]?[ \t]*(?:\n|\Z))")


def in_bold(said: str, asked: Question) -> Found:
    """The one option that stands in bold at the end of a line."""
    named = {found for each in BOLD.finditer(said) if (found := read_choice(each[1], asked, strict=True))}
    return None if not named else UNCLEAR if len(named) > 1 else named.pop()


OTHERS = later(
    r"\b(?:many|some|people|others|students|they|might|could|may|going to|wanted to)\b[^.!?,;\n]{0,40}\Z"
)


def given(value: str, asked: Question) -> Found:
    sentence = first_sentence(value)
    if sentence.rstrip().endswith("?"):
        return None
    found = read_choice(sentence, asked, strict=True) or read_choice(value, asked, strict=True)
    if found is not None:
        return found
    letter = LETTER.match(value) or SMALL.match(sentence)
    if letter is None or letter[1].upper() not in asked.letters:
        return None
    another = more().match(value, letter.end())
    return UNCLEAR if another and another[1] != letter[1] else letter[1].upper()
