"""A server's JSON, read field by field into values of known types; what has another type is a BadReply that names it.

Every reader takes a field's name and gives None where the field is absent or null, as servers write what they
do not know. Nothing that a reader gave needs to be looked at again: the store takes it as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import orjson

from proctor.errors import BadReply
from proctor.providers.wire.http import HttpResponse
from proctor.providers.wire.refusals import Place, bad_reply
from proctor.types import NOTHING_USED, Usage

MOST_COUNT = 2**31 - 1  # what the store's columns of counts hold
MOST_BYTES = 2**63 - 1
MOST_AMOUNT = 1e18
MOST_SECONDS = 366 * 86400.0
NS = 1e-9  # seconds
SHOWN_CHARACTERS = 60
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class JsonTable:
    """A JSON object. `path` is where it stood in the reply ("choices[0].message."), `where` whose reply it is."""

    fields: Mapping[str, Any]
    path: str
    where: str

    def text(self, name: str) -> str | None:
        value = self.fields.get(name)
        return value if value is None or isinstance(value, str) else self._odd(name, "text")

    def flag(self, name: str) -> bool | None:
        value = self.fields.get(name)
        return value if value is None or isinstance(value, bool) else self._odd(name, "true or false")

    def count(self, name: str, most: int = MOST_COUNT) -> int | None:
        """A whole number from 0 to `most`, written as one: 12.0 and "12" are none."""
        value = self.fields.get(name)
        if value is None or (type(value) is int and 0 <= value <= most):
            return value
        return self._odd(name, f"a whole number from 0 to {most}")

    def size(self, name: str) -> int | None:
        """A count of bytes."""
        return self.count(name, MOST_BYTES)

    def number(self, name: str) -> float | None:
        value = self.fields.get(name)
        if value is None:
            return None
        return float(value) if _is_number(value) else self._odd(name, "a number")

    def amount(self, name: str) -> float | None:
        """A number from 0 that can be added up with others."""
        value = self.number(name)
        return value if value is None or 0 <= value <= MOST_AMOUNT else self._odd(name, "a number from 0")

    def seconds(self, name: str, *, unit_s: float) -> float | None:
        """A length of time, given in units of `unit_s` seconds; of a year at most."""
        value = self.amount(name)
        if value is None or value * unit_s <= MOST_SECONDS:
            return None if value is None else value * unit_s
        return self._odd(name, "a length of time")

    def table(self, name: str) -> JsonTable:
        """The object in a field; an empty one where there is none."""
        value = self.fields.get(name)
        if value is None or isinstance(value, dict):
            return JsonTable(value or {}, f"{self.path}{name}.", self.where)
        return self._odd(name, "an object")

    def tables(self, name: str) -> tuple[JsonTable, ...]:
        """The objects of a list; none where there is no list."""
        rows = self._list(name, dict, "a list of objects")
        return tuple(JsonTable(row, f"{self.path}{name}[{n}].", self.where) for n, row in enumerate(rows))

    def texts(self, name: str) -> tuple[str, ...]:
        """The texts of a list; none where there is no list."""
        return tuple(self._list(name, str, "a list of texts"))

    def needed(self, name: str) -> str:
        """A name, which must be there."""
        return self.text(name) or self._odd(name, "a name")

    def sum(self, *counts: int | None) -> int | None:
        """The counts that are known, added up; None where none is. Raises BadReply for more than a count may be."""
        known = [count for count in counts if count is not None]
        if sum(known) > MOST_COUNT:
            raise BadReply(
                f"{self.where}: {self.path.rstrip('.')} in the reply adds up to {sum(known)} tokens"
            )
        return sum(known) if known else None

    def told(self, read: Callable[[str], T], name: str) -> T | None:
        """What `read` gives, None where the field is odd: for what is only shown and rests on nothing."""
        try:
            return read(name)
        except BadReply:
            return None

    def _list(self, name: str, kind: type, wanted: str) -> list[Any]:
        value = self.fields.get(name)
        if value is None:
            return []
        if isinstance(value, list) and all(isinstance(each, kind) for each in value):
            return value
        return self._odd(name, wanted)

    def _odd(self, name: str, wanted: str) -> NoReturn:
        raise BadReply(
            f"{self.where}: {self.path}{name} is {shortened(self.fields.get(name))} in the reply, not {wanted}"
        )


def table_of(answer: HttpResponse, place: Place, wanted: str) -> JsonTable:
    """The JSON object that an answer is. Raises BadReply, which says that there is no `wanted` in it."""
    try:
        record = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        record = None
    if not isinstance(record, dict):
        raise bad_reply(answer, place, wanted)
    return JsonTable(record, "", place.words)


def told_usage(answer: HttpResponse, read: Callable[[JsonTable], Usage]) -> Usage:
    """What `read` finds in the body of a reply that is of no use: it may have been billed all the same."""
    with suppress(orjson.JSONDecodeError, BadReply):
        record = orjson.loads(answer.body)
        if isinstance(record, dict):
            return read(JsonTable(record, "", ""))
    return NOTHING_USED


def shortened(value: object) -> str:
    """A value of JSON as an error quotes it.

    >>> shortened("12"), shortened(None), shortened([1, 2] * 40)[-8:]
    ('"12"', 'null', '2, 1,...')
    """
    try:
        text = orjson.dumps(value).decode().replace(",", ", ")
    except TypeError:  # orjson reads what is nested deeper than it writes
        return "deeply nested JSON"
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 3]}..."


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
