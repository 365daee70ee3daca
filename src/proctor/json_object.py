"""A JSON object that is read once: what is known of it must be of its type, and what nobody takes is left over."""

from __future__ import annotations

from typing import Any, TypeVar, get_args

from proctor.errors import DataError

T = TypeVar("T")
_NAMES = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list of texts",
    dict: "an object",
}


class JsonObject:
    """A JSON object being read. What nobody takes is left over."""

    def __init__(self, found: object, where: str) -> None:
        if not isinstance(found, dict):
            raise DataError(f"{where} is {_told(found)} where an object belongs")
        self.where = where
        self.left: dict[str, Any] = dict(found)
        self.inner: dict[str, JsonObject] = {}

    def take(self, key: str, *kinds: type[T]) -> T | None:
        """The value, None where it is missing or null. Raises DataError for another type."""
        value = self.left.pop(key, None)
        # A bool is an int to Python, but not a count.
        if value is None or (isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))):
            return value
        raise DataError(
            f"{self.where}.{key} is {_told(value)} where {' or '.join(_NAMES[k] for k in kinds)} belongs"
        )

    def need(self, key: str, kind: type[T]) -> T:
        value = self.take(key, kind)
        if value is None:
            raise DataError(f"{self.where}.{key} is missing")
        return value

    def word(self, key: str, words: Any) -> Any:
        """One of the words of a Literal; None where it is missing."""
        value = self.take(key, str)
        if value is None or value in get_args(words):
            return value
        raise DataError(f"{self.where}.{key} is {value!r}, none of {', '.join(get_args(words))}")

    def texts(self, key: str) -> tuple[str, ...]:
        found: list[Any] = self.take(key, list) or []
        if not all(isinstance(text, str) for text in found):
            raise DataError(f"{self.where}.{key} holds what is no text")
        return tuple(found)

    def object(self, key: str) -> JsonObject | None:
        found = self.take(key, dict)
        if found is None:
            return None
        self.inner[key] = JsonObject(found, f"{self.where}.{key}")
        return self.inner[key]

    def table(self, key: str, kind: type[T]) -> dict[str, T] | None:
        """A table of values that are all of one type."""
        found = self.take(key, dict)
        if found is None or all(type(value) is kind for value in found.values()):
            return found
        told = JsonObject(found, f"{self.where}.{key}")
        return {name: told.need(name, kind) for name in found}

    def rest(self) -> dict[str, Any]:
        return {**self.left, **{key: rest for key, each in self.inner.items() if (rest := each.rest())}}


def _told(value: object) -> str:
    return _NAMES.get(type(value), "null") if not isinstance(value, list) else "a list"
