"""`proctor/1`: where a reply states its answer: after the reasoning, in JSON, on a line, in a phrase.

Everything here takes time linear in the reply.
"""

# ruff: noqa: RUF001 - the colons that models write are data here
from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import orjson

from proctor.grading.formats import AnswerFormat
from proctor.grading.ladder1.readers import read_choice, read_label
from proctor.grading.ladder1.values import read_letters, read_list, read_number
from proctor.grading.patterns import later
from proctor.grading.texts import key, peel
from proctor.grading.vocabulary import UNCLEAR, Found, Vocabulary

VALUE_CHARS = 2000  # a longer line is no answer
SHORT_CHARS = 200  # a reply in free words up to this length is the answer itself


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reply can be read as."""

    kind: AnswerFormat
    vocabulary: Vocabulary | None
    choices: Sequence[str]
    cut: bool  # the reply ended at its length limit

    def read(self, value: str) -> Found:
        return READERS[self.kind](value, self)

    def may_go_on(self, value: str, found: str) -> bool:
        """True when a value cut at its end could have become another answer than the one found."""
        if self.kind in ("number", "letters"):
            return True  # "3" may become "3.5", and "A" may become "A, C"
        ours = key(peel(value))
        if self.vocabulary is not None:
            words = self.vocabulary.words.items()
            return any(name != found and word.startswith(ours) for word, name in words)
        rivals = (
            text for letter, text in zip(ascii_uppercase, self.choices, strict=False) if letter != found
        )
        return len(ours) > 1 and any(key(peel(text)).startswith(ours) for text in rivals)


def _label(value: str, asked: Asked) -> Found:
    return read_label(value, asked.vocabulary) if asked.vocabulary is not None else None


READERS: Mapping[AnswerFormat, Callable[[str, Asked], Found]] = {
    "choices": lambda value, asked: read_choice(value, asked.choices),
    "labels": _label,
    "number": lambda value, asked: read_number(value),
    "letters": lambda value, asked: read_letters(value, asked.choices),
}


# Rung 0: what was said after the reasoning ------------------------------------------------------

THINK = later(r"<(/?)think(?:ing)?>", re.IGNORECASE)


def spoken(text: str) -> str | None:
    """The reply after its reasoning; None when a reasoning tag was opened and never closed."""
    if "<" not in text:
        return text.strip()
    end = 0
    for tag in THINK.finditer(text):
        if tag[1]:
            end = tag.end()
    said = text[end:]
    return None if THINK.search(said) else said.strip()


# Rung 1: JSON -----------------------------------------------------------------------------------

KEYS = ("answer", "answer_choice", "answer_idx", "choice", "label", "final_answer")
PAIR = later(
    rf"""["'](?:{"|".join(KEYS)})["']\s{{0,20}}:\s{{0,20}}(?:"((?:[^"\\]|\\.){{0,{VALUE_CHARS}}})\""""
    r"""|'([^'\\]{0,200})'(?=\s{0,20}[,}])|(-?[\d.]{1,40}|true|false)(?=\s{0,20}[,}]))""",
    re.IGNORECASE | re.DOTALL,
)


def json_block(said: str) -> str | None:
    """The reply when it opens an object, else its last fenced block when that does."""
    if said.startswith("{"):
        return said
    end = said.rfind("```")
    if end < 0:
        return None
    start = end if said.count("```") % 2 else said.rfind("```", 0, end)
    block = said[start + 3 : end if end > start else None]
    opening = block.find("{", 0, 40)
    return (
        block[opening:].strip() if opening >= 0 and not block[:opening].strip(" \r\n\tjsonJSON5c") else None
    )


def json_values(block: str) -> list[Any]:
    """The values of the answer keys; of broken JSON the last complete pair."""
    try:
        parsed = orjson.loads(block)
    except orjson.JSONDecodeError:
        pairs = PAIR.findall(block)
        return ["".join(pairs[-1])] if pairs else []
    if not isinstance(parsed, dict):
        return []
    by_key = {name.strip().lower().replace(" ", "_"): value for name, value in parsed.items()}
    return [by_key[name] for name in KEYS if name in by_key]


