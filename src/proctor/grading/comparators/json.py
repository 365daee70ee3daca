"""`json`: both texts hold JSON that says the same, field by field, in whatever order and layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from proctor.grading.comparators.contract import ComparatorEntry, Likeness
from proctor.grading.contract import setting
from proctor.grading.graders.json import (
    MISSING,
    Missing,
    alike,
    chosen,
    close,
    is_number,
    json_in,
    leaves,
    short,
)
from proctor.grading.patterns import later
from proctor.grading.texts import same

PLACE = later(r"\[\d+\]")
MOST_KEYS = 500  # of one pair of texts, that are told one by one


@dataclass(frozen=True, slots=True)
class FieldsAlike:
    """Which fields of two texts' JSON are compared, and how."""

    fields: tuple[str, ...] = setting((), "only these fields, as paths like `address.city`; none given: all")
    ignore: tuple[str, ...] = setting((), "not these fields, such as ids and times that are new every time")
    texts: str = setting(
        "exact", "how texts inside are compared: exact, or normalized", one_of=("exact", "normalized")
    )
    rel: float = setting(0.0, "numbers inside are alike within this part of the first text's")
    abs: float = setting(0.0, "numbers inside are alike within this much")
    near: tuple[str, ...] = setting(
        (), "tolerances of single fields: `total~0.01` within one percent, `year~+1` within one"
    )


class Near(NamedTuple):
    """How far two numbers may be apart and be alike."""

    rel: float
    abs: float


class KeyLikeness(NamedTuple):
    """One path of both texts' JSON: what stands there in each, as JSON, None where it is not there."""

    path: str
    one: str | None
    two: str | None
    alike: bool


def by_fields(one: str, two: str, options: FieldsAlike) -> Likeness:
    """
    >>> by_fields('{"a": 1, "b": [2]}', 'Sure: {"b": [3], "a": 1.0}', FieldsAlike()).fields
    {'$.a': True, '$.b[]': False}
    """
    first, second = json_in(one), json_in(two)
    if isinstance(first, Missing) or isinstance(second, Missing):
        both = isinstance(first, Missing) and isinstance(second, Missing)
        return Likeness(one == two, note="neither holds JSON" if both else "one holds no JSON")
    found: dict[str, bool] = {}
    apart = None
    for path, ours, theirs in side_by_side(first, second, options):
        right = value_alike(path, ours, theirs, options)
        name = PLACE.sub("[]", path)
        found[name] = found.get(name, True) and right
        if not right and apart is None:
            apart = f"{path} is {_shown(ours)} and {_shown(theirs)}"
    return Likeness(apart is None, fields=found, note=apart)


def side_by_side(one: Any, two: Any, options: FieldsAlike) -> Iterator[tuple[str, Any, Any]]:
    """Every path that either has and that is to be compared, with what each has there."""
    first, second = dict(leaves(one)), dict(leaves(two))
    for path in dict.fromkeys([*first, *second]):
        if options.fields and not chosen(path, options.fields):
            continue
        if not (options.ignore and chosen(path, options.ignore)):
            yield path, first.get(path, MISSING), second.get(path, MISSING)


def value_alike(path: str, one: Any, two: Any, options: FieldsAlike) -> bool:
    if isinstance(one, str) and isinstance(two, str) and options.texts == "normalized":
        return same(one, [two])
    if is_number(one) and is_number(two):
        near = next((each for field, each in tolerances(options.near) if chosen(path, (field,))), None)
        near = near or Near(options.rel, options.abs)
        return close(two, one, rel=near.rel, absolute=near.abs)
    return alike(one, two)


@lru_cache(maxsize=64)
def tolerances(near: tuple[str, ...]) -> tuple[tuple[str, Near], ...]:
    """Raises: ValueError for what is no tolerance."""
    found = []
    for each in near:
        path, tilde, told = each.rpartition("~")
        value = float(told)
        if not tilde or not path or not 0 <= value < float("inf"):
            raise ValueError(each)
        found.append((path, Near(0.0, value) if told.startswith("+") else Near(value, 0.0)))
    return tuple(found)


def fault(options: FieldsAlike) -> str | None:
    try:
        tolerances(options.near)
    except ValueError as error:
        return f"near: {error} is no tolerance; write PATH~0.01 for a part, PATH~+2 for an amount"
    return None


def keys_of(one: str, two: str, options: FieldsAlike | None = None) -> list[KeyLikeness]:
    """Every field of two texts' JSON side by side; nothing where one of them holds none."""
    options = options or FieldsAlike()
    first, second = json_in(one), json_in(two)
    if not isinstance(first, dict | list) or not isinstance(second, dict | list):
        return []
    found = []
    for path, ours, theirs in side_by_side(first, second, options):
        told = [None if isinstance(each, Missing) else short(each) for each in (ours, theirs)]
        found.append(KeyLikeness(path, told[0], told[1], value_alike(path, ours, theirs, options)))
        if len(found) == MOST_KEYS:
            break
    return found


def _shown(value: Any) -> str:
    return "missing" if isinstance(value, Missing) else short(value)[:80]


ENTRY = ComparatorEntry(
    "json",
    "both hold JSON that says the same; the agreement of each field stands beside that of the whole",
    FieldsAlike,
    by_fields,
    fault,
    tells="fields",
)
