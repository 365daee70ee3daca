"""A table that somebody wrote by hand: every value of its type and in its range, and all faults told at once."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, TypeVar

from proctor.errors import ConfigError, in_one_line

T = TypeVar("T")
Unread = Mapping[str, Any]  # a table as TOML or JSON gives it
MOST_TOLD = 20
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
NAMES: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "a table",
}


@dataclass(slots=True)
class TableFaults:
    """What is wrong with a file, in the order in which it was found."""

    where: str
    found: list[str] = field(default_factory=list)

    def note(self, fault: str) -> None:
        self.found.append(fault)

    def complain(self) -> None:
        """Raises: ConfigError with all of them, a line each, where there are any."""
        if not self.found:
            return
        told = self.found[:MOST_TOLD]
        if more := len(self.found) - len(told):
            told.append(f"and {more} more")
        joined = told[0] if len(told) == 1 else "".join(f"\n  {each}" for each in told)
        raise ConfigError(f"{self.where}: {joined}")


@dataclass(slots=True)
class TableReader:
    """One table. What is asked for is known; `close` notes every key that nobody asked for."""

    table: Unread
    faults: TableFaults
    place: str = ""  # in the file, in words
    known: list[str] = field(default_factory=list)

    def note(self, key: str, fault: str) -> None:
        self.faults.note(": ".join(filter(None, [self.place, key, fault])))

    def take(self, key: str, kind: type[T]) -> T | None:
        """The value; None where it is missing or, which is noted, of another type."""
        self.known.append(key)
        value = self.table.get(key)
        if value is None:
            return None
        if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
            return value
        self.note(key, f"{_shown(value)} is {_type_of(value)} where {NAMES[kind]} belongs")
        return None

    def text(self, key: str) -> str | None:
        """A text of one printable line."""
        value = self.take(key, str)
        if value is None or (value and value.isprintable()):
            return value
        self.note(
            key, "it is empty" if not value else f"{_shown(value)} is not one line of printable characters"
        )
        return None

    def flag(self, key: str, *, unsaid: bool) -> bool:
        value = self.take(key, bool)
        return unsaid if value is None else value

    def whole(self, key: str, least: float, most: float) -> int | None:
        value = self.take(key, int)
        return None if value is None else self._within(key, value, least, most)

    def number(self, key: str, least: float, most: float) -> float | None:
        """A number, whole or not; nan and the infinities are none."""
        if isinstance(self.table.get(key), int):
            value: float | None = self.take(key, int)
        else:
            value = self.take(key, float)
        if value is None:
            return None
        if not abs(value) < math.inf:  # nan, too
            self.note(key, f"{value} is no number to count with")
            return None
        within = self._within(key, value, least, most)
        return None if within is None else float(within)

    def _within(self, key: str, value: T, least: Any, most: Any) -> T | None:
        if least <= value <= most:
            return value
        self.note(key, f"{value} is out of range: {least:g} to {most:g}")
        return None

    def word(self, key: str, words: Sequence[str]) -> str | None:
        value = self.text(key)
        if value is None or value in words:
            return value
        self.note(key, f"{_shown(value)}: there are {', '.join(words)}")
        return None

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key, list)
        if value is not None and all(isinstance(each, str) and "\0" not in each for each in value):
            return tuple(value)
        if value is not None:
            self.note(key, "it holds what is no text")
        return ()

    def variables(self, key: str) -> dict[str, str]:
        """Environment variables; numbers are taken as they are written."""
        found: dict[str, str] = {}
        for name, value in (self.take(key, dict) or {}).items():
            if not VARIABLE.fullmatch(name):
                self.note(key, f"{_shown(name)} is no name of a variable")
            elif isinstance(value, bool) or not isinstance(value, str | int | float) or "\0" in str(value):
                self.note(key, f"{name} = {_shown(value)}: give a text")
            else:
                found[name] = str(value)
        return found

    def inner(self, key: str) -> TableReader:
        """A table in this one; empty where it is missing."""
        place = f"{self.place}.{key}" if self.place else f"[{key}]"
        return TableReader(self.take(key, dict) or {}, self.faults, place)

    def close(self) -> None:
        for key in self.table:
            if key not in self.known:
                near = get_close_matches(key, self.known, 1)
                meant = f", did you mean {near[0]!r}?" if near else ""
                self.note("", f"unknown key {_shown(key)}{meant} There are {', '.join(self.known)}")


def _shown(value: object) -> str:
    text = in_one_line(repr(value))
    return text if len(text) <= 80 else f"{text[:79]}…"


def _type_of(value: object) -> str:
    return next((name for kind, name in NAMES.items() if type(value) is kind), type(value).__name__)