def as_text(value: Any) -> str | None:
    """A JSON value as the text it would be written as; None for what cannot be one answer."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, (str, int, float)) else None


def in_json(said: str, asked: Asked) -> Found:
    block = json_block(said)
    values = json_values(block) if block else []
    if not values:
        return None
    if asked.kind in ("text", "entity"):
        return (as_text(values[0]) or "").strip() or UNCLEAR
    read = {read_json(value, asked) for value in values}
    answers = [found for found in read if isinstance(found, str)]
    return answers[0] if len(answers) == 1 else UNCLEAR


def read_json(value: Any, asked: Asked) -> Found:
    """One value; a list of letters counts where several may be right, and an empty one is none."""
    if asked.kind == "letters" and isinstance(value, list):
        texts = [as_text(each) or "" for each in value]
        found = read_list(texts, asked.choices)
        return "none" if not texts else found if all(texts) else UNCLEAR
    text = as_text(value)
    return None if text is None else asked.read(text)


# Rung 2: the answer line ------------------------------------------------------------------------

COLON = later(r"""(s)?(?:\s(?:choice|option|letter))?[\s*_`"')\]}]{0,8}[:：=][*_`\s]{0,200}""")


@dataclass(frozen=True, slots=True)
class Line:
    """What follows an "answer:": `start` is its place, `below` says that it stands on a line of its own."""

    value: str
    ended: bool  # a line break follows
    start: int
    below: bool


def answer_lines(said: str, *, plural: bool = False) -> Iterator[Line]:
    """What follows each "answer:", from the last to the first; with `plural` also each "answers:"."""
    low = said.lower()
    if len(low) != len(said):  # a few capitals grow when lowered; places must stay comparable
        low = re.sub("[A-Z]+", lambda match: match[0].lower(), said)
    place = len(low)
    while (place := low.rfind("answer", 0, place)) >= 0:
        colon = COLON.match(said, place + 6)
        if colon is None or (place and low[place - 1].isalnum()):
            continue
        below = "\n" in colon[0]
        if colon[1] and (below or not plural):
            continue  # "Answers:" above a list repeats the question
        start = colon.end()
        end = said.find("\n", start, start + VALUE_CHARS)
        value = said[start : end if end >= 0 else start + VALUE_CHARS]
        if value:
            yield Line(value, end >= 0, start, below)


def in_answer_line(said: str, asked: Asked) -> Found:
    for line in answer_lines(said, plural=asked.kind == "letters"):
        found = asked.read(line.value)
        listed = None
        if asked.kind == "letters" and line.below:
            listed = read_list(said[line.start : line.start + VALUE_CHARS].splitlines(), asked.choices)
        if isinstance(found, str):
            unsure = asked.cut and not line.ended and asked.may_go_on(line.value, found)
            return UNCLEAR if unsure else listed or found
        if is_placeholder(line.value):
            continue  # the instruction repeated: "Answer: <letter>"
        return listed or found
    return None


def is_placeholder(value: str) -> bool:
    plain = value.strip(" *`\"'.()\r\t")
    return len(plain) <= SHORT_CHARS and plain.startswith("<") and plain.endswith(">")


# Rung 4: the phrase -----------------------------------------------------------------------------

ANSWER_IS = later(
    r"\b(?:the |my )?(?:(?:correct |right |best |final )?answers?"
    r"|(?:correct|right|best|final|appropriate) (?:options?|choices?|response))"
    r"(?: choice| option| letter)?[*_]{0,3} (?:is|are|would be|should be|must be)[\s:*_]{1,10}",
    re.IGNORECASE,
)
SENTENCE_END = later(r"(?<=[.!?。])[\s*_]+")


def last_answer_is(said: str) -> str | None:
    """What follows the last "the answer is", up to the end of its line."""
    place = None
    for match in ANSWER_IS.finditer(said):
        place = match.end()
    return None if place is None else said[place : place + VALUE_CHARS].split("\n", 1)[0]
