"""Text of programs that nobody trusts, for pages: what is hidden, moves the cursor or turns the writing is shown."""

from __future__ import annotations

import re
import unicodedata

from markupsafe import Markup, escape

# What is not seen where it stands, or changes how its neighbours look: control characters but for tab and line feed,
# marks of direction, joiners, soft hyphens, odd line ends, tags, variation selectors, halves of surrogate pairs.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
# As ASCII (ANSI X3.4, 1968) abbreviates them: letters that every font has.
_ABBREVIATED = (
    *("NUL", "SOH", "STX", "ETX", "EOT", "ENQ", "ACK", "BEL", "BS", "HT", "LF", "VT", "FF", "CR", "SO", "SI"),
    *(
        "DLE",
        "DC1",
        "DC2",
        "DC3",
        "DC4",
        "NAK",
        "SYN",
        "ETB",
        "CAN",
        "EM",
        "SUB",
        "ESC",
        "FS",
        "GS",
        "RS",
        "US",
    ),
)
_NAMES = {**dict(enumerate(_ABBREVIATED)), 0x7F: "DEL"}


def untrusted(text: str | None) -> Markup:
    r"""The text with every hidden character as a mark that can be read; nothing of it is markup.

    >>> str(untrusted("a\x1b[31m<b>"))
    'a<span class="odd" title="U+001B">ESC</span>[31m&lt;b&gt;'
    >>> str(untrusted("x\u202ey"))
    'x<span class="odd" title="U+202E RIGHT-TO-LEFT OVERRIDE">U+202E</span>y'
    """
    pieces, at = [], 0
    text = text or ""
    for found in _HIDDEN.finditer(text):
        pieces += [escape(text[at : found.start()]), _mark(found[0])]
        at = found.end()
    return Markup("").join([*pieces, escape(text[at:])])


def with_marks(html: Markup) -> Markup:
    """Cleaned HTML of such a text with every hidden character as a mark: it has no attributes that could hold one.

    >>> str(with_marks(Markup("<p>x\u202ey</p>")))
    '<p>x<span class="odd" title="U+202E RIGHT-TO-LEFT OVERRIDE">U+202E</span>y</p>'
    """
    return Markup(_HIDDEN.sub(lambda found: _mark(found[0]), html))


def _mark(character: str) -> Markup:
    code = ord(character)
    name = f"U+{code:04X}"
    told = f"{name} {unicodedata.name(character, '')}".strip()
    return Markup('<span class="odd" title="{}">{}</span>').format(told, _NAMES.get(code, name))
