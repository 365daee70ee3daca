"""Reading one value of a published record: texts, indices, and labels given as numbers, booleans or words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proctor.errors import DataError

Record = tuple[str, Mapping[str, Any]]  # where it stands, for error texts, and what it holds
Read = tuple[str | None, dict[str, Any]]  # the target, None where it is hidden, and the fields

# The labels of a task in the order of their official numbers.
LABELS: Mapping[str, tuple[str, ...]] = {
    "cola": ("unacceptable", "acceptable"),
    "sst2": ("negative", "positive"),
    "mrpc": ("not_equivalent", "equivalent"),
    "qqp": ("not_duplicate", "duplicate"),
    "mnli": ("entailment", "neutral", "contradiction"),
    "ax": ("entailment", "neutral", "contradiction"),
    "qnli": ("entailment", "not_entailment"),
    "rte": ("entailment", "not_entailment"),
    "wnli": ("not_entailment", "entailment"),
    "boolq": ("no", "yes"),
    "cb": ("entailment", "contradiction", "neutral"),
    "copa": ("A", "B"),
    "wic": ("no", "yes"),
    "wsc": ("no", "yes"),
    "axb": ("entailment", "not_entailment"),
    "axg": ("entailment", "not_entailment"),
}
LABEL_KEYS = ("label", "answer")
TRUTHS: Mapping[str, int] = {"false": 0, "true": 1}


def text(record: Mapping[str, Any], names: Sequence[str], where: str) -> str:
    """The text under the first of the names that is there. Raises: DataError."""
    given = record if isinstance(record, Mapping) else {}  # what a list of records holds may be anything
    value = next((given[name] for name in names if name in given), None)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: no text in {names[0]!r}")
    return value


def whole(value: object, name: str, where: str) -> int:
    """A number from 0 on. Raises: DataError."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DataError(f"{where}: {name} is {value!r}; it has to be a number from 0")
    return value


def hidden(value: object) -> bool:
    """True for what stands in place of an answer that is not published.

    >>> hidden(-1), hidden(0), hidden(False)
    (True, False, False)
    """
    return value is None or value in ("", "-", "-1") or (value == -1 and not isinstance(value, bool))


def given_label(record: Mapping[str, Any]) -> object:
    """What stands for the label, as published; None where nothing does."""
    return next((record[key] for key in LABEL_KEYS if key in record), None)


def label(task: str, record: Mapping[str, Any], where: str) -> str | None:
    """The label by our name; None where it is hidden. Raises: DataError naming what it may be.

    >>> label("copa", {"label": "B"}, "line 1"), label("copa", {"label": 0}, "line 1")
    ('B', 'A')
    """
    given = given_label(record)
    if hidden(given):
        return None
    names = LABELS[task]
    yes_no = set(names) == {"yes", "no"}
    word = str(given).strip().lower()
    by_word = {name.lower(): name for name in names}
    if word in by_word:
        return by_word[word]
    number = TRUTHS.get(word) if yes_no else None
    if word.isascii() and word.isdecimal():
        number = int(word)
    if number is None or number >= len(names):
        wanted = "true or false" if yes_no else f"0 to {len(names) - 1} or one of {', '.join(names)}"
        raise DataError(f"{where}: the label is {given!r}; it has to be {wanted}")
    return names[number]


def letter(place: int) -> str:
    """The letter of a choice, from 0.

    >>> letter(0), letter(25)
    ('A', 'Z')
    """
    return chr(ord("A") + place)


def texts(value: object, where: str, name: str, *, least: int = 1) -> list[str]:
    """A list of texts. Raises: DataError."""
    if not isinstance(value, list) or len(value) < least or not all(isinstance(each, str) for each in value):
        raise DataError(f"{where}: {name} is not a list of at least {least} texts")
    return value
