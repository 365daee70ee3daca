"""What one of OpenAI's two shapes says and the other has no word for: refused with a sentence that names the field."""

from __future__ import annotations

import json
from typing import Any

import orjson

from proctor.errors import ConfigError

Json = dict[str, Any]


class Untranslatable(ConfigError):
    """The request cannot be put into the shape that the model's server speaks. `param` names the field."""

    code = "unsupported_parameter"

    def __init__(self, field: str, why: str) -> None:
        super().__init__(f"{field}: {why}")
        self.param = field

    def body(self) -> bytes:
        """As OpenAI's API answers with 400."""
        return error_body(str(self), kind="invalid_request_error", param=self.param, code=self.code)


def error_body(message: str, *, kind: str, param: str | None = None, code: str | None = None) -> bytes:
    return dumped({"error": {"message": message, "type": kind, "param": param, "code": code}})


def loaded(data: bytes) -> object:
    """What stands in JSON; None where it is none. Only the standard library reads halves of surrogate pairs."""
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # halves of surrogate pairs, which servers cut apart
        return json.dumps(value).encode("ascii")


def listed(value: Any, field: str) -> list[Any]:
    """A list, empty where there is none. Raises: Untranslatable."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise Untranslatable(field, "must be a list")
    return value


def object_in(value: Any, field: str) -> Json:
    """Raises: Untranslatable."""
    if not isinstance(value, dict):
        raise Untranslatable(field, "must be an object")
    return value


def text_in(table: Json, name: str, field: str) -> str:
    """Raises: Untranslatable."""
    value = table.get(name)
    if not isinstance(value, str):
        raise Untranslatable(f"{field}.{name}", "must be a text")
    return value


def kind_of(table: Json) -> str:
    """Its `type`, empty where that is no text."""
    kind = table.get("type")
    return kind if isinstance(kind, str) else ""


def space_of(table: Json, field: str) -> str | None:
    """The namespace of a tool. Raises: Untranslatable."""
    return None if table.get("namespace") is None else text_in(table, "namespace", field)


def table(value: Any) -> Json:
    """The object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def tables(value: Any) -> list[Json]:
    """The objects of a list, or none."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
