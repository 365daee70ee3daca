"""`number`: the number that a reply gives is the right one, within a tolerance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from proctor.grading.contract import GraderEntry, Mark, bounded, marked, setting
from proctor.grading.graders.quantities import Quantity, in_words, quantities

NONE = "the reply holds no number"


@dataclass(frozen=True, slots=True)
class NumberSettings:
    """How near is right, which of a reply's numbers counts, and what a point and a comma mean."""

    rel: float = setting(1e-12, "right within this part of the right number: 0.01 is one percent")
    abs: float = setting(0.0, "right within this much of the right number")
    take: str = setting(
        "auto",
        "which of several numbers counts; auto: those with the unit of the right one where it has one, "
        "and of these the last",
        one_of=("auto", "first", "last", "only", "any"),
    )
    decimal: str = setting(
        "auto",
        "the sign before decimals; auto: 1,234 and 1.234 are read both ways",
        one_of=("auto", "point", "comma"),
    )


def number(said: str, answers: Sequence[str], options: NumberSettings) -> Mark:
    """
    >>> number("It is about 1,234.50 m tall.", ["1234.5"], NumberSettings()).score
    1.0
    >>> number("50 %", ["0.5"], NumberSettings()).score, number("3 mi", ["3 km"], NumberSettings()).score
    (1.0, 0.0)
    """
    found = all_numbers(bounded(said), options.decimal)
    if not found:
        return Mark(0.0, None, NONE)
    targets = [one for text in answers if (one := whole_number(text, options.decimal)) is not None]
    shown = found[-1]
    for target in targets:
        for one in taken(found, target, options.take):
            shown = one
            if (read := equal(one, target, options)) is not None:
                note = None if read == one.value else f"{one.written} read as {float(read):g}"
                return marked(True, one.written, note)
    several = options.take == "only" and len({one.readings for one in found}) > 1
    return marked(False, shown.written, "the reply holds several numbers" if several else None)


def all_numbers(text: str, decimal: str) -> list[Quantity]:
    """The numbers in figures; where there is none, those in English words."""
    return list(quantities(text, decimal)) or list(in_words(text))


def whole_number(text: str, decimal: str) -> Quantity | None:
    """The one number of a right answer, with words around it at most ("5 km", "about 20 %"); None for other texts."""
    found = all_numbers(text, decimal)
    if len(found) != 1:
        return None
    rest = text.replace(found[0].written, " ", 1)
    return found[0] if len(rest.split()) <= MOST_WORDS else None


MOST_WORDS = 4  # beside the number of a right answer


def taken(found: Sequence[Quantity], target: Quantity, take: str) -> Sequence[Quantity]:
    if take == "any":
        return found
    if take == "only":
        return found[:1] if len({one.readings for one in found}) == 1 else ()
    if take == "first":
        return found[:1]
    if take == "auto" and target.unit is not None:
        measured = [one for one in found if one.unit and one.unit.dimension == target.unit.dimension]
        return ([one for one in measured if one.unit == target.unit] or measured or found)[-1:]
    return found[-1:]


def equal(one: Quantity, target: Quantity, options: NumberSettings) -> Fraction | None:
    """The reading of a number that is near enough to the target; None where none is."""
    for goal in target.readings:
        # Exact arithmetic of what the settings say in decimals, not of their nearest binary fractions.
        room = max(Fraction(str(options.abs)), Fraction(str(options.rel)) * abs(goal))
        for value in one.readings:
            if any(abs(ours - theirs) <= room for ours, theirs in comparable(value, one, goal, target)):
                return value
    return None


def comparable(
    value: Fraction, one: Quantity, goal: Fraction, target: Quantity
) -> Sequence[tuple[Fraction, Fraction]]:
    """The pairs of values to compare: in the target's unit; a percent sign or unit that only one has may be missing."""
    ours, theirs = one.unit, target.unit
    if ours is not None and theirs is not None:
        if ours.dimension != theirs.dimension:
            return ()
        return ((value * ours.size / theirs.size, goal),)
    if ours is not None and ours.dimension == "percent":
        return ((value, goal), (value / 100, goal))
    if theirs is not None and theirs.dimension == "percent":
        return ((value, goal), (value * 100, goal))
    return ((value, goal),)


def fault(answers: Sequence[str], options: NumberSettings) -> str | None:
    """Why these answers are no numbers; one of several that is will do."""
    if not answers or any(whole_number(text, options.decimal) is not None for text in answers):
        return None
    return f"the answer {answers[0][:60]!r} is no single number"


ENTRY = GraderEntry(
    "number",
    1,
    "the number that the reply gives is the right one, within a tolerance; thousands, percent, units and scale "
    "words are understood",
    "answers that are one number each, with a unit or without",
    NumberSettings,
    number,
    fault,
)
