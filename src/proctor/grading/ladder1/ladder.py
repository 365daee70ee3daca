"""The extraction ladder `proctor/1`: the answer that a reply states, and the rung that found it.

Rungs, tried in order on what follows the reasoning:

    0  the likeliest first token, in mode "logprob" only (first_token.py)
    1  a JSON object (the reply, or its last fenced block) with an answer key
    2  the last line "Answer: ..."
    3  the whole reply
    4  the last "the answer is ..."
    5  exactly one label in the last sentence
    6  exactly one option's text in the last paragraph

Nothing is taken from running text by its letter alone, and nothing is guessed: a reply that states
no answer has none. Every rung takes time linear in the reply.
"""

# ruff: noqa: RUF001 - the quotes that models write are data here
from __future__ import annotations

from collections.abc import Callable
from string import ascii_uppercase

from proctor.grading.entities import named_entity
from proctor.grading.first_token import RUNG, by_first_token
from proctor.grading.formats import AnswerFormat
from proctor.grading.ladder1.readers import DOUBT, mentions, read_choice
from proctor.grading.ladder1.stated import (
    ANSWER_IS,
    SENTENCE_END,
    SHORT_CHARS,
    VALUE_CHARS,
    Asked,
    answer_lines,
    in_answer_line,
    in_json,
    is_placeholder,
    last_answer_is,
    spoken,
)
from proctor.grading.ladder1.values import read_letters, read_number
from proctor.grading.patterns import later
from proctor.grading.texts import LATEX, fold, key, light, peel
from proctor.grading.vocabulary import UNCLEAR, Found, Reading, Unclear, Vocabulary
from proctor.types import Item, Outcome, Reply

EXTRACTOR = "proctor/1"

LAST_CHARS = 2000  # how far from the end the last sentence and paragraph are looked for

# Rungs 3 to 6 -----------------------------------------------------------------------------------

PARAGRAPH_END = later(r"\n[ \t\r]*\n")
MARKED = later(
    r"\\boxed\s?\{(?:\\\w{1,8}\{)?([A-Z])\}|\(([A-Z])\)|\*\*\(?([A-Z])\)?\*\*"
    r"|\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)\s\(?([A-Z])\b(?![-'’])"
)
# "I would not call it an entailment": a negation in the same clause, however far before the label.
NOT_SAID = later(
    r"(?:\b(?:not|cannot|never|hardly|neither|nor|without)|n't)\b"
    r"(?:(?!\b(?:so|thus|hence|therefore|but|because|since|and|which)\b)[^,;:.!?()\n]){1,80}\Z"
)
TOUCHING = later(r"[\w.,-]")
CONTINUED = later(r"[\w-]|[.,]\d")
OPTION_LINE = later(r"[(*]{0,3}[A-Z][*]{0,2}[.):]")


def whole(said: str, asked: Asked) -> Found:
    if len(said) > VALUE_CHARS or "\n" in peel(said):  # a fence around the answer is markup
        return None
    if asked.vocabulary is not None:
        return asked.vocabulary.words.get(key(peel(said))) or asked.vocabulary.words.get(key(said))
    if asked.kind == "number":
        return read_number(said, strict=True)
    if asked.kind == "letters":
        return read_letters(said, asked.choices, strict=True)
    return read_choice(said, asked.choices, strict=True)


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
        plain = light(sentence)
        named = mentions(plain, asked.vocabulary)
        if any(NOT_SAID.search(plain, 0, start) for _, start, _ in named):
            return UNCLEAR
        return one({name for name, _, _ in named})
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
    for line in answer_lines(said):
        inner = peel(line.value)
        # "<your answer>", "<entity>": the instruction repeated. In free words only the known ones are.
        if is_placeholder(line.value) and (inner.lower() in INSTRUCTION or not is_entity(inner, asked)):
            continue
        plain = inner if LATEX.search(line.value) else line.value.strip(EMPHASIS)
        if not plain:
            continue
        return UNCLEAR if asked.cut and not line.ended else plain
    return None


def is_entity(text: str, asked: Asked) -> bool:
    """False for a text that is none of the row's entities."""
    return asked.kind != "entity" or named_entity(text, asked.choices) is not None


def text_whole(said: str, asked: Asked) -> Found:
    if len(said) > SHORT_CHARS:
        return None
    lead = ANSWER_IS.match(said)
    return said[lead.end() if lead else 0 :].strip(EMPHASIS) or UNCLEAR


def text_answer_is(said: str, asked: Asked) -> Found:
    value = last_answer_is(said)
    return None if value is None else SENTENCE_END.split(value, maxsplit=1)[0].strip(EMPHASIS) or None


# One of the row's entities -------------------------------------------------------------------------


def entity(look: Callable[[str, Asked], Found]) -> Callable[[str, Asked], Found]:
    """A rung for free words, its answer mapped to the nearest listed entity; else it stays as it was written."""

    def mapped(said: str, asked: Asked) -> Found:
        found = look(said, asked)
        return (named_entity(found, asked.choices) or found) if isinstance(found, str) else found

    return mapped


def entity_whole(said: str, asked: Asked) -> Found:
    """A short reply counts only by a listed entity: "I do not know." is no answer."""
    found = text_whole(said, asked)
    return named_entity(found, asked.choices) if isinstance(found, str) else None


# The ladder -------------------------------------------------------------------------------------

Rung = tuple[int, Callable[[str, Asked], Found]]

STATED_RUNGS: tuple[Rung, ...] = ((1, in_json), (2, in_answer_line))
VALUE_RUNGS: tuple[Rung, ...] = (*STATED_RUNGS, (3, whole), (4, in_answer_is))
LABEL_RUNGS: tuple[Rung, ...] = (*VALUE_RUNGS, (5, in_last_sentence))
TEXT_RUNGS: tuple[Rung, ...] = ((1, in_json), (2, text_line), (3, text_whole), (4, text_answer_is))
LADDERS: dict[AnswerFormat, tuple[Rung, ...]] = {
    "choices": (*LABEL_RUNGS, (6, in_last_paragraph)),
    "labels": LABEL_RUNGS,
    "number": VALUE_RUNGS,
    "letters": VALUE_RUNGS,
    "text": TEXT_RUNGS,
    "entity": (
        (1, entity(in_json)),
        (2, entity(text_line)),
        (3, entity_whole),
        (4, entity(text_answer_is)),
    ),
}
CUT_RUNGS = 2  # a reply cut by its length limit counts by the first two only


def climb(said: str | None, asked: Asked) -> tuple[str | None, int | None]:
    if not said:
        return None, None
    for rung, look in LADDERS[asked.kind][: CUT_RUNGS if asked.cut else None]:
        found = look(said, asked)
        if isinstance(found, Unclear):
            return None, None
        if found is not None:
            return found, rung
    return None, None


def read_reply(
    item: Item, reply: Reply, *, kind: AnswerFormat, vocabulary: Vocabulary | None = None
) -> Reading:
    """The answer that the reply states, with the rung that found it; else what became of a reply without one."""
    if reply.finish == "refused":
        return Outcome.REFUSED
    if reply.first_token:
        first = by_first_token(item, reply.first_token, vocabulary)
        return Outcome.NO_ANSWER if first is None else (first, RUNG)
    cut = reply.finish == "length"
    said = spoken(reply.text)
    answer, rung = climb(said, Asked(kind, vocabulary, item.choices, cut))
    if answer is None:
        return Outcome.TRUNCATED if cut or said is None else Outcome.NO_ANSWER
    return answer, rung
