"""`number`: the numbers that two texts give are the same, within a tolerance."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.grading.comparators.contract import ComparatorEntry, Likeness
from proctor.grading.contract import bounded, setting
from proctor.grading.graders.number import NumberSettings, all_numbers, equal
from proctor.grading.graders.quantities import Quantity


@dataclass(frozen=True, slots=True)
class NumbersAlike:
    """How near is alike, which of several numbers counts, and what a point and a comma mean."""

    rel: float = setting(1e-12, "alike within this part of the first text's number: 0.01 is one percent")
    abs: float = setting(0.0, "alike within this much")
    take: str = setting("last", "which of several numbers counts", one_of=("last", "first"))
    decimal: str = setting(
        "auto",
        "the sign before decimals; auto: 1,234 and 1.234 are read both ways",
        one_of=("auto", "point", "comma"),
    )


def number(one: str, two: str, options: NumbersAlike) -> Likeness:
    """
    >>> number("about 1,000 m", "it is 1010 m", NumbersAlike(rel=0.01))
    Likeness(alike=True, one='1,000 m', two='1010 m', fields={}, note=None)
    """
    first, second = _taken(one, options), _taken(two, options)
    if first is None or second is None:
        lacking = "neither holds a number" if first is second else "one holds no number"
        return Likeness(False, _written(first), _written(second), note=lacking)
    near = equal(second, first, NumberSettings(options.rel, options.abs, decimal=options.decimal))
    return Likeness(near is not None, first.written, second.written)


def _written(number: Quantity | None) -> str | None:
    return None if number is None else number.written


def _taken(text: str, options: NumbersAlike) -> Quantity | None:
    found = all_numbers(bounded(text), options.decimal)
    return (found[0] if options.take == "first" else found[-1]) if found else None


ENTRY = ComparatorEntry(
    "number", "the last (or first) numbers of both are the same within a tolerance", NumbersAlike, number
)
