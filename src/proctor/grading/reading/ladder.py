"""The extraction ladder `proctor/2`: the answer that a reply states, and the rung that found it.

Rungs, tried in order on what follows the reasoning and stands before a question that the reply invents:

    0  the likeliest first token, in mode "logprob" only (first_token.py)
    1  the last JSON object with an answer key, wherever it stands (jsons.py)
    2  the last announced value: "Answer: ...", a heading, a tag, a box (stated.py)
    3  the whole reply (whole.py)
    4  the last phrase: "the answer is ...", "... is correct" (phrases.py); else the first line
    5  "it's B", "I'd pick B", one option in bold (weak.py); one label in the last sentence; a last line that is
       one option, or one marked in a conclusion (endings.py)
    6  one option's text in a concluding last sentence

Nothing is taken from running text by its letter alone, and nothing is guessed: a reply that states no
answer, or several, has none. A cut reply is read by rungs 1, 2 and 4 only, and only where its answer
cannot have gone on; a first line that a line break ends is whole. Every rung takes time linear in what is
read, which is bounded (said.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from proctor.grading.first_token import RUNG, by_first_token
from proctor.grading.formats import AnswerFormat
from proctor.grading.patterns import later
from proctor.grading.reading.endings import in_conclusion, in_last_sentence
from proctor.grading.reading.forms import lowered, plain
from proctor.grading.reading.free import in_words
from proctor.grading.reading.jsons import in_json
from proctor.grading.reading.phrases import in_phrase
from proctor.grading.reading.question import Question
from proctor.grading.reading.said import before_invention, spoken, window
from proctor.grading.reading.stated import in_line
from proctor.grading.reading.weak import in_weak_phrase
from proctor.grading.reading.whole import in_first_line, in_opening, in_whole
from proctor.grading.vocabulary import UNCLEAR, Found, Reading, Unclear, Vocabulary
from proctor.types import Item, Outcome, Reply

EXTRACTOR = "proctor/2"

Look = Callable[[str, str, Question], Found]

UPPER: tuple[tuple[int, Look], ...] = (
    (1, lambda said, low, asked: in_json(said, asked)),
    (2, in_line),
    (4, in_phrase),
)
FULL: tuple[tuple[int, Look], ...] = (
    *UPPER[:2],
    (3, lambda said, low, asked: in_whole(said, asked)),
    UPPER[2],
    (4, lambda said, low, asked: in_opening(said, asked)),
)
ENDINGS: tuple[tuple[int, Look], ...] = (
    (5, in_weak_phrase),
    (5, lambda said, low, asked: in_last_sentence(said, asked)),
    (6, lambda said, low, asked: in_conclusion(said, asked)),
)


def in_cut(said: str, low: str, asked: Question) -> Found:
    """Of a cut reply a phrase that is whole, or else its first line, where a phrase that was cut says the same."""
    found = in_phrase(said, low, asked)
    first = None if isinstance(found, str) else in_first_line(said, asked)
    if not isinstance(first, str):
        return found
    return first if in_phrase(said, low, replace(asked, cut="")) in (None, first) else UNCLEAR


CORRECTED = later(
    r"(?:^|[.!?\n]\s{0,3})(?:no, )?(?:wait|correction|on second thought|on reflection|i made a mistake"
    r"|let me correct|scratch that"
    r"|i need to correct)\b",
    re.IGNORECASE,
)


def corrections(said: str) -> tuple[tuple[int, Look], ...]:
    """What follows the last word of correction, by the upper rungs, if it states an answer."""
    place = max((match.end() for match in CORRECTED.finditer(said)), default=0)
    if not place:
        return ()

    def after(look: Look) -> Look:
        def found(said: str, low: str, asked: Question) -> Found:
            answer = look(said[place:], low[place:], asked)
            return answer if isinstance(answer, str) else None

        return found

    return tuple((rung, after(look)) for rung, look in UPPER)


def rungs(asked: Question) -> tuple[tuple[int, Look], ...]:
    if asked.cut:
        return (*UPPER[:2], (4, in_cut))
    if asked.kind == "choices":
        return (*FULL, *ENDINGS)
    return (*FULL, ENDINGS[1]) if asked.kind == "labels" else FULL


def climb(said: str | None, asked: Question) -> tuple[str | None, int | None]:
    """The answer that a text after its reasoning states, and the rung that found it."""
    if not said:
        return None, None
    text, invented = before_invention(window(said), asked)
    # What stands before an invented question is whole, wherever the reply was cut after it.
    found, rung = look(text, replace(asked, cut="") if invented else asked)
    return (found, rung) if isinstance(found, str) else (None, None)


def look(raw: str, asked: Question) -> tuple[Found, int | None]:
    """As `climb`, with UNCLEAR and its rung where the text answers, but not with one answer."""
    said = plain(raw)
    low = lowered(said)
    if asked.kind in ("text", "entity"):
        return in_words(said, raw, low, asked)
    for rung, each in (*corrections(said), *rungs(asked)):
        found = each(said, low, asked)
        if found is not None:
            return found, rung
    return None, None


def asked_of(item: Item, reply: Reply, kind: AnswerFormat, vocabulary: Vocabulary | None) -> Question:
    cut = reply.finish if reply.finish in ("length", "cut?") else ""
    question = item.ask.messages[-1].content if item.ask.messages else ""
    return Question(kind, vocabulary, item.choices, cut, question)


def read_reply(
    item: Item, reply: Reply, *, kind: AnswerFormat, vocabulary: Vocabulary | None = None
) -> Reading:
    """The answer that the reply states, with the rung that found it; else what became of a reply without one."""
    if reply.finish == "refused":
        return Outcome.REFUSED
    if reply.first_token:
        first = by_first_token(item, reply.first_token, vocabulary)
        return Outcome.NO_ANSWER if first is None else (first, RUNG)
    said = spoken(reply.text)
    asked = asked_of(item, reply, kind, vocabulary)
    if said and asked.cut and reply.text.rstrip(" \t").endswith("\n"):
        said += "\n"  # its last line is whole
    answer, rung = climb(said, asked)
    if answer is None:
        return Outcome.TRUNCATED if asked.cut or said is None else Outcome.NO_ANSWER
    return answer, rung


__all__ = ["EXTRACTOR", "Unclear", "climb", "look", "read_reply"]
