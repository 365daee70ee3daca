"""No control character comes in: not in an address, a header or a body, however it is written there.

PostgreSQL refuses NUL, a terminal obeys ESC, and a line end makes one entry of a log two.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, unquote_plus

from proctor.errors import ConfigError

# Halves of surrogate pairs, which JSON may escape, are no characters either.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
# Texts may have lines and tabs.
_IN_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
# Headers come as bytes, whose upper half may belong to letters.
_IN_HEADER = re.compile(b"[\x00-\x08\x0a-\x1f\x7f]")


def check_head(scope: Mapping[str, Any]) -> None:
    """Raises ConfigError for a control character in the path, the query or a header."""
    query = unquote_plus(scope.get("query_string", b"").decode("latin-1"))
    for what, text in (("path", scope["path"]), ("query", query)):
        if found := _CONTROL.search(text):
            raise ConfigError(_told(f"the {what}", found[0]))
    for name, value in scope["headers"]:
        if odd := _IN_HEADER.search(value):
            raise ConfigError(_told(f"the header {name.decode('latin-1')[:40]}", odd[0].decode("latin-1")))


def check_body(kind: str, body: bytes) -> None:
    """The same for a body of a content type; what cannot be read at all is its route's to refuse."""
    if kind.startswith("application/x-www-form-urlencoded"):
        texts = iter([("the form", unquote(body.decode("latin-1")))])
    elif kind.startswith("multipart/"):
        texts = iter([("the form", body.decode("utf-8", "replace"))])
    else:
        texts = _texts(body)
    for place, text in texts:
        if found := _IN_TEXT.search(text):
            raise ConfigError(_told(place, found[0]))


def _texts(body: bytes) -> Iterator[tuple[str, str]]:
    """Every text in a body of JSON, with where it stands."""
    try:
        left = [("body", json.loads(body))]
    except (ValueError, RecursionError):
        return
    while left:
        place, value = left.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, list):
            left += [(f"{place}[{number}]", each) for number, each in enumerate(value)]
        elif isinstance(value, dict):
            for name, each in value.items():
                yield f"a name in {place}", name
                left.append((f"{place}.{name[:40]}", each))


def _told(place: str, character: str) -> str:
    return f"The request cannot be meant: {place} holds the control character U+{ord(character):04X}"
