"""Rung 2: an announced value, on a line ("Answer: B"), below a heading, in a tag or in a box; the last one counts."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass

from proctor.grading.patterns import later
from proctor.grading.reading.cues import spoken_in
from proctor.grading.reading.letters import read_list
from proctor.grading.reading.listing import list_of_options
from proctor.grading.reading.question import Question
from proctor.grading.reading.values import READERS, is_placeholder
from proctor.grading.reading.whole import nothing_else, opening_label
from proctor.grading.texts import peel
from proctor.grading.vocabulary import UNCLEAR, Found

VALUE_CHARS = 2000  # a longer line is no answer

NAMES = r"(?:final[_ -]?)?(?:answer|choice|label|option|result|prediction)"
OPENED, CLOSED = later(rf"<{NAMES}>", re.IGNORECASE), later(rf"</{NAMES}>", re.IGNORECASE)
MOST_VALUES = 24  # how many announced values are looked at, from the last
BOXED = later(r"\\(?:boxed|fbox)\s{0,5}\{((?:[^{}]|\{[^{}]{0,400}\}){0,400})\}")
CELL = later(
    r"^[ \t]*\|[ *_]{0,4}(?:(?:the|final|correct|best|my) ){0,2}(?:answer|choice|option)[ *_]{0,4}\|[ *_]{0,4}"
    r"([^|\n]{1,400}?)[ *_]{0,4}\|[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
HASHES = later(r"^\s{0,3}####\s{1,3}([^\n]{1,200})\s{0,20}\Z", re.MULTILINE)
DOUBLE = later(r"\[\[([^\[\]\n]{1,40})\]\]")
# Other words that announce a value on a line of its own; what follows has to be one label or letter and no more.
OTHER_CUES = later(
    r"^[ \t#*_>-]{0,8}(?:(?:final |my |your |overall )?(?:correct|final|selected|chosen|pick|label"
    r"|verdict|prediction|classification|decision"
    r"|judge?ment|conclusion|result|output"
    r"|response|choice|selection|option|solution|pick|relationship|relation|category|urteil|ergebnis"
    r"|conclusión|conclusion|вывод|結論|结论|결론)"
    r"(?: label| choice| selected| option| answer)?)[*_]{0,3}\s?[:=][*_\s]{0,6}",
    re.MULTILINE,
)
NUMBER_CUES = later(
    r"(?:similarity(?: score| rating)?|score|rating|bewertung|puntuación|nota|punteggio|оценка|得分|评分|分数"
    r"|スコア|点数|점수)[*_]{0,3}\s?"
    r"(?:[:=]|is|would be|ist|es|é|è|est|は|是|는|은)[*_\s]{1,6}"
    r"|\b(?:rate|score|give) (?:it|them|these|this)(?: (?:pair|one|sentence pair|two))?(?: (?:a|as|at))? (?=\d)"
)
HEADING = later(
    r"^[ \t#*_>-]{0,8}(?:the )?(?:final |correct |my )?(?:answer(?: choice)?|antwort|réponse|respuesta"
    r"|resposta|risposta|ответ|答案|正解|答え|正답|정답|답)"
    r"[*_]{0,3}[ \t]*\n\s{0,20}",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Stated:
    """An announced value: `ended` where something follows its line, `below` where it stands under its cue."""

    value: str
    start: int
    ended: bool
    below: bool = False
    plural: bool = False
    strict: bool = False


def stated(said: str, low: str, asked: Question) -> list[Stated]:
    """Every announced value, the last first."""
    found = [
        *lines(said, low),
        *(at_line(said, match.end(), strict=True) for match in OTHER_CUES.finditer(low)),
        *(at_line(said, match.end(), below=True, strict=True) for match in HEADING.finditer(low)),
        *tagged(said),
        *(Stated(match[1], match.start(1), True, strict=True) for match in CELL.finditer(said)),
        *(
            Stated(match[1], match.start(1), True)
            for form in (BOXED, DOUBLE)
            for match in form.finditer(said)
        ),
        *(Stated(match[1], match.start(1), False, strict=True) for match in HASHES.finditer(said)),
    ]
    if asked.kind == "number":
        found += [at_line(said, match.end()) for match in NUMBER_CUES.finditer(low)]
    return sorted(found, key=lambda each: -each.start)[:MOST_VALUES]


def tagged(said: str) -> Iterator[Stated]:
    """What stands between "<answer>" and "</answer>"."""
    opened = [match.end() for match in OPENED.finditer(said)] if "</" in said else []
    if not opened:
        return
    for match in CLOSED.finditer(said):
        place = bisect(opened, match.start()) - 1
        if place >= 0 and match.start() - opened[place] <= VALUE_CHARS:
            yield Stated(said[opened[place] : match.start()].strip(), opened[place], True)


BEFORE_CUE = frozenset(
    {"", "correct", "right", "best", "final", "the", "my", "the correct", "the final", "my final"}
)


def lines(said: str, low: str) -> Iterator[Stated]:
    """What follows each cue of any language."""
    for cues in spoken_in(low):
        for match in cues.line.finditer(low):
            before = low[match.start() - 1 : match.start()] if match.start() else ""
            if cues.spaced and before and (before.isalpha() or before.isdigit()):
                continue
            gap = said[match.start() : match.end()]
            loose = not any(sign in gap for sign in ":=>→⇒]")
            if (
                loose
                and low[low.rfind("\n", 0, match.start()) + 1 : match.start()].strip(" #*_>-")
                not in BEFORE_CUE
            ):
                continue
            below = "\n" in gap
            yield at_line(
                said,
                match.end(),
                below=below,
                plural=gap.lower().startswith("answers"),
                strict=loose or below,
            )


def at_line(
    said: str, start: int, *, below: bool = False, plural: bool = False, strict: bool = False
) -> Stated:
    end = said.find("\n", start, start + VALUE_CHARS)
    value = said[start : end if end >= 0 else start + VALUE_CHARS]
    return Stated(value, start, end >= 0, below, plural, strict)


def in_line(said: str, low: str, asked: Question) -> Found:
    """The last announced value that states an answer."""
    for each in stated(said, low, asked):
        found = read_stated(said, each, asked)
        if found is not None:
            return found
    return None


def read_stated(said: str, each: Stated, asked: Question) -> Found:
    if each.plural and (each.below or asked.kind != "letters"):
        return None  # "Answers:" above a list repeats the question
    if not peel(each.value) or is_placeholder(each.value):
        return None
    found = strictly(each.value, asked) if each.strict else READERS[asked.kind](each.value, asked)
    if asked.kind == "letters" and each.below:
        listed = read_list(said[each.start : each.start + VALUE_CHARS].splitlines(), asked)
        found = listed or found
    if not isinstance(found, str):
        return found
    following = said[each.start : each.start + VALUE_CHARS].split("\n", 6)[:6]
    if asked.kind == "choices" and list_of_options([line for line in following if line.strip()][:2], asked):
        return UNCLEAR
    return UNCLEAR if asked.cut and not each.ended and asked.may_go_on(each.value, found) else found


def strictly(value: str, asked: Question) -> Found:
    """A value that weaker words announce: it may hold the answer and nothing else."""
    found = nothing_else(value, asked)
    return opening_label(value, asked) if found is None and asked.kind == "labels" else found
