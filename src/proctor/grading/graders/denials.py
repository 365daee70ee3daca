"""Where a text names an answer without giving it: denied, one of several it cannot choose between, one of a long list.

Each test looks at a bounded part of the text around the answer, so that all of them together take linear time.
The texts are folded (tokens.py): lower case, without accents.
"""

# ruff: noqa: RUF001 - words of other languages are data here
from __future__ import annotations

import re

from proctor.grading.patterns import later

NEAR = 48  # characters before an answer in which its denial stands
# What may stand between "not" and the answer that it denies.
BETWEEN = (
    r"(?:(?:actually|really|in fact|necessarily|simply|called|named|known as|been|be|located|found|born|held|from|in"
    r"|on|at|by|of|for|to|die|der|das|den|dem|ein|eine|im|von|le|la|les|un|une|de|du|en|el|los|las|una|por|il|lo|gli"
    r"|di|da|o|os|em|v|ve|na|w)[ :]+){0,4}"
)
DENIED = later(
    r"(?:\b(?:not|never|neither|nor|rather than|instead of|other than|except(?: for)?|nicht|kein(?:e[mnrs]?)?|weder"
    r"|statt|pas|(?:no|nunca|nao|non) (?:es|fue|era|son|fueron|esta|e|foi|eram|sao|fu|sono|erano|va ser|eren)"
    r"|neni|nebyl[aoiy]?|nejsou|nikoliv?|nie (?:jest|byl[aoiy]?|sa)|ne|не(?: является| был[аои]?)?)|n't)"
    rf"[ :]+[\"'*_(\[`]{{0,3}}(?:(?:the|a|an) )?{BETWEEN}(?:the |a |an )?[\"'*_(\[`]{{0,3}}$"
)
DENIED_AFTER = later(
    r"[.\"'*_)\]`]{0,3} {1,2}(?:is|was|are|were|would be|ist|war|est|es|e|je)(?P<turned> not| nicht| pas|n't)? "
    r"(?:the )?(?:(?:correct|right|true|richtig)|(?P<false>incorrect|wrong|false|falsch|faux"
    r"|falso|incorrecto|spatne))\b"
)
HEDGED = later(
    r"\b(?:either|could be|might be|may be|could have been|might have been|may have been|possibly|perhaps|maybe"
    r"|entweder|vielleicht|moglicherweise|konnte|peut-etre|soit|quizas?|tal vez|podria|forse|potrebbe|talvez"
    r"|pode ser|mozna|mohl[aoy]? by|moze|moglo by|может быть|возможно)\b"
)
UNKNOWN = later(r"\b(?:not sure|unsure|uncertain|not certain|don't know|do not know|cannot say|can't say)\b")
OR = later(r"\b(?:or|oder|ou|o|u|nebo|ci|czy|lub|или)\b")
BESIDE = 60  # characters between an answer and the "or" that offers another
# The point after one letter and after a title ends no sentence.
SENTENCE = later(r"(?:(?<!\b[a-z])(?<!\b(?:jr|sr|st|dr|mr|ms|vs|mt))\.|[!?;])(?=\s|$)|\n")
ITEM = later(r"^[ \t]*(?:[-*•–]|\(?\d{1,3}[.)])[ \t]+(?P<item>\S.*)$", re.MULTILINE)
# So many other short items around an answer are a list of everything. People grade shorter lists as right.
MANY = 15
SHORT_ITEM, AROUND = 60, 800  # characters of an item, and to either side of an answer
SEPARATOR = later(r"\s?(?:[,;/]|\b(?:and|or|und|oder|et|ou|y|o|a|nebo|i)\b)\s?")


def denied(text: str, start: int, end: int) -> bool:
    """Whether the answer at this place is denied there: "not Canberra", "Canberra is wrong".

    >>> text = "it is not canberra"; denied(text, 10, 18)
    True
    >>> text = "it is not only canberra"; denied(text, 15, 23)
    False
    """
    if DENIED.search(text[max(0, start - NEAR) : start]):
        return True
    after = DENIED_AFTER.match(text, end)
    return after is not None and (after["false"] is None) == (after["turned"] is not None)


def undecided(text: str, start: int, end: int) -> bool:
    """Whether the sentence around this place offers several answers with "or" and commits itself to none.

    >>> text = "it could be sydney or canberra."; undecided(text, 22, 30)
    True
    >>> text = "it is canberra, or the bush capital."; undecided(text, 6, 14)
    False
    """
    first, last = sentence(text, start, end)
    if not (
        OR.search(text, max(first, start - BESIDE), start) or OR.search(text, end, min(last, end + BESIDE))
    ):
        return False
    return HEDGED.search(text, first, start) is not None or UNKNOWN.search(text, first, last) is not None


def sentence(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the sentence around a place begins and ends; at most a few hundred characters to either side."""
    low, high = max(0, start - 400), min(len(text), end + 400)
    begins = max((found.end() for found in SENTENCE.finditer(text, low, start)), default=low)
    found = SENTENCE.search(text, end, high)
    return begins, found.end() if found else high


def listed(text: str, start: int, end: int) -> bool:
    """Whether the answer is one of a list of everything: between commas in its sentence, or on lines of their own."""
    first, last = sentence(text, start, end)
    parts = SEPARATOR.split(text[first:start])[1:] + SEPARATOR.split(text[end:last])[:-1]
    near = [part for part in parts if part.strip()]
    if len(near) >= MANY and all(len(part.split()) <= 3 for part in near):
        return True
    low, high = max(0, start - AROUND), min(len(text), end + AROUND)
    items = [found.span("item") for found in ITEM.finditer(text, text.rfind("\n", 0, low) + 1, high)]
    short = [span for span in items if span[1] - span[0] <= SHORT_ITEM]
    return len(short) > MANY and any(one <= start < two for one, two in short)
