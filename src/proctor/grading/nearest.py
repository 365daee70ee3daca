"""How near an unread reply came to an answer: the rung that found something, and what was wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import orjson

from proctor.grading.formats import AnswerFormat
from proctor.grading.patterns import later
from proctor.grading.reading.endings import in_conclusion, in_last_sentence
from proctor.grading.reading.forms import lowered, plain
from proctor.grading.reading.jsons import HAS_KEY, KEYS, found_pairs
from proctor.grading.reading.label import mentions
from proctor.grading.reading.ladder import EXTRACTOR, asked_of, climb
from proctor.grading.reading.phrases import last_value
from proctor.grading.reading.question import Question
from proctor.grading.reading.said import before_invention, spoken, window
from proctor.grading.reading.stated import stated
from proctor.grading.reading.values import READERS, is_placeholder
from proctor.grading.texts import light, peel
from proctor.grading.vocabulary import UNCLEAR, Vocabulary
from proctor.types import Item, Reply

__all__ = [
    "BROKEN_JSON",
    "EMPTY",
    "EXTRACTOR",
    "LATER",
    "NO_LINE",
    "REFUSING",
    "RUN_ON",
    "UNFINISHED",
    "Nearest",
    "nearest",
]

COUNTS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
CAPITAL = later(r"(?<![\w'\u2019-])([A-Z])(?![\w'\u2019-])")
FIGURE = later(r"\d+(?:[.,]\d+)?")
REFUSAL = later(
    r"\b(?:sorry|apologi[sz]e|cannot|can['\u2019]t|unable to|not able to|won['\u2019]t)\b.{0,80}"
    r"\b(?:help|assist|answer|provide|comply|advice|discuss|continue)",
    re.IGNORECASE | re.DOTALL,
)

VALUE_CHARS = 60
SHORT_REPLY = 20

EMPTY = "an empty reply"
UNFINISHED = "reasoning that never ended"
BROKEN_JSON = "broken JSON"
NO_LINE = "no answer line"
REFUSING = "words of refusal"
RUN_ON = "an invented next question"
LATER = f"an answer that {EXTRACTOR} reads"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The rung that came nearest (None: none found anything) and what stood there instead of an answer."""

    rung: int | None
    what: str
    value: str = ""  # what stood in the answer's place, its beginning


def nearest(item: Item, reply: Reply, *, kind: AnswerFormat, vocabulary: Vocabulary | None = None) -> Nearest:
    """What the ladder found in a reply but could not take for an answer."""
    if reply.first_token:
        return Nearest(0, "no option among the likeliest first tokens")
    said = spoken(reply.text)
    if said is None:
        return Nearest(None, UNFINISHED)
    if not said:
        return Nearest(None, EMPTY)
    asked = asked_of(item, reply, kind, vocabulary)
    answer, rung = climb(said, asked)
    if answer is not None:
        return Nearest(rung, LATER, _short(answer))
    said, invented = before_invention(window(said), asked)
    said = plain(said)
    for look in (_json, _line, _whole, _phrase, _end):
        if (found := look(said, asked)) is not None:
            return found
    if invented:
        return Nearest(None, RUN_ON, _short(invented))
    return Nearest(None, REFUSING if REFUSAL.search(said[:1000]) else NO_LINE)


def _json(said: str, asked: Question) -> Nearest | None:
    pairs = list(found_pairs(said, KEYS))
    if pairs:
        value = _listed(pairs[-1].value)
        return Nearest(1, f"JSON whose answer {_fault(value, asked)}", _short(value))
    block = _block(said)
    if block is None:
        return None
    return Nearest(1, "JSON without an answer key" if _is_json(block) else BROKEN_JSON)


def _block(said: str) -> str | None:
    """The reply when it opens an object, else its fenced block when that does."""
    fenced = said.rpartition("```json")[2].partition("```")[0].strip() if "```json" in said else said
    return fenced if fenced.startswith("{") or HAS_KEY.search(fenced) else None


def _short(value: str) -> str:
    return " ".join(value[:VALUE_CHARS].split())


def _is_json(block: str) -> bool:
    try:
        orjson.loads(block)
    except orjson.JSONDecodeError:
        return False
    return True


def _listed(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else value or ""


def _line(said: str, asked: Question) -> Nearest | None:
    line = next(
        (each for each in stated(said, lowered(said), asked) if each.value.strip() and not each.plural), None
    )
    if line is None or (line.strict and _read(line.value, asked) is None):
        return None
    if is_placeholder(line.value):
        return Nearest(2, "an answer line that repeats the instruction")
    if asked.cut and not line.ended and isinstance(_read(line.value, asked), str):
        return Nearest(2, "an answer line that was cut")
    return Nearest(2, f"an answer line that {_fault(line.value, asked)}", _short(line.value))


def _read(value: str, asked: Question) -> object:
    return value if asked.kind in ("text", "entity") else READERS[asked.kind](value, asked)


def _whole(said: str, asked: Question) -> Nearest | None:
    if len(peel(said)) > SHORT_REPLY or asked.kind in ("text", "entity"):
        return None
    fault = _fault(said, asked)
    return None if " no " in fault else Nearest(3, f"a whole reply that {fault}")


def _phrase(said: str, asked: Question) -> Nearest | None:
    value = last_value(said, lowered(said))
    if value is None:
        return None
    return Nearest(4, f'"the answer is", which {_fault(value, asked)}', _short(value))


def _end(said: str, asked: Question) -> Nearest | None:
    if asked.kind in ("choices", "labels") and in_last_sentence(said, asked) is UNCLEAR:
        return Nearest(5, f"a last sentence that names several {_NOUNS[asked.kind]}, or turns one down")
    if asked.kind == "choices" and in_conclusion(said, asked) is UNCLEAR:
        return Nearest(6, "a last sentence with the texts of several options")
    return None


_NOUNS: Mapping[AnswerFormat, str] = {"choices": "options", "labels": "labels"}


def _fault(value: str, asked: Question) -> str:
    return _FAULTS.get(asked.kind, _no_words)(value, asked)


def _letters(value: str, asked: Question) -> str:
    allowed = ascii_uppercase[: len(asked.choices)]
    named = set(CAPITAL.findall(value[:400]))
    if not peel(value):
        return "is empty"
    if named - set(allowed):
        n = len(asked.choices)
        return f"names an option outside the {COUNTS[n] if n < len(COUNTS) else n}"
    return "names several options" if len(named) > 1 else "names no option"


def _labels(value: str, asked: Question) -> str:
    if not peel(value):
        return "is empty"
    named = (
        {name for name, _, _ in mentions(light(value[:400]), asked.vocabulary)} if asked.vocabulary else set()
    )
    return "names several labels" if len(named) > 1 else "names no label"


def _number(value: str, asked: Question) -> str:
    found = FIGURE.findall(value[:400])
    if len(found) > 1:
        return "holds several numbers"
    return "holds a number outside 0 to 5" if found else "holds no number"


def _no_words(value: str, asked: Question) -> str:
    return "names nothing" if peel(value) else "is empty"


_FAULTS: Mapping[AnswerFormat, Callable[[str, Question], str]] = {
    "choices": _letters,
    "letters": _letters,
    "labels": _labels,
    "number": _number,
}
