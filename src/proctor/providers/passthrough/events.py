"""Server-sent events, as the HTML standard has them, out of the pieces in which a stream comes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLANK = re.compile(rb"\r?\n\r?\n")
_LINE = re.compile(rb"\r?\n")


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """What the server calls the event ("" where it does not), and its data."""

    name: str
    data: bytes


@dataclass(slots=True)
class Events:
    """The events of one stream. A piece may end anywhere, inside a character too: only whole events are read."""

    _rest: bytearray = field(default_factory=bytearray)

    def of(self, piece: bytes) -> Iterator[StreamEvent]:
        """The events that this piece completes."""
        self._rest += piece
        if b"\n" not in piece:  # nothing ends in it, however long an event grows
            return
        rest = bytes(self._rest)
        *whole, last = _BLANK.split(rest) if b"\r" in rest else rest.split(b"\n\n")
        if not whole:
            return
        self._rest = bytearray(last)
        yield from filter(None, map(_event, whole))

    def last(self) -> StreamEvent | None:
        """What came after the last blank line, where the server left the one at the end out."""
        event = _event(bytes(self._rest))
        self._rest.clear()
        return event


def _event(text: bytes) -> StreamEvent | None:
    """None for a comment, or what carries no data."""
    if text.startswith(b"data:") and b"\n" not in text and b"\r" not in text:  # nearly all are of this form
        return StreamEvent("", text[5:].strip())
    name, data = "", []
    for line in _LINE.split(text):
        label, _, value = line.partition(b":")
        if label == b"data":
            data.append(value.removeprefix(b" "))
        elif label == b"event":
            name = value.strip().decode("utf-8", "replace")
    return StreamEvent(name, b"\n".join(data).strip()) if data else None
