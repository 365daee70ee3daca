"""Numbers in running text, as people write them in several languages: separators, percent, units, scale, fractions.

Everything is exact (`Fraction`), and takes time linear in the text.
"""

# ruff: noqa: RUF001 - the signs, spaces and digits that people write are data here
from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from proctor.grading.graders.units import SCALES, UNITS, Unit
from proctor.grading.patterns import later

MOST_DIGITS = 300  # a longer row of digits is no number
MOST_EXPONENT = 400


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number: what it may mean, the likelier reading first, with its unit, as it was written from `start`.

    "1,234" may be 1234 or 1.234. `unit` is None where none of the known ones follows.
    """

    readings: tuple[Fraction, ...]
    unit: Unit | None
    written: str
    start: int

    @property
    def value(self) -> Fraction:
        return self.readings[0]


SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
RAISED = later(r"[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
FRAC = later(r"\\[dt]?frac\s{0,3}\{\s{0,3}([+-]?\d{1,30})\s{0,3}\}\s{0,3}\{\s{0,3}(\d{1,30})\s{0,3}\}")
TEX = later(r"\\(?:times|cdot)\b")
TEX_SPACE = later(r"\\[,;!: ]|\{,\}")
ASCII_FORMS = str.maketrans({"−": "-", "–": "-", "—": " ", "٫": ".", "٬": ",", "’": "'", "⁄": "/", "\\": ""})

NUMERAL = later(
    r"(?<![\w.])(?:(?<![-+\d)\]%])[-+](?=[$€£¥₹]?\s?\.?\d))?(?P<money>[$€£¥₹]\s?[-+]?)?"
    r"(?P<body>\d{1,3}(?P<gap>[  \u2009']|_)\d{3}(?:(?P=gap)\d{3}){0,30}(?!\d)(?:[.,]\d+)?"
    r"|\d+(?:[.,]\d+)*|\.\d+)"
    r"(?:(?P<exp>[eE][+-]?\d{1,3}(?!\w))|\s?[×x*·]\s?10\s?(?:\^|\*\*)\s?[{(]?(?P<ten>[+-]?\d{1,3})[})]?"
    r"|(?:\^|\*\*)[{(]?(?P<power>-?\d{1,3})[})]?|/(?P<below>\d{1,30})(?!\d|[/.,]\d))?"
)
AFTER = later(r"[  \u2009\u202f-]?(?P<word>%|‰|°\s?[cfCF]?|[$€£¥₹]|[^\W\d_]{1,20}(?:/[^\W\d_]{1,6})?\.?)")
ORDINAL = later(r"(?:st|nd|rd|th|º|ª|er|ème|e)\b\.?")


def plain(text: str) -> str:
    """Digits of any script and typographic signs as ASCII, LaTeX's fractions and products as people type them."""
    if "\\" in text or "{" in text:
        text = TEX_SPACE.sub(lambda found: "," if found[0] == "{,}" else " ", TEX.sub("×", text))
        text = FRAC.sub(r"\1/\2", text)
    if text.isascii():
        return text.translate(ASCII_FORMS) if "\\" in text else text
    text = RAISED.sub(lambda found: "^" + found[0].translate(SUPERSCRIPTS), text)
    text = re.sub(r"(?<=\d)(?=[¼-¾⅐-⅞])", " ", text)
    return "".join(map(digit, unicodedata.normalize("NFKC", text).translate(ASCII_FORMS)))


def digit(sign: str) -> str:
    return sign if sign.isascii() or not sign.isdecimal() else str(unicodedata.decimal(sign))


def grouped(parts: list[str], sign: str) -> bool:
    """Whether parts between separators are thousands, or lakhs (12,34,567)."""
    first, rest = parts[0], parts[1:]
    if not 1 <= len(first) <= 3 or not rest or len(rest[-1]) != 3:
        return False
    lakhs = sign == "," and len(first) <= 2 and len(rest) > 1 and all(len(part) == 2 for part in rest[:-1])
    return lakhs or all(len(part) == 3 for part in rest)


def readings(body: str, decimal: str) -> tuple[Fraction, ...]:
    """What a numeral may mean; empty for what is no number, as "1.2.3".

    `decimal` is the sign before the decimals where it is known ("point", "comma"), else "auto".

    >>> readings("1.234,5", "auto"), readings("1,234", "auto"), readings("1,234", "comma")
    ((Fraction(2469, 2),), (Fraction(1234, 1), Fraction(617, 500)), (Fraction(617, 500),))
    """
    decimal = {"point": ".", "comma": ","}.get(decimal, decimal)
    body = re.sub(r"[\s'_\u00a0\u2009]", "", body)
    if len(body) > MOST_DIGITS:
        return ()
    signs = [sign for sign in body if sign in ".,"]
    if body.startswith("."):
        return (Fraction(f"0{body}"),) if len(signs) == 1 else ()
    if not signs:
        return (Fraction(body),)
    last = signs[-1]
    whole, _, part = body.rpartition(last)
    if len(set(signs)) == 2:
        other = signs[0]
        fits = signs.count(last) == 1 and grouped(whole.split(other), other) and decimal in ("auto", last)
        return (Fraction(f"{whole.replace(other, '')}.{part}"),) if fits else ()
    thousands = grouped(body.split(last), last) and (len(signs) > 1 or not body.startswith("0"))
    if len(signs) > 1:
        return (Fraction(body.replace(last, "")),) if thousands and decimal != last else ()
    small = Fraction(f"{whole}.{part}")
    if not thousands or decimal == last:
        return (small,)
    large = Fraction(whole + part)
    if decimal != "auto":
        return (large,)
    return (large, small) if last == "," else (small, large)


