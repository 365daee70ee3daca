"""Words from outside as terminals, pages, logs and both databases take them."""

from __future__ import annotations

import re

# Control characters but for tab and line end, and halves of surrogate pairs.
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """Words from outside as terminals, pages and both databases take them: what is no text becomes U+FFFD.

    >>> printable("bad\\x00 key\\x1b[2J")
    'bad\ufffd key\ufffd[2J'
    """
    return _UNPRINTABLE.sub("\ufffd", text)


def in_one_line(text: str) -> str:
    r"""The same as an entry of a log: nobody's words can begin a line of their own.

    >>> in_one_line("no model\n2026-11-22T03:00:00Z all is well")
    'no model\\n2026-11-22T03:00:00Z all is well'
    """
    return printable(text).replace("\n", "\\n").replace("\t", " ")
