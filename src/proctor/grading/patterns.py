"""Regular expressions that are compiled when they are first used: hundreds stand in modules, and a run uses a few."""

from __future__ import annotations

import re
from typing import Any, cast


class _Later:
    """What a compiled pattern offers, from the first use of it."""

    def __init__(self, text: str, flags: int) -> None:
        self._made_of = text, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._made_of), name)
        setattr(self, name, found)  # the next use is as quick as that of a compiled pattern
        return found


def later(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, but a wrong pattern raises re.error at its first use.

    For the methods and attributes of a pattern; it goes into no function of `re`.

    >>> later(r"a(b+)").fullmatch("abb").group(1), later("x").pattern
    ('bb', 'x')
    """
    return cast(re.Pattern[str], _Later(text, flags))
