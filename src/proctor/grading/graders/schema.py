"""JSON Schema, as much of draft 2020-12 as describes an answer; a keyword that is not known is refused, never passed over.

Known are the types, enum and const, the bounds of numbers, texts and lists, properties and items, and the
four ways of combining schemas. References are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from proctor.errors import ConfigError

NOTES = frozenset({"title", "description", "default", "examples", "$schema", "$id", "$comment", "format"})
TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: is_number(value),
    "integer": lambda value: is_number(value) and float(value).is_integer(),
}


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def alike(one: Any, two: Any) -> bool:
    """Equality as JSON has it: 1 is 1.0, and true is not 1."""
    if isinstance(one, bool) or isinstance(two, bool):
        return one is two
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(alike(value, two[name]) for name, value in one.items())
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(alike, one, two))
    return bool(one == two)


# keyword: (what it applies to, whether a value keeps it, what is said if not)
Test = tuple[Callable[[Any], bool], Callable[[Any, Any], bool], str]
ANY: Callable[[Any], bool] = lambda value: True  # noqa: E731
TEXT, LIST, OBJECT = TYPES["string"], TYPES["array"], TYPES["object"]
TESTS: Mapping[str, Test] = {
    "type": (ANY, lambda value, kinds: any(TYPES[kind](value) for kind in texts(kinds)), "is not of type {}"),
    "enum": (ANY, lambda value, listed: any(alike(value, one) for one in listed), "is none of {}"),
    "const": (ANY, alike, "is not {}"),
    "minimum": (is_number, lambda value, bound: value >= bound, "is below {}"),
    "maximum": (is_number, lambda value, bound: value <= bound, "is above {}"),
    "exclusiveMinimum": (is_number, lambda value, bound: value > bound, "is not above {}"),
    "exclusiveMaximum": (is_number, lambda value, bound: value < bound, "is not below {}"),
    "minLength": (TEXT, lambda value, bound: len(value) >= bound, "is shorter than {}"),
    "maxLength": (TEXT, lambda value, bound: len(value) <= bound, "is longer than {}"),
    "minItems": (LIST, lambda value, bound: len(value) >= bound, "has fewer than {} items"),
    "maxItems": (LIST, lambda value, bound: len(value) <= bound, "has more than {} items"),
    "minProperties": (OBJECT, lambda value, bound: len(value) >= bound, "has fewer than {} fields"),
    "maxProperties": (OBJECT, lambda value, bound: len(value) <= bound, "has more than {} fields"),
    "required": (OBJECT, lambda value, names: all(name in value for name in names), "lacks one of {}"),
}
INSIDE = frozenset({"properties", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "not"})


def texts(value: Any) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def check_schema(schema: Any, where: str = "$") -> None:
    """Raises: ConfigError for what is no schema, or uses a keyword that is not known."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise ConfigError(f"the schema at {where} is neither an object nor true or false")
    if unknown := sorted(schema.keys() - TESTS.keys() - INSIDE - NOTES):
        known = ", ".join(sorted({*TESTS, *INSIDE}))
        raise ConfigError(
            f"the schema at {where} uses {unknown[0]!r}, which is not known here; known: {known}"
        )
    for kind in texts(schema.get("type", [])):
        if kind not in TYPES:
            raise ConfigError(f"the schema at {where} names the type {kind!r}; types: {', '.join(TYPES)}")
    for name in TESTS.keys() & schema.keys() - {"type", "const"}:
        if isinstance(schema[name], list) != (name in ("enum", "required")) or isinstance(
            schema[name], (str, dict)
        ):
            wanted = "a list" if name in ("enum", "required") else "a number"
            raise ConfigError(f"the schema at {where}: {name} is {wanted}, not {schema[name]!r}")
    for place, part in parts_of(schema, where):
        check_schema(part, place)


def parts_of(schema: Mapping[str, Any], where: str) -> Iterator[tuple[str, Any]]:
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise ConfigError(f"the schema at {where}: properties is an object")
    yield from ((f"{where}.{name}", part) for name, part in properties.items())
    for name in ("anyOf", "oneOf", "allOf"):
        listed = schema.get(name, [])
        if not isinstance(listed, list):
            raise ConfigError(f"the schema at {where}: {name} is a list of schemas")
        yield from ((f"{where}/{name}", part) for part in listed)
    yield from (
        (f"{where}/{name}", schema[name])
        for name in ("additionalProperties", "items", "not")
        if name in schema
    )


def violations(value: Any, schema: Any, where: str = "$") -> Iterator[str]:
    """What a value breaks of a checked schema, in words, with the place.

    >>> list(violations({"age": -1}, {"required": ["name"], "properties": {"age": {"minimum": 0}}}))
    ["$ lacks one of ['name']", '$.age is below 0']
    """
    if isinstance(schema, bool):
        if not schema:
            yield f"{where} may not be there"
        return
    for keyword, (applies, holds, says) in TESTS.items():
        if keyword in schema and applies(value) and not holds(value, schema[keyword]):
            yield f"{where} {says.format(schema[keyword])}"
    if isinstance(value, dict):
        yield from in_object(value, schema, where)
    if isinstance(value, list) and "items" in schema:
        for place, one in enumerate(value):
            yield from violations(one, schema["items"], f"{where}[{place}]")
    yield from combined(value, schema, where)


def in_object(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for name, one in value.items():
        part = properties.get(name, schema.get("additionalProperties", True))
        yield from violations(one, part, f"{where}.{name}")


def combined(value: Any, schema: Mapping[str, Any], where: str) -> Iterator[str]:
    for part in schema.get("allOf", []):
        yield from violations(value, part, where)
    for keyword, fits in (("anyOf", lambda count: count >= 1), ("oneOf", lambda count: count == 1)):
        if keyword in schema:
            count = sum(next(violations(value, part, where), None) is None for part in schema[keyword])
            if not fits(count):
                yield f"{where} fits {count} of the schemas of {keyword}"
    if "not" in schema and next(violations(value, schema["not"], where), None) is None:
        yield f"{where} fits the schema of not"
