"""What an agent is told: an instruction without the marks by which its makers find it in training data."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"<!--.*?-->[ \t]*\n?", re.DOTALL)
_MARK = re.compile(r"canary|TRAINING CORPORA", re.IGNORECASE)
_LINE = re.compile(r"[ \t]*(?:#|//|;|--|%).*(?:canary|TRAINING CORPORA).*\n?", re.IGNORECASE)


def without_canary(text: str) -> str:
    """The text without comments that hold a canary: those of HTML anywhere, remark lines at its beginning.

    >>> without_canary("<!-- harbor-canary GUID 1 -->\\n\\nSay hello.\\n")
    'Say hello.\\n'
    """
    found = _COMMENT.sub(lambda comment: "" if _MARK.search(comment[0]) else comment[0], text)
    while (line := _LINE.match(found)) is not None:
        found = found[line.end() :]
    return found if found == text else found.lstrip("\n")
