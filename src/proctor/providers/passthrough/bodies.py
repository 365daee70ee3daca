"""Fields put into a JSON object without making it anew: every other byte of it stays as its user wrote it.

Reading and writing it again would lose numbers beyond 64 bits, the spelling of others, and doubled names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

import orjson

# Texts are stepped over whole, so brackets inside them are not seen; one before a colon is a name.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[{}\[\]]', re.DOTALL)
_FIRST = re.compile(rb'\s*\{\s*("[^"\\]*")\s*:\s*("[^"\\]*")')
# A letter of a name written as an escape, which no program does that means no harm: such names count as well.
_ESCAPED = re.compile(rb"\\u00[4-7]")
_SPACE = b" \t\r\n"
_BETWEEN = b" \t\r\n,"
_OPENS, _CLOSES = (b"{", b"["), (b"}", b"]")

Span = tuple[int, int]


def with_fields(body: bytes, fields: Mapping[str, bytes]) -> bytes:
    """The object with these values, in JSON, in their fields; fields that it lacks come first.

    >>> with_fields(b'{"model": "a", "n": 1e400, "x": {"model": 1}}', {"model": b'"b"', "stream": b"true"})
    b'{"stream":true,"model": "b", "n": 1e400, "x": {"model": 1}}'
    """
    spans = _spans(body, fields)
    there = {name for _, name in spans}
    parts, at = [], 0
    for (start, end), name in spans:
        parts += [body[at:start], fields[name]]
        at = end
    parts.append(body[at:])
    spliced = b"".join(parts)
    missing = b",".join(
        orjson.dumps(name) + b":" + value for name, value in fields.items() if name not in there
    )
    if not missing:
        return spliced
    before, _, after = spliced.partition(b"{")
    empty = after.lstrip(_SPACE).startswith(b"}")
    return before + b"{" + missing + (b"" if empty else b",") + after


def member(body: bytes, name: str) -> bytes | None:
    """The value of a field of the object, in JSON as it stands there; the last, where the name is doubled."""
    found = [body[start:end] for each, (start, end) in members(body) if each == name]
    return found[-1] if found else None


def members(body: bytes) -> Iterator[tuple[str, Span]]:
    """The names of the object's own fields, in their order, and where the value of each stands."""
    depth, name, start = 0, None, 0
    for token in _TOKEN.finditer(body):
        sign = token[0]
        if sign in _OPENS:
            depth += 1
        elif sign in _CLOSES:
            depth -= 1
            if not depth and name is not None:
                yield name, _trimmed(body, start, token.start())
                return
        elif depth == 1 and token[1] is not None:
            if name is not None:
                yield name, _trimmed(body, start, token.start())
            name, start = _told(sign[: -len(token[1])]), token.end()


def _spans(body: bytes, names: Collection[str]) -> list[tuple[Span, str]]:
    """Where the values of these fields stand. Most bodies begin with the model, and have none of the others."""
    if _ESCAPED.search(body):
        return [(span, name) for name, span in members(body) if name in names]
    quoted = {b'"%b"' % name.encode(): name for name in names}
    written = [each for each in quoted if each in body]
    if not written:
        return []
    first = _FIRST.match(body)
    if first and written == [first[1]] and body.count(first[1]) == 1:
        return [(first.span(2), quoted[first[1]])]
    return [(span, name) for name, span in members(body) if name in names]


def _told(key: bytes) -> str:
    """A name as it is meant: it may be written with escapes."""
    return str(orjson.loads(key)) if b"\\" in key else key[1:-1].decode("utf-8", "replace")


def _trimmed(body: bytes, start: int, end: int) -> Span:
    """Without the comma and the room around a value."""
    while body[start] in _SPACE:
        start += 1
    while body[end - 1] in _BETWEEN:
        end -= 1
    return start, end
