"""Rung 1: the last JSON object that holds an answer key, wherever it stands and however it ends."""

# ruff: noqa: RUF001 - keys of other scripts and the quotes that models write are data here
from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from proctor.grading.patterns import later
from proctor.grading.reading.languages import LANGUAGES
from proctor.grading.reading.letters import read_list
from proctor.grading.reading.question import Question
from proctor.grading.reading.values import READERS, is_placeholder
from proctor.grading.vocabulary import UNCLEAR, Found, Unclear

FIRST = (
    r"(?:final|correct|best|right|selected|chosen|predicted|your|my|the)?[ _-]?answers?(?:[ _-]?(?:choice|idx"
    r"|index|letter|key|option|text|label))?"
    r"|(?:final|correct|best|right|selected|chosen|your|my)?[ _-]?(?:choice|option)(?:[ _-]?(?:letter|idx|index))?"
    r"|(?:final|predicted)?[ _-]?label|letter"
)
SECOND = (
    r"prediction|predicted|verdict|selection|classification|category|decision|judge?ment|result|response|output"
    r"|conclusion|solution|final"
)
SCALE = r"(?:similarity[ _-]?)?(?:score|rating)|similarity"
FOREIGN = "|".join(
    sorted(
        {each.cue.lower() for each in LANGUAGES}
        | {"正解", "解答", "回答", "답", "答え", "선택", "选项", "选择"}
    )
)
QUOTE = r"(?:\\?[\"'“”‘’`])"
VALUE = (
    r"""(?:\\?"((?:[^"\\]|\\[^"]|\\"(?=[^,}\]\n]*\\?"\s{0,20}[,}])){0,2000})(\\?"|\Z)"""
    r"""|'([^'\\\n]{0,400})'(?=\s{0,20}(?:[,}]|\Z))"""
    r"""|[“]([^”\n]{0,400})[”]"""
    r"""|(\[[^\[\]{}]{0,400}(?:\]|\Z))"""
    r"""|([-+]?[\d.]{1,40}|true|false|null|\(?[a-z]\)?)(?=\s{0,20}(?:[,}\n]|\Z)))"""
)


def pairs(keys: str) -> re.Pattern[str]:
    return later(
        rf"(?:(?P<quote>{QUOTE})|(?<=[{{,])\s{{0,20}})({keys})(?(quote){QUOTE})\s{{0,20}}[:：]\s{{0,20}}{VALUE}",
        re.IGNORECASE,
    )


KEYS = pairs(rf"{FIRST}|{FOREIGN}")
MORE_KEYS = pairs(SECOND)
NUMBER_KEYS = pairs(rf"{FIRST}|{FOREIGN}|{SCALE}")
HAS_KEY = later(rf"{QUOTE}(?:{FIRST}|{FOREIGN}|{SECOND}|{SCALE}){QUOTE}\s{{0,20}}[:：]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KeyValue:
    """An answer key's value: text, or the parts of a list. `ended` is False for a text cut before its quote."""

    key: str
    value: str | list[str] | None
    ended: bool
    start: int
    end: int


def in_json(said: str, asked: Question) -> Found:
    """The answer of the last object that holds one; several keys of one object have to agree."""
    if ":" not in said or not any(sign in said for sign in "{\"'“"):
        return None
    for keys in (NUMBER_KEYS if asked.kind == "number" else KEYS, MORE_KEYS):
        found = last_object(said, list(found_pairs(said, keys)), asked)
        if found is not None:
            return found
    return None


def found_pairs(said: str, keys: re.Pattern[str]) -> Iterator[KeyValue]:
    for match in keys.finditer(said):
        quoted, closing, single, curly, listed, plain = match.groups()[2:]
        near = said[max(0, match.start() - 4000) : match.start()]
        opened = near.rfind("{") > near.rfind("}")
        if plain is not None and not opened:
            continue  # "answer: 3" outside of an object is a line
        if match["quote"] is None and not opened:
            continue
        value: str | list[str] | None
        if listed is not None:
            value = parts(listed)
        elif plain is not None:
            value = None if plain.lower() == "null" else plain
        else:
            value = unescaped(quoted) if quoted is not None else single if single is not None else curly
        yield KeyValue(match[2].lower(), value, quoted is None or bool(closing), match.start(), match.end())


def unescaped(text: str) -> str:
    try:
        return str(orjson.loads(f'"{text}"'))
    except orjson.JSONDecodeError:
        return text.replace('\\"', '"').replace("\\n", "\n")


def parts(listed: str) -> list[str]:
    try:
        loaded: Any = orjson.loads(listed)
    except orjson.JSONDecodeError:
        loaded = [part.strip(" \"'[]") for part in listed.split(",")]
    return [str(part).lower() if isinstance(part, bool) else str(part) for part in loaded if part is not None]


def last_object(said: str, found: list[KeyValue], asked: Question) -> Found:
    """The pairs of the last object whose values are no placeholders, read together."""
    while found:
        last = found[-1]
        together = [
            pair
            for pair in found
            if "{" not in said[pair.end : last.start] and "}" not in said[pair.end : last.start]
        ]
        real = [pair for pair in together if not (isinstance(pair.value, str) and is_placeholder(pair.value))]
        if real:
            return agreed(real, asked)
        found = found[: -len(together)] if together else found[:-1]
    return None


def agreed(found: list[KeyValue], asked: Question) -> Found:
    if asked.kind in ("text", "entity"):
        value = found[0].value
        text = value if isinstance(value, str) else value[0] if value and len(value) == 1 else ""
        return text.strip() or UNCLEAR
    by_key = {pair.key: pair for pair in found}  # of a key that stands twice the last counts
    read = [read_pair(pair, asked) for pair in by_key.values()]
    answers = {each for each in read if isinstance(each, str)}
    if len(answers) == 1 and not any(isinstance(each, Unclear) for each in read):
        return answers.pop()
    return UNCLEAR


def read_pair(pair: KeyValue, asked: Question) -> Found:
    """One value; a list of letters counts where several may be right, and an empty one is none."""
    if isinstance(pair.value, list):
        if asked.kind == "letters":
            found = read_list(pair.value, asked) if all(pair.value) else UNCLEAR
            return found if pair.value else "none"
        if len(pair.value) != 1:
            return UNCLEAR
        return READERS[asked.kind](pair.value[0], asked)
    if pair.value is None:
        return None
    found = READERS[asked.kind](pair.value, asked)
    if not pair.ended and isinstance(found, str) and asked.may_go_on(pair.value, found):
        return UNCLEAR
    return found


def without_json(said: str) -> str | None:
    """The text when it is prose; None when it opens as an object or holds one with an answer key."""
    return None if said.lstrip("` \njson").startswith("{") or HAS_KEY.search(said) else said
