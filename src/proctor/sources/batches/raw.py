"""JSON objects as they are written: where their members stand, so that one is cut out or replaced, and the rest stays.

A number of any size, a key that stands twice, half a surrogate pair and the spacing are then sent as their user wrote
them. What orjson reads is never written back where the text itself can be sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import orjson

SPACE = re.compile(r"[ \t\r\n]*")
LONG_NUMBER = b"0" * 19  # digits from which on a number may not fit into 64 bits
DIGITS = bytes(48 if 48 <= each <= 57 else each for each in range(256))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no value of JSON")


DECODER = json.JSONDecoder(parse_constant=_no_constant)


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A member of an object: its key, and where key and value stand in the text."""

    key: str
    key_at: int
    at: int
    end: int


def loads(text: bytes, *, exact: bool = True) -> Any:
    """The value of a JSON text, half surrogates among it, and numbers of any size if `exact`. Raises: ValueError."""
    if not exact or LONG_NUMBER not in text.translate(DIGITS):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass  # half a surrogate pair, a number past all doubles, or no JSON: the slower reader tells
    try:
        return DECODER.decode(text.decode())
    except RecursionError:
        raise ValueError("objects and lists are nested too deep") from None


def whole(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON may hold and no database does.

    >>> whole("a\\ud83d")
    'a?'
    """
    return text if text.isascii() else text.encode(errors="replace").decode()


def canonical(value: Any) -> bytes:
    """The same bytes for equal values, whatever the order of keys and the spacing were."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, orjson.JSONEncodeError):
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def members(text: str, at: int = 0) -> Iterator[JsonMember]:
    """The members of the object that begins at `at`. The text is known to be JSON."""
    at = _past_space(text, at) + 1
    while text[at := _past_space(text, at)] != "}":
        key_at = at
        key, at = DECODER.raw_decode(text, at)
        start = _past_space(text, _past_space(text, at) + 1)
        _, end = DECODER.raw_decode(text, start)
        yield JsonMember(key, key_at, start, end)
        at = _past_space(text, end)
        if text[at] == ",":
            at += 1


def _past_space(text: str, at: int) -> int:
    found = SPACE.match(text, at)
    assert found is not None  # it matches nothing at all too
    return found.end()


def value_of(text: str, key: str) -> str:
    """The text of a member's value; of several members of one name the last counts. Raises: KeyError."""
    found = {member.key: member for member in members(text)}[key]
    return text[found.at : found.end]


def without(text: str, path: Sequence[str | int]) -> str:
    """The text of the object without what stands at a path; the same where nothing does."""
    head, *rest = path
    kept = []
    for member in members(text):
        written = text[member.key_at : member.end]
        if member.key == head:
            if not rest:
                continue
            value = text[member.at : member.end]
            if value.startswith("{"):
                written = text[member.key_at : member.at] + without(value, rest)
        kept.append(written)
    return "{" + ", ".join(kept) + "}"


def with_members(text: str, added: Mapping[str, str]) -> str:
    """The text of the object with members at its end, by key; values are texts of JSON."""
    if not added:
        return text
    told = ", ".join(f"{json.dumps(key)}: {value}" for key, value in added.items())
    inner = text[: text.rindex("}")].rstrip()
    return f"{inner}{'' if inner.endswith('{') else ', '}{told}}}"


def object_at(text: bytes, record: dict[str, Any], key: str) -> bytes:
    """The bytes of the object that a line has under `key`.

    Most lines have it last, behind short texts: then it is cut out without a second reading.
    """
    if next(reversed(record)) == key:
        named = f'"{key}"'.encode()
        at = text.find(named)
        before = text[:at]
        plain = at >= 0 and before.count(b"{") == 1 and b"\\" not in before
        if plain and text.find(named, at + 1) < 0:
            start = text.find(b"{", at)
            return text[start : text.rindex(b"}")].rstrip()
    return value_of(text.decode(), key).encode()
