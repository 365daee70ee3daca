"""The extraction ladder `proctor/1`: the answer that a reply states, and what that makes of the attempt.

Rungs, tried in order on what follows the reasoning:

    1  a JSON object (the reply, or its last fenced block) with an answer key
    2  the last line "Answer: ..."
    3  the whole reply
    4  the last "the answer is ..."
    5  exactly one label in the last sentence
    6  exactly one option's text in the last paragraph

Nothing is taken from running text by its letter alone, and nothing is guessed: a reply that states
no answer has none. Every rung takes time linear in the reply.
"""

# ruff: noqa: RUF001 - the quotes and dashes that models write are data here
from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import orjson

from proctor.suites.readers import UNCLEAR, Found, Unclear, Vocabulary, mentions, read_choice, read_label
from proctor.suites.tasks import Kind
from proctor.suites.texts import LATEX, fold, key, light, peel, same
from proctor.types import Item, Outcome, Reading, Reply

EXTRACTOR = "proctor/1"

VALUE_CHARS = 2000  # a longer line is no answer
SHORT_CHARS = 200  # a reply in free words up to this length is the answer itself
LAST_CHARS = 2000  # how far from the end the last sentence and paragraph are looked for


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reply can be read as."""

    kind: Kind
    vocabulary: Vocabulary | None
    choices: Sequence[str]
    cut: bool  # the reply ended at its length limit

    def read(self, value: str) -> Found:
        if self.vocabulary is not None:
            return read_label(value, self.vocabulary)
        return read_choice(value, self.choices)

    def may_go_on(self, value: str, found: str) -> bool:
        """True when a value cut at its end could have become another answer than the one found."""
        ours = key(peel(value))
        if self.vocabulary is not None:
            names = set(self.vocabulary.words.values()) - {found}
            return any(key(name).startswith(ours) for name in names)
        rivals = (
            text for letter, text in zip(ascii_uppercase, self.choices, strict=False) if letter != found
        )
        return len(ours) > 1 and any(key(peel(text)).startswith(ours) for text in rivals)


# Rung 0: what was said after the reasoning ------------------------------------------------------

THINK = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


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
PAIR = re.compile(
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
    values = [as_text(value) for value in json_values(block)] if block else []
    if not values:
        return None
    if asked.kind == "text":
        return (values[0] or "").strip() or UNCLEAR
    read = {asked.read(value) for value in values if value is not None}
    answers = [found for found in read if isinstance(found, str)]
    return answers[0] if len(answers) == 1 else UNCLEAR


# Rung 2: the answer line ------------------------------------------------------------------------

COLON = re.compile(r"""(?:\s(?:choice|option|letter))?[\s*_`"')\]}]{0,8}[:：=][*_`\s]{0,200}""")


def answer_lines(said: str) -> Iterable[tuple[str, bool]]:
    """What follows each "answer:", from the last to the first, and whether its line was ended."""
    low = said.lower()
    if len(low) != len(said):  # a few capitals grow when lowered; places must stay comparable
        low = re.sub("[A-Z]+", lambda match: match[0].lower(), said)
    place = len(low)
    while (place := low.rfind("answer", 0, place)) >= 0:
        colon = COLON.match(said, place + 6)
        if colon is None or (place and low[place - 1].isalnum()):
            continue
        start = colon.end()
        end = said.find("\n", start, start + VALUE_CHARS)
        value = said[start : end if end >= 0 else start + VALUE_CHARS]
        if value:
            yield value, end >= 0


def in_answer_line(said: str, asked: Asked) -> Found:
    for value, ended in answer_lines(said):
        found = asked.read(value)
        if isinstance(found, str):
            unsure = asked.cut and not ended and asked.may_go_on(value, found)
            return UNCLEAR if unsure else found
        if is_placeholder(value):
            continue  # the instruction repeated: "Answer: <letter>"
        return found
    return None


def is_placeholder(value: str) -> bool:
    plain = value.strip(" *`\"'.()\r\t")
    return len(plain) <= SHORT_CHARS and plain.startswith("<") and plain.endswith(">")


# Rungs 3 to 6 -----------------------------------------------------------------------------------

ANSWER_IS = re.compile(
    r"\b(?:the |my )?(?:(?:correct |right |best |final )?answer"
    r"|(?:correct|right|best|final|appropriate) (?:option|choice|response))"
    r"(?: choice| option| letter)?[*_]{0,3} (?:is|would be|should be|must be)[\s:*_]{1,10}",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(r"(?<=[.!?。])[\s*_]+")
PARAGRAPH_END = re.compile(r"\n[ \t\r]*\n")
MARKED = re.compile(
    r"\\boxed\s?\{(?:\\\w{1,8}\{)?([A-Z])\}|\(([A-Z])\)|\*\*\(?([A-Z])\)?\*\*"
    r"|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)\s\(?([A-Z])\b(?![-'’])"
)
# A sentence with one of these may name an option in order to turn it down.
DOUBT = re.compile(
    r"\b(?:not|cannot|incorrect|wrong|false|except|unlike|unlikely|rather than|instead of|ruled? out|neither"
    r"|nor|either|less likely)\b|n['’]t\b",
    re.IGNORECASE,
)
TOUCHING = re.compile(r"[\w.,-]")
CONTINUED = re.compile(r"[\w-]|[.,]\d")
OPTION_LINE = re.compile(r"[(*]{0,3}[A-Z][*]{0,2}[.):]")


def whole(said: str, asked: Asked) -> Found:
    if len(said) > VALUE_CHARS or "\n" in said:
        return None
    if asked.vocabulary is not None:
        return asked.vocabulary.words.get(key(peel(said))) or asked.vocabulary.words.get(key(said))
    return read_choice(said, asked.choices, strict=True)


def last_answer_is(said: str) -> str | None:
    """What follows the last "the answer is", up to the end of its line."""
    place = None
    for match in ANSWER_IS.finditer(said):
        place = match.end()
    return None if place is None else said[place : place + VALUE_CHARS].split("\n", 1)[0]


def in_answer_is(said: str, asked: Asked) -> Found:
    value = last_answer_is(said)
    if value is None:
        return None
    return asked.read(value if asked.choices else SENTENCE_END.split(value, maxsplit=1)[0])


def in_last_sentence(said: str, asked: Asked) -> Found:
    lines = said[-LAST_CHARS:].splitlines()
    line = lines[-1]
    sentence = [part for part in SENTENCE_END.split(line) if part][-1]
    if asked.vocabulary is not None:
        names = {name for name, _, _ in mentions(light(sentence), asked.vocabulary)}
        return one(names)
    before = next((text.strip() for text in reversed(lines[:-1]) if text.strip()), "")
    # The last of several lettered lines closes a list of the options; it is no answer.
    if not OPTION_LINE.match(before):
        found = read_choice(line, asked.choices, strict=True)
        if found is not None:
            return found
    if DOUBT.search(sentence):
        return None
    marked = {next(filter(None, groups)) for groups in MARKED.findall(sentence)}
    return one(marked) if marked <= set(ascii_uppercase[: len(asked.choices)]) else None


def in_last_paragraph(said: str, asked: Asked) -> Found:
    texts = {fold(text): letter for letter, text in zip(ascii_uppercase, asked.choices, strict=False)}
    # Options of one or two characters, or alike, cannot be told from the words around them.
    if len(texts) < len(asked.choices) or any(len(text) < 3 for text in texts):
        return None
    paragraph = PARAGRAPH_END.split(said[-LAST_CHARS:])[-1]
    sure = [light(part) for part in SENTENCE_END.split(paragraph) if not DOUBT.search(part)]
    left = " \n ".join(sure)
    named = set()
    for text in sorted(texts, key=len, reverse=True):
        kept = strike(left, text)
        if kept != left:
            named.add(texts[text])
            left = kept
    return one(named)


def strike(text: str, phrase: str) -> str:
    """The text with a line break for each place where the phrase stands as words of its own."""
    pieces, start = [], 0
    place = text.find(phrase)
    while place >= 0:
        end = place + len(phrase)
        if not (TOUCHING.match(text, place - 1) if place else None) and not CONTINUED.match(text, end):
            pieces.append(text[start:place])
            start = end
        place = text.find(phrase, end)
    return "\n".join([*pieces, text[start:]])


def one(names: set[str]) -> Found:
    """The only name; UNCLEAR for several."""
    if len(names) > 1:
        return UNCLEAR
    return next(iter(names), None)


# Free text --------------------------------------------------------------------------------------

INSTRUCTION = frozenset({"your answer", "answer", "text"})
EMPHASIS = " \t\r\n*_`"


def text_line(said: str, asked: Asked) -> Found:
    for value, ended in answer_lines(said):
        if is_placeholder(value) and peel(value).lower() in INSTRUCTION:
            continue
        plain = peel(value) if LATEX.search(value) else value.strip(EMPHASIS)
        if not plain:
            continue
        return UNCLEAR if asked.cut and not ended else plain
    return None


def text_whole(said: str, asked: Asked) -> Found:
    if len(said) > SHORT_CHARS:
        return None
    lead = ANSWER_IS.match(said)
    return said[lead.end() if lead else 0 :].strip(EMPHASIS) or UNCLEAR


def text_answer_is(said: str, asked: Asked) -> Found:
    value = last_answer_is(said)
    return None if value is None else SENTENCE_END.split(value, maxsplit=1)[0].strip(EMPHASIS) or None


# The ladder -------------------------------------------------------------------------------------

Rung = tuple[int, Callable[[str, Asked], Found]]

STATED_RUNGS: tuple[Rung, ...] = ((1, in_json), (2, in_answer_line))
LABEL_RUNGS: tuple[Rung, ...] = (*STATED_RUNGS, (3, whole), (4, in_answer_is), (5, in_last_sentence))
TEXT_STATED_RUNGS: tuple[Rung, ...] = ((1, in_json), (2, text_line))
LADDERS: dict[tuple[Kind, bool], tuple[Rung, ...]] = {
    ("choices", False): (*LABEL_RUNGS, (6, in_last_paragraph)),
    ("choices", True): STATED_RUNGS,
    ("labels", False): LABEL_RUNGS,
    ("labels", True): STATED_RUNGS,
    ("text", False): (*TEXT_STATED_RUNGS, (3, text_whole), (4, text_answer_is)),
    ("text", True): TEXT_STATED_RUNGS,
}


def climb(said: str | None, asked: Asked) -> tuple[str | None, int | None]:
    if not said:
        return None, None
    for rung, look in LADDERS[asked.kind, asked.cut]:
        found = look(said, asked)
        if isinstance(found, Unclear):
            return None, None
        if found is not None:
            return found, rung
    return None, None


def read_answer(
    reply: Reply, *, kind: Kind, vocabulary: Vocabulary | None = None, choices: Sequence[str] = ()
) -> tuple[str | None, int | None]:
    """The answer (a letter, a label's name or a text) and the rung that found it, or (None, None).

    A task of kind "labels" hands in its `vocabulary`, one of kind "choices" its `choices`.
    """
    return climb(spoken(reply.text), Asked(kind, vocabulary, choices, reply.finish == "length"))


def judge(item: Item, reply: Reply, *, kind: Kind, vocabulary: Vocabulary | None = None) -> Reading:
    """What the reply is worth: 1 for a right answer, 0 for a wrong one and for none."""
    if reply.finish == "refused":
        return Reading(Outcome.REFUSED, None, None, 0.0)
    cut = reply.finish == "length"
    said = spoken(reply.text)
    answer, rung = climb(said, Asked(kind, vocabulary, item.choices, cut))
    if answer is None:
        unfinished = cut or said is None
        return Reading(Outcome.TRUNCATED if unfinished else Outcome.NO_ANSWER, None, None, 0.0)
    accepted = (*((item.target,) if item.target is not None else ()), *item.aliases)
    right = same(answer, accepted) if kind == "text" else answer in accepted
    return Reading(Outcome.CORRECT if right else Outcome.WRONG, answer, rung, float(right))
