"""What was said: the reply after its reasoning, and before a next question that it invents."""

from __future__ import annotations

import re

from proctor.grading.patterns import later
from proctor.grading.reading.choice import lettered
from proctor.grading.reading.forms import lowered, plain, words
from proctor.grading.reading.listing import own_option
from proctor.grading.reading.question import Question
from proctor.grading.texts import peel

# Of a longer reply the beginning and the end are read: an answer stands in one of them.
HEAD, TAIL = 6_000, 18_000

TAGS = (
    "think",
    "thinking",
    "thought",
    "thoughts",
    "reasoning",
    "reflection",
    "scratchpad",
    "seed:think",
    "analysis",
)
OPENING = (*(f"<{tag}>" for tag in TAGS), "[think]", "◁think▷", "<|begin_of_thought|>")
CLOSING = (*(f"</{tag}>" for tag in TAGS), "[/think]", "◁/think▷", "<|end_of_thought|>")
FINAL_CHANNEL = "<|channel|>final<|message|>"
STOPS = later(r"(?:</s>|<\|(?:endoftext|im_end|eot_id|end|eom_id|return)\|>|<end_of_turn>)")


def spoken(text: str) -> str | None:
    """The reply after its reasoning; None when a reasoning tag was opened and never closed."""
    if FINAL_CHANNEL in text:
        text = text.rpartition(FINAL_CHANNEL)[2]
    if not any(sign in text for sign in "<[◁"):
        return text.strip()
    low = lowered(text)
    end = max((place + len(tag) for tag in CLOSING if (place := low.rfind(tag)) >= 0), default=0)
    if any(low.find(tag, end) >= 0 for tag in OPENING):
        return None
    said = text[end:]
    stop = STOPS.search(said)
    if stop and said[: stop.start()].strip():
        said = said[: stop.start()]
    return said.strip()


def window(said: str) -> str:
    """The text itself, or the beginning and the end of a very long one, as lines of their own."""
    if len(said) <= HEAD + TAIL:
        return said
    return f"{said[:HEAD]}\n\n{said[-TAIL:]}"


# Replies that run on ----------------------------------------------------------------------------------

INVENTED = later(
    r"^[ \t#*>-]{0,8}(?:(?:next |new |another |following )?(?:question|problem"
    r"|exercise)\s?(?:\d{1,3})?[ \t]*[*_]{0,2}[:.)\]][*_]{0,2}"
    r"|q\s?\d{0,3}[.:)]|\[?(?:user|human|student|instruction|inst|input)\]?[*_]{0,2}:"
    r"|#{2,6} (?:question|instruction|input|problem|user|human|next|exercise)\b"
    r"|<\|?(?:im_start|user|start_of_turn|start_header_id)\b|\[inst\]"
    r"|(?:frage|pregunta|pergunta|domanda|вопрос|السؤال|سؤال|प्रश्न)\s?\d{0,3}\s?[:.]|(?:问题|題目|题目|問題"
    r"|질문|문제|問)\s?\d{0,3}\s?[:.])",
    re.IGNORECASE | re.MULTILINE,
)
OPTION = later(r"^[ \t]*[(\[*]{0,3}([A-J])[.):\]]{1,2}[*]{0,2}[ \t]+(\S.*)$", re.MULTILINE)
SPACES = later(r"\s+")
SHOWN = 60  # characters of a question that tell it from another


def before_invention(said: str, asked: Question) -> tuple[str, str]:
    """The part before a question that the reply invents, and how that begins; "" where there is none.

    The question that was asked may be repeated before the answer: it is known by its words.
    """
    for found in INVENTED.finditer(said):
        head = said[: found.start()].strip()
        if head and not is_own(said[found.end() : found.end() + 400], asked):
            return head, found[0].strip()
    place = foreign_list(said, asked)
    if place is not None and said[:place].strip():
        return said[:place].strip(), said[place:].strip().split("\n", 1)[0][:30]
    return said, ""


def is_own(text: str, asked: Question) -> bool:
    """True when the question is the one that was asked."""
    start = words(text.strip().split("\n", 1)[0][:SHOWN])[:8]
    return len(start) >= 3 and f" {' '.join(start[:-1])} " in f" {' '.join(words(asked.question))} "


def foreign_list(said: str, asked: Question) -> int | None:
    """Where a list of lettered options begins whose texts are not the item's, with the question before it."""
    if asked.kind != "choices" or len(asked.choices) < 2:
        return None
    marks = list(OPTION.finditer(said))
    for one, two, three in zip(marks, marks[1:], marks[2:], strict=False):
        if (one[1], two[1], three[1]) != ("A", "B", "C"):
            continue
        if said.count("\n", one.end(), three.start()) > 4:
            continue
        if any(
            own_option(plain(each[0]), asked)
            or isinstance(lettered(peel(plain(each[0])), asked, strict=True), str)
            for each in (one, two, three)
        ):
            continue
        question = said.rfind("\n\n", 0, max(0, one.start() - 2))
        return question if question > 0 else None
    return None
