"""What the columns of a user's file mean: which holds the question, the answer, the choices and the id."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

import orjson

from proctor.errors import DataError
from proctor.suites.records import Record, Records

QUESTION = ("question", "prompt", "input", "messages")
ANSWER = ("answer", "target", "label", "expected")
CHOICES = ("choices", "options")
IDS = ("id",)
KNOWN_NAMES = (frozenset(QUESTION), frozenset(ANSWER), frozenset(CHOICES), frozenset(IDS))

NUMBERED = re.compile(r"(?:choice|option)[ _]?(\d{1,2}|[a-z])")
ROLES = ("system", "developer", "user", "assistant")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns in use, by their names in the file. `wide` are choices with a column each."""

    question: str
    answer: str
    choices: str | None
    wide: tuple[str, ...]
    id: str | None
    ignored: tuple[str, ...]


def find_columns(table: Records) -> Columns:
    """Name the columns. Raises: DataError when there is no question or no answer to compare with."""
    by_name = {name.lower(): name for name in reversed(table.columns)}
    question = first(QUESTION, by_name)
    if question is None:
        raise DataError(
            f"{table.name}: no column with questions. Its columns: {', '.join(table.columns)}. "
            f"Recognised names: {', '.join(QUESTION)}."
        )
    answer = first(ANSWER, by_name)
    if answer is None:
        raise DataError(
            f"{table.name}: no column with answers, and scoring needs one. Its columns: "
            f"{', '.join(table.columns)}. Recognised names: {', '.join(ANSWER)}."
        )
    choices = first(CHOICES, by_name)
    wide = () if choices else wide_columns(by_name)
    row_id = first(IDS, by_name)
    used = {question, answer, choices, row_id, *wide}
    ignored = tuple(name for name in table.columns if name not in used)
    return Columns(question, answer, choices, wide, row_id, ignored)


def first(names: Sequence[str], by_name: dict[str, str]) -> str | None:
    return next((by_name[name] for name in names if name in by_name), None)


def wide_columns(by_name: dict[str, str]) -> tuple[str, ...]:
    """Columns A, B, C ... or choice1, choice2 ... in their order; at least two make choices."""
    letters = []
    for letter in ascii_uppercase.lower():
        if letter not in by_name:
            break
        letters.append(by_name[letter])
    if len(letters) >= 2:
        return tuple(letters)
    marks = [(match[1], name) for key, name in by_name.items() if (match := NUMBERED.fullmatch(key))]
    marks.sort(key=lambda pair: (len(pair[0]), pair[0]))
    return tuple(name for _, name in marks) if len(marks) >= 2 else ()


def where(table: Records, record: Record, column: str) -> str:
    return f"{table.name}, {record.where}, column {column!r}"


def question_fields(table: Records, record: Record, columns: Columns) -> dict[str, Any]:
    """What the prompt is made of: a question, or messages to be sent as they are."""
    value = record.values.get(columns.question)
    place = where(table, record, columns.question)
    if columns.question.lower() == "messages":
        return {"messages": messages(value, place)}
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{place}: the question is missing or not text")
    return {"question": value.strip()}


def messages(value: Any, place: str) -> list[dict[str, str]]:
    """A conversation. Raises: DataError unless it is a list of objects with role and content."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = None
    if not isinstance(value, list) or not value:
        raise DataError(f'{place}: not a list of messages such as [{{"role": "user", "content": "..."}}]')
    for number, message in enumerate(value, 1):
        if not isinstance(message, dict) or message.keys() != {"role", "content"}:
            raise DataError(f"{place}: message {number} has to have role and content and nothing else")
        if message["role"] not in ROLES:
            raise DataError(
                f"{place}: message {number} has the role {message['role']!r}; known: {', '.join(ROLES)}"
            )
        if not isinstance(message["content"], str):
            raise DataError(f"{place}: the content of message {number} is not text")
    return value


def choices(table: Records, record: Record, columns: Columns) -> tuple[str, ...]:
    """The options of a row. Raises: DataError unless there are 2 to 26 and none is empty."""
    if columns.choices is not None:
        place = where(table, record, columns.choices)
        texts = [as_option(option, place) for option in listed(record.values.get(columns.choices), place)]
    else:
        place = where(table, record, columns.wide[0])
        cells = [record.values.get(name) for name in columns.wide]
        while cells and cells[-1] in (None, ""):  # rows may have fewer options than the widest
            cells.pop()
        texts = [as_option(cell, place) for cell in cells]
    if not 2 <= len(texts) <= len(ascii_uppercase):
        raise DataError(f"{place}: {len(texts)} choices; from 2 to {len(ascii_uppercase)} are possible")
    return tuple(texts)


def listed(value: Any, place: str) -> list[Any]:
    """Options written as a JSON list, an object by letter, or a cell "red|green|blue"."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            raise DataError(f'{place}: not a JSON list; write ["red", "green"] or red|green') from None
    if isinstance(value, str):
        return value.split("|")
    if isinstance(value, dict):
        letters = [str(name).strip().upper() for name in value]
        if letters == list(ascii_uppercase[: len(letters)]):
            return list(value.values())
    if isinstance(value, list):
        return value
    raise DataError(f"{place}: choices have to be a list, an object by letter from A, or text with | between")


def as_option(value: Any, place: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        raise DataError(f"{place}: a choice is empty or not text ({value!r})")
    return str(value).strip()


def row_ids(table: Records, columns: Columns) -> list[str]:
    """The rows' own ids, or their places from 0. Raises: DataError naming both rows that share one."""
    if columns.id is None:
        return [str(index) for index in range(len(table.records))]
    seen: dict[str, str] = {}
    for record in table.records:
        value = record.values.get(columns.id)
        place = where(table, record, columns.id)
        if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
            raise DataError(f"{place}: the id is missing or neither text nor a whole number")
        name = str(value).strip()
        if name in seen:
            raise DataError(f"{place}: the id {name!r} stands in {seen[name]} too; ids have to differ")
        seen[name] = record.where
    return list(seen)
