"""Forms of a text in which it is compared: one spelling of full-width signs, and words without their punctuation."""

# ruff: noqa: RUF001, RUF002 - full-width signs and the quotes that models write are data here
from __future__ import annotations

import re
from functools import lru_cache

from proctor.grading.patterns import later
from proctor.grading.texts import PUNCTUATION, light

# Ticks, hands, faces: decoration. Crosses stay, for "B ❌" turns B down.
CROSSES = frozenset(map(ord, "✕✖✗✘❌❎🚫"))
DECORATION = {
    code: " "
    for first, last in ((0x2600, 0x27BF), (0x2B50, 0x2B55), (0xFE0E, 0xFE0F), (0x1F300, 0x1FAFF))
    for code in range(first, last + 1)
    if code not in CROSSES
}

# Each sign has one plain sign, so that places in the text stay what they were.
PLAIN: dict[int, int | str] = {
    **DECORATION,
    **{0xFEE0 + code: code for code in range(0x21, 0x7F)},
    **{0x245F + n: str(n) for n in range(1, 10)},  # ① to ⑨
    **{0x24B5 + n: chr(64 + n) for n in range(1, 27)},  # Ⓐ to Ⓩ
    **dict.fromkeys(map(ord, "\u00a0\u202f\u3000\u2009"), " "),
    **dict.fromkeys(map(ord, "\u200b\u200e\u200f\u2060\ufeff"), " "),
    **dict.fromkeys(map(ord, "\u2212"), "-"),
    **dict.fromkeys(map(ord, "’‘ʼ"), "'"),
    **dict.fromkeys(map(ord, "【「『〔［"), "["),
    **dict.fromkeys(map(ord, "】」』〕］"), "]"),
    **dict.fromkeys(map(ord, "、،"), ","),
    **dict.fromkeys(map(ord, "।"), "。"),
}

# Words, numbers with their sign and unit, and signs that tell numbers apart; scripts without spaces by character.
WORD = later(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
    r"|(?<![\w)])[-+]\d+(?:[.,]\d+)*%?|\d+(?:[.,]\d+)*%?"
    r"|(?:(?![\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af_\d])\w[\u0300-\u036f\u0900-\u0963]*)+\d*|[<>=≤≥+^&]"
)
ARTICLE = later(r"(?:the|an?)\s+(?=\w)")


HTML = later(r"</?(?:b|i|p|em|strong|div|span|h[1-6])>", re.IGNORECASE)
FORMULA = later(r"\\[()\[\]]")  # the brackets around a formula


def plain(text: str) -> str:
    """The text with full-width and circled signs made plain, character for character.

    >>> plain("答案：Ｂ（②）")
    '答案:B(2)'
    """
    if "</" in text:
        text = HTML.sub(lambda tag: " " * len(tag[0]), text)
    if "\\" in text:
        text = FORMULA.sub("  ", text)
    return text if text.isascii() else text.translate(PLAIN)


@lru_cache(maxsize=512)
def words(text: str) -> tuple[str, ...]:
    """The words of a text without case and punctuation; numbers keep their sign.

    >>> words("Iron-deficiency (-1.5 %)")
    ('iron', 'deficiency', '-1.5')
    """
    return tuple(WORD.findall(light(text)))


def begins(text: str, own: str) -> int | None:
    """Where a text in light form has all words of another at its beginning: the place behind them.

    >>> begins("iron-deficiency, or b", "Iron deficiency"), begins("ironic", "iron")
    (15, None)
    """
    wanted = words(own)
    if not wanted:
        ours = light(own)
        return len(ours) if ours and text.startswith(ours) else None
    end = 0
    found = WORD.finditer(text)
    for want in wanted:
        match = next(found, None)
        if match is None or match[0] != want:
            return None
        end = match.end()
    ours = light(own).rstrip(PUNCTUATION)  # a sign may end it: "45°"
    return max(end, len(ours)) if text.startswith(ours) else end


def is_same(ours: str, theirs: str) -> bool:
    """True for texts with the same words, an article in front apart."""
    return bool(found := words(bare(ours))) and found == words(bare(theirs))


def bare(text: str) -> str:
    """A text in light form without an article in front; "a. text" opens with a letter."""
    article = ARTICLE.match(text)
    return text[article.end() :] if article else text


CAPITALS = later("[A-Z]+")


def lowered(text: str) -> str:
    """Lower case, character for character: a few capitals of other scripts grow when lowered."""
    low = text.lower()
    return low if len(low) == len(text) else CAPITALS.sub(lambda match: match[0].lower(), text)
