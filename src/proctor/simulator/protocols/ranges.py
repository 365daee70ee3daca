"""The numbers that a request may hold: what OpenAI documents, and its words for what lies outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proctor.simulator.protocols.wire import JsonBody

MOST_REPLIES = 128

_JSON_TYPES = {
    bool: "boolean",
    str: "string",
    list: "array",
    dict: "object",
    float: "decimal",
    int: "integer",
}


@dataclass(frozen=True, slots=True)
class Range:
    least: float
    most: float
    kind: str = "decimal"

    def holds(self, value: Any) -> bool:
        return self.typed(value) and self.least <= value <= self.most

    def typed(self, value: Any) -> bool:
        """True for a number of this kind; a whole number is a decimal too."""
        wanted = int if self.kind == "integer" else (int, float)
        return isinstance(value, wanted) and not isinstance(value, bool)


RANGES: Mapping[str, Range] = {
    "temperature": Range(0, 2),
    "top_p": Range(0, 1),
    "presence_penalty": Range(-2, 2),
    "frequency_penalty": Range(-2, 2),
    "n": Range(1, MOST_REPLIES, "integer"),
}


def outside(fields: JsonBody, ranges: Mapping[str, Range] = RANGES) -> str | None:
    """The first field that is given and is no number of its range."""
    given = fields.fields
    return next((n for n, r in ranges.items() if given.get(n) is not None and not r.holds(given[n])), None)


def complaint(name: str, value: Any) -> tuple[str, str]:
    """(message, code) with which OpenAI refuses the field."""
    allowed = RANGES[name]
    if not allowed.typed(value):
        given = _JSON_TYPES[type(value)]
        return (
            f"Invalid type for '{name}': expected {_a(allowed.kind)}, but got {_a(given)} instead.",
            "invalid_type",
        )
    below = value < allowed.least
    where, code = ("below minimum", "below_min") if below else ("above maximum", "above_max")
    end = f">= {allowed.least}" if below else f"<= {allowed.most}"
    message = (
        f"Invalid '{name}': {allowed.kind} {where} value. Expected a value {end}, but got {value} instead."
    )
    return message, f"{allowed.kind}_{code}_value"


def _a(noun: str) -> str:
    return f"an {noun}" if noun[0] in "aeiou" else f"a {noun}"