def quantities(text: str, decimal: str = "auto") -> Iterator[Quantity]:
    """Every number of a text, in its order.

    >>> [(str(one.value), one.unit and one.unit.name) for one in quantities("about 1 234,5 km, or -3/4 of 2.5 million")]
    [('2469/2', 'km'), ('-3/4', None), ('2500000', None)]
    """
    ready = plain(text)
    before: Quantity | None = None
    for one in each_numeral(ready, decimal):
        if before is not None and (mixed := mixed_number(before, one, ready)):
            before = mixed
            continue
        if before is not None:
            yield before
        before = one
    if before is not None:
        yield before


def mixed_number(whole: Quantity, part: Quantity, text: str) -> Quantity | None:
    """A whole number and the fraction that follows it as one number: "1 3/4"."""
    between = text[whole.start + len(whole.written) : part.start]
    if between != " " or whole.unit or not whole.written.isdigit() or "/" not in part.written:
        return None
    if not 0 < part.value < 1 or part.written.startswith("-"):
        return None
    return Quantity((whole.value + part.value,), part.unit, f"{whole.written} {part.written}", whole.start)


def each_numeral(ready: str, decimal: str) -> Iterator[Quantity]:
    for found in NUMERAL.finditer(ready):
        values = powers(found, readings(found["body"], decimal))
        if not values or found["below"] == "0":
            continue
        if "-" in found[0][: found.start("body") - found.start()]:
            values = tuple(-value for value in values)
        end, scale, unit = what_follows(ready, found.end())
        if unit is None and found["money"]:
            unit = UNITS.get(found["money"][0])
        yield Quantity(
            tuple(value * scale for value in values), unit, ready[found.start() : end], found.start()
        )


def powers(found: re.Match[str], values: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """The values with the exponent, power or denominator that follows; empty where that is out of bounds."""
    ten = found["ten"] or (found["exp"] or "")[1:]
    if ten:
        return (
            tuple(value * Fraction(10) ** int(ten) for value in values)
            if abs(int(ten)) <= MOST_EXPONENT
            else ()
        )
    if found["power"]:
        fits = abs(int(found["power"])) <= 100 and all(0 < value <= 1000 for value in values)
        return tuple(value ** int(found["power"]) for value in values) if fits else ()
    if found["below"] and int(found["below"]):
        return tuple(value / int(found["below"]) for value in values)
    return values


def what_follows(text: str, end: int) -> tuple[int, Fraction, Unit | None]:
    """Where a number with its words of scale and unit ends, its scale, and its unit."""
    scale = Fraction(1)
    if found := ORDINAL.match(text, end):
        return found.end(), scale, None
    for _ in range(2):
        found = AFTER.match(text, end)
        if found is None:
            break
        word = found["word"].rstrip(".")
        if (times := SCALES.get(word) or SCALES.get(word.lower())) is not None and scale == 1:
            scale, end = times, found.end()
            continue
        unit = UNITS.get(word.replace(" ", "")) or UNITS.get(word.lower().replace(" ", ""))
        if unit is not None:
            return found.start("word") + len(word), scale, unit
        break
    return end, scale, None


SMALL_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
TENS_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
SMALL, TENS = SMALL_WORDS.split(), TENS_WORDS.split()
WORDS = {word: value for value, word in enumerate(SMALL)} | {
    word: value * 10 for value, word in enumerate(TENS, 2)
}
IN_WORDS = later(
    rf"(?<![\w-])(?:(?P<tens>{'|'.join(TENS)})(?:[ -](?P<ones>{'|'.join(SMALL[1:10])}))?"
    rf"|(?P<small>{'|'.join(SMALL)}))(?![\w-])",
    re.IGNORECASE,
)


def in_words(text: str) -> Iterator[Quantity]:
    """English number words up to ninety-nine.

    >>> [int(one.value) for one in in_words("Forty-two, not seven.")]
    [42, 7]
    """
    for found in IN_WORDS.finditer(text):
        value = sum(WORDS[word.lower()] for word in found.groupdict().values() if word)
        end, scale, unit = what_follows(text, found.end())
        yield Quantity((value * scale,), unit, text[found.start() : end], found.start())
