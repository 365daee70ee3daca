"""What an option can be given: numbers, times, choices, texts; how each is read, checked and written.

Every door hands in what it has, text or a typed value: `read` makes the value of types.py of it, `fault` says
what is wrong with one, `word` writes it for a command line or a form, and `plain` for JSON.
"""

from __future__ import annotations

import math
import numbers
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from proctor.errors import ConfigError
from proctor.types import Shard

OPEN = -1  # how Ollama writes "no limit" and "no fixed seed"; inside it is None
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
_PARTS = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")  # of the whole text, in time that grows with its length
_UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value. `read` raises ConfigError without naming the option, which the caller knows."""

    def read(self, given: Any) -> Any:
        raise NotImplementedError

    def fault(self, value: Any) -> str | None:
        """Why a value that was read cannot be meant; None if it can."""
        return None

    def says(self, value: Any) -> bool:
        """False for what a door hands on where nothing was given."""
        return value is not None

    def word(self, value: Any) -> str:
        return str(self.plain(value))

    def plain(self, value: Any) -> Any:
        return value

    @property
    def range_told(self) -> str:
        """What it may be, for documents."""
        return "text"


@dataclass(frozen=True, slots=True)
class NumberIn(ValueKind):
    """A number from `low` to `high`, or above `above`; with `opens`, -1 leaves it to the provider (None).

    `served` is the narrower range that a server takes from others.
    """

    whole: bool = False
    low: float | None = None
    high: float | None = None
    above: float | None = None
    served: tuple[float, float] | None = None
    opens: bool = False

    def read(self, given: Any) -> float | int | None:
        numeric = isinstance(given, str | numbers.Real) and not isinstance(given, bool)
        try:
            if not numeric:
                raise ValueError
            value = int(given) if self.whole else float(given)
            if self.whole and value != float(given):
                raise ValueError
        except (ValueError, OverflowError):
            raise ConfigError(f"give a {'whole ' if self.whole else ''}number") from None
        return None if self.opens and value == OPEN else value

    def fault(self, value: Any) -> str | None:
        if self.above is not None:
            fits = self.above < value < math.inf  # NaN is neither
            return None if fits else f"must be more than {figure(self.above)}, and finite"
        if self.low is None:
            return None
        if self.high is None:
            return None if self.low <= value < math.inf else f"must be {figure(self.low)} or more, and finite"
        fits = self.low <= value <= self.high
        return None if fits else f"must lie between {figure(self.low)} and {figure(self.high)}"

    @property
    def range_told(self) -> str:
        ends = [figure(end) for end in (self.low, self.high) if end is not None]
        told = " to ".join(ends) + (" or more" if len(ends) == 1 else "")
        served = f" (server: {figure(self.served[0])} to {figure(self.served[1])})" if self.served else ""
        above = "" if self.above is None else f"more than {figure(self.above)}"
        return f"{told or above or 'whole number'}{', or -1' if self.opens else ''}{served}"

    def word(self, value: Any) -> str:
        plain = self.plain(value)
        return str(int(plain)) if float(plain).is_integer() else str(plain)

    def plain(self, value: Any) -> Any:
        return OPEN if value is None else value


def figure(value: float) -> str:
    """A number as a message has it.

    >>> figure(10_000_001), figure(0.5), figure(float("nan"))
    ('10000001', '0.5', 'nan')
    """
    return f"{value:.0f}" if float(value).is_integer() else f"{value:g}"


@dataclass(frozen=True, slots=True)
class Duration(ValueKind):
    """Seconds, written 90s, 10m or 1h30m: more than 0, or with `or_none` 0 too."""

    or_none: bool = False

    def read(self, given: Any) -> float:
        if isinstance(given, str):
            return parse_duration(given)
        if isinstance(given, bool) or not isinstance(given, numbers.Real):
            raise ConfigError("give seconds, or a time such as 90s, 10m or 1h30m")
        return float(given)

    def fault(self, value: Any) -> str | None:
        if self.or_none:
            return None if 0 <= value < math.inf else "must be 0 or more, and finite"
        return None if 0 < value < math.inf else "must be more than 0, and finite"

    def plain(self, value: Any) -> Any:
        return duration_word(value)

    @property
    def range_told(self) -> str:
        return f"seconds, or 90s, 10m, 1h30m; {'0 or more' if self.or_none else 'more than 0'}"


@dataclass(frozen=True, slots=True)
class OneOf(ValueKind):
    """One of several values, each with the word that a command line and a form have for it."""

    values: Mapping[str, Any]
    advice: str = ""  # what somebody may have meant instead

    def read(self, given: Any) -> Any:
        for word, value in self.values.items():
            if given == word or _same(given, value):
                return value
        raise ConfigError(self._told())

    def fault(self, value: Any) -> str | None:
        return None if any(_same(value, each) for each in self.values.values()) else self._told()

    def _told(self) -> str:
        return f"choose from {', '.join(self.values)}{f'; {self.advice}' if self.advice else ''}"

    @property
    def range_told(self) -> str:
        return ", ".join(f"`{word}`" for word in self.values)

    def word(self, value: Any) -> str:
        return next(word for word, each in self.values.items() if _same(each, value))


def _same(one: Any, other: Any) -> bool:
    """Equal, and not as True equals 1."""
    return type(one) is type(other) and bool(one == other)


def one_of(*words: str, advice: str = "") -> OneOf:
    """A choice whose values are its words."""
    return OneOf({word: word for word in words}, advice)


@dataclass(frozen=True, slots=True)
class Flag(ValueKind):
    """On where it is given."""

    def read(self, given: Any) -> bool:
        if not isinstance(given, bool):
            raise ConfigError("give True or False")
        return given

    @property
    def range_told(self) -> str:
        return "given or not"

    def says(self, value: Any) -> bool:
        return bool(value)


@dataclass(frozen=True, slots=True)
class Text(ValueKind):
    """A text of at most `longest` characters at a server."""

    longest: int = 200

    def read(self, given: Any) -> str:
        if not isinstance(given, str):
            raise ConfigError("give text")
        return given


@dataclass(frozen=True, slots=True)
class FilePath(ValueKind):
    """A file on this machine."""

    def read(self, given: Any) -> str:
        try:
            return os.fsdecode(given)
        except TypeError:
            raise ConfigError("give the path of a file") from None


@dataclass(frozen=True, slots=True)
class Texts(ValueKind):
    """Several texts: at a command line between commas, or else by giving the option again; at a server `most`."""

    most: int
    commas: bool = False

    def read(self, given: Any) -> tuple[str, ...]:
        if isinstance(given, str):
            return tuple(filter(None, map(str.strip, given.split(",")))) if self.commas else (given,)
        if not isinstance(given, list | tuple) or not all(isinstance(each, str) for each in given):
            raise ConfigError("give a list of texts")
        return tuple(given)

    def says(self, value: Any) -> bool:
        return bool(value)

    @property
    def range_told(self) -> str:
        return f"texts, at a server at most {self.most}"

    def word(self, value: Any) -> str:
        return ",".join(value)

    def plain(self, value: Any) -> Any:
        return list(value)


@dataclass(frozen=True, slots=True)
class ShardOf(ValueKind):
    """A part of a run, written I/N with I from 1 to N."""

    def read(self, given: Any) -> Shard:
        if isinstance(given, Shard):
            return given
        told = re.fullmatch(r"([1-9][0-9]{0,5})/([1-9][0-9]{0,5})", given) if isinstance(given, str) else None
        if told is None or int(told[1]) > int(told[2]):
            raise ConfigError("give a part as I/N, such as 3/8: the third of eight")
        return Shard(int(told[1]) - 1, int(told[2]))

    def plain(self, value: Any) -> Any:
        return str(value)

    @property
    def range_told(self) -> str:
        return "`I/N`, I from 1 to N; on the command line also `auto`"


def parse_duration(text: str) -> float:
    """Seconds from "90s", "10m", "1.5h", "1h30m" or a bare number of seconds.

    >>> parse_duration("1h30m")
    5400.0
    """
    if _PARTS.fullmatch(text):
        parts = _PART.findall(text)
        return sum(float(amount) * _UNITS_S[unit] for amount, unit in parts)
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    raise ConfigError(f"{text!r} is no duration; write 90s, 10m, 1.5h or 1h30m")


def duration_word(seconds: float) -> str:
    """The words that `parse_duration` reads as so many seconds; the server takes 20 characters.

    >>> [duration_word(s) for s in (10800.0, 600.0, 90.0, 0.5)]
    ['3h', '10m', '90s', '0.5s']
    """
    for unit in ("h", "m"):
        if seconds and seconds % _UNITS_S[unit] == 0:
            return f"{seconds / _UNITS_S[unit]:.0f}{unit}"
    return f"{format(Decimal(repr(float(seconds))).normalize(), 'f')}s"
