"""Answers that are numbers: whether they count options from 0 or from 1, or are options' texts.

The rows decide where only one reading fits them all; else the file is refused, with both readings, until the
user says which is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Literal, Protocol

from proctor.references import Numbers
from proctor.sources.exams.files.columns import Columns, own_start, short
from proctor.sources.exams.files.faults import Faults, RowFault
from proctor.sources.exams.files.records import Record

Meaning = Literal["own", "from-0", "from-1", "texts"]
WORDS: Mapping[Meaning, str] = {
    "own": "are those that the options have in the file",
    "from-0": "count options from 0",
    "from-1": "count options from 1",
    "texts": "are options' texts",
}
BY: Mapping[Meaning, str] = {"from-0": "counted from 0", "from-1": "counted from 1", "texts": "as a text"}
SAY = (
    "say which is meant with --numbers from-0, from-1 or texts (numbers='from-0' in Python), or write letters (A, "
    "B, ...) or the option's text"
)


class Answered(Protocol):
    @property
    def record(self) -> Record: ...

    @property
    def answers(self) -> tuple[Any, ...]: ...

    @property
    def options(self) -> tuple[str, ...]: ...


@dataclass(frozen=True, slots=True)
class Number:
    """An answer that is a number, in its row."""

    value: int
    record: Record
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NumberReading:
    """What the numbers of a file mean; None where that is open and the file is refused."""

    meaning: Meaning | None
    said: str
    columns: Columns

    def letter(self, value: int, record: Record, options: tuple[str, ...]) -> str:
        """Raises: RowFault for a number that is no option."""
        one = Number(value, record, options)
        looks = LOOKS.values() if self.meaning is None else [LOOKS[self.meaning]]
        found = next((letter for look in looks if (letter := look(one, self.columns))), None)
        if found is None:
            why = f"; the file's numbers {WORDS[self.meaning]}" if self.meaning else ""
            raise RowFault(
                self.columns.answer, f"the answer {short(value)} is none of {len(options)} choices{why}"
            )
        return found


def whole_number(answer: Any) -> int | None:
    """The number that an answer is: 2, 2.0, "2" and "2.0"; None for other answers.

    >>> whole_number(2), whole_number("2.0"), whole_number("B"), whole_number(True), whole_number("1999")
    (2, 2, None, None, None)
    """
    if isinstance(answer, str):
        text = answer.strip().removesuffix(".0")
        return int(text) if len(text) <= 2 and text.isascii() and text.isdigit() else None
    if isinstance(answer, bool):
        return None
    if isinstance(answer, float):
        return int(answer) if answer.is_integer() else None
    return answer if isinstance(answer, int) else None


def number_reading(
    rows: Sequence[Answered], columns: Columns, faults: Faults, chosen: Numbers | None
) -> NumberReading | None:
    """How the file's numbers are read; None where there are none. What is not certain refuses the file."""
    found = [
        Number(value, row.record, row.options)
        for row in rows
        for answer in row.answers
        if (value := whole_number(answer)) is not None
    ]
    if not found:
        return None
    meaning = chosen or certain(found, columns, faults)
    told = ", as --numbers says" if chosen else ""
    words = WORDS[meaning] if meaning else "are not clear"
    return NumberReading(meaning, f"numbers in {columns.answer!r} {words}{told}", columns)


def certain(found: Sequence[Number], columns: Columns, faults: Faults) -> Meaning | None:
    """The one reading that fits, or None when the file is refused."""
    by = {meaning: [look(one, columns) for one in found] for meaning, look in LOOKS.items()}
    # A number that is an option under no reading says nothing of the others: it is a fault of its row.
    told = [index for index, letters in enumerate(zip(*by.values(), strict=True)) if any(letters)]
    fits = [meaning for meaning, letters in by.items() if all(letters[index] for index in told)]
    if not told:
        return "texts"
    if "own" in fits or len({tuple(by[meaning]) for meaning in fits}) == 1:
        return fits[0]
    if not fits:
        faults.refuse(neither(found, by, columns.answer))
        return None
    apart = next(index for index in told if len({by[meaning][index] for meaning in fits}) > 1)
    one, letters = found[apart], {meaning: by[meaning][apart] or "" for meaning in fits}
    ways = " and ".join(f"{letter} {BY[meaning]}" for meaning, letter in letters.items())
    what = "may count from 0 or from 1" if "texts" not in fits else "may be places and texts of options"
    faults.refuse(
        f"the numbers in {columns.answer!r} {what}: the {short(one.value)} of {one.record.where} is {ways}; {SAY}"
    )
    return None


def neither(found: Sequence[Number], by: Mapping[Meaning, Sequence[str | None]], column: str) -> str:
    """The fault of a file that has rows of both countings."""
    against = []
    for meaning in ("from-1", "from-0"):
        odd = next((one for one, letter in zip(found, by[meaning], strict=True) if letter is None), None)
        if odd is not None:
            against.append(f"{odd.record.where} has {short(odd.value)} of {len(odd.options)} choices")
    return (
        f"the numbers in {column!r} fit neither counting from 0 nor from 1: {' and '.join(against)}; {SAY}. Rows "
        "that do not fit are then named"
    )


def at(place: int, options: Sequence[str]) -> str | None:
    return ascii_uppercase[place] if 0 <= place < len(options) else None


def by_own_number(one: Number, columns: Columns) -> str | None:
    start = own_start(one.record, columns, one.options)
    return None if start is None else at(one.value - start, one.options)


def by_text(one: Number, columns: Columns) -> str | None:
    text = str(one.value)
    return at(one.options.index(text), one.options) if one.options.count(text) == 1 else None


LOOKS: Mapping[Meaning, Callable[[Number, Columns], str | None]] = {
    "own": by_own_number,
    "from-0": lambda one, columns: at(one.value, one.options),
    "from-1": lambda one, columns: at(one.value - 1, one.options),
    "texts": by_text,
}
