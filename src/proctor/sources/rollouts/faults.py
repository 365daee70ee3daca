"""What is wrong with a prepared task: gathered over all of its files and told at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf, isfinite
from pathlib import Path
from typing import Any

from proctor.errors import DataError

MOST_NUMBER = 1e300  # of numbers that have no bound of their own
MOST_FAULTS = 20  # that one error lists; the rest is counted


class TaskFaults:
    """The faults of one folder, each with the file it stands in and, where it has one, its key."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[str] = []

    def add(self, file: str, what: str, key: str = "") -> None:
        self.found.append(f"{file}: {key}: {what}" if key else f"{file}: {what}")

    def settle(self) -> None:
        """Raises: DataError with every fault that was found."""
        if not self.found:
            return
        told = list(dict.fromkeys(self.found))
        if len(told) == 1:
            raise DataError(f"{self.folder} is no prepared task that can be run: {told[0]}")
        rest = [f"and {len(told) - MOST_FAULTS} more"] if len(told) > MOST_FAULTS else []
        raise DataError(
            "\n  ".join(
                (
                    f"{self.folder} is no prepared task that can be run, {len(told)} faults:",
                    *told[:MOST_FAULTS],
                    *rest,
                )
            )
        )


class JsonTold:
    """A JSON object that is read key by key: a value of a wrong type is a fault, and read as missing."""

    def __init__(self, found: object, file: str, faults: TaskFaults, where: str = "") -> None:
        self.file, self.faults, self.where = file, faults, where
        if not isinstance(found, dict):
            faults.add(file, f"{named(found)} where an object belongs", where)
            found = {}
        self.left: dict[str, Any] = dict(found)

    def key(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name

    def fault(self, name: str, what: str) -> None:
        self.faults.add(self.file, what, self.key(name))

    def _take(self, name: str, fits: Callable[[Any], bool], belongs: str) -> Any:
        value = self.left.pop(name, None)
        if value is None or fits(value):
            return value
        self.fault(name, f"{named(value)} where {belongs} belongs")
        return None

    def text(self, name: str) -> str | None:
        found: str | None = self._take(name, lambda value: isinstance(value, str), "a text")
        return found

    def number(self, name: str, *, least: float = 0.0, most: float = MOST_NUMBER) -> float | None:
        found = self._take(name, _is_number, "a number")
        if found is None:
            return None
        if least <= found <= most:
            return float(found)
        bound = f"at least {least:g}" if most == MOST_NUMBER else f"between {least:g} and {most:g}"
        self.fault(name, f"{found} where a number of {bound} belongs")
        return None

    def truth(self, name: str) -> bool:
        return bool(self._take(name, lambda value: isinstance(value, bool), "true or false"))

    def texts(self, name: str) -> tuple[str, ...]:
        return tuple(self._take(name, _are_texts, "a list of texts") or ())

    def table(self, name: str) -> Mapping[str, str]:
        found: Mapping[str, str] = self._take(name, _is_table, "an object of texts") or {}
        return found

    def object(self, name: str) -> JsonTold:
        """An empty one where it is missing."""
        value = self.left.pop(name, None)
        return JsonTold({} if value is None else value, self.file, self.faults, self.key(name))

    def objects(self, name: str) -> list[JsonTold]:
        found = self._take(name, lambda value: isinstance(value, list), "a list") or []
        return [
            JsonTold(each, self.file, self.faults, f"{self.key(name)}[{place}]")
            for place, each in enumerate(found)
        ]

    def nothing_else(self, known: str) -> None:
        for name in self.left:
            self.fault(name, f"unknown key; there are {known}")


def named(value: object) -> str:
    """What a value is, for people."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not isfinite(value):
        return "a number without end"
    words = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return words.get(type(value), "null")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < inf


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
