"""Normal forms of short texts: when two answers in free words are the same answer.

Everything here takes time linear in the text.
"""

# ruff: noqa: RUF001 - the quotes and full-width signs that models write are data here
from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from proctor.grading.patterns import later

MARKUP = " \t\r\n*_`~\"'“”‘’«»‹›()[]{}<>$#"
NOT_MONEY = MARKUP.replace("$", "")
PUNCTUATION = ".,;:!?。，．；：！？"

# `\boxed{C}`, `\text{C}`: the braces that stay behind are markup.
LATEX = later(r"\\(?:boxed|fbox|text(?:bf|it|rm)?|math(?:bf|rm|it)?)\s*\{")
SEPARATOR = later(r"(?<=\w)[\s_-]+(?=\w)")
NUMBER = later(r"([-+]?)([$€£¥]?)\s?([-+]?)(\d+|\d{1,3}(?:,\d{3})+)?(?:\.(\d*))?\s?(%|[$€£¥])?")
# "the" and "an" carry no meaning anywhere; "a" may be a name ("vitamin A"), so only in front.
ARTICLES = later(r"^a\s+(?=\S)|\b(?:the|an)\s+(?=\S)")


def light(text: str) -> str:
    """Case, compatibility forms and white space made alike; every other character kept."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2212", "-").replace("’", "'")
    return " ".join(text.casefold().split())


def peel(text: str) -> str:
    """The text without the bold, quotes, brackets and full stops around it.

    >>> peel("**(B)**.")
    'B'
    """
    if "\\" in text:
        text = LATEX.sub("", text)
    return text.strip(MARKUP + PUNCTUATION)


def key(text: str) -> str:
    """The form in which labels are looked up: "Not_Entailment" and "not entailment" are one."""
    return SEPARATOR.sub(" ", light(text))


def fold(text: str) -> str:
    """The form in which option texts are compared; never empty for a text that is not."""
    plain = light(text)
    return peel(plain) or plain


def number(text: str) -> str | None:
    """One spelling for each number, with its currency or percent sign; None for other texts.

    >>> number("1,000"), number("1000.0"), number("-$0.50"), number("12 km")
    ('1000', '1000', '-$0.5', None)
    """
    found = NUMBER.fullmatch(text)
    if found is None:
        return None
    before, sign, after, whole, fraction, unit = found.groups()
    if (not whole and not fraction) or (before and after):
        return None
    whole = (whole or "0").replace(",", "").lstrip("0") or "0"
    fraction = (fraction or "").rstrip("0")
    minus = "-" if "-" in (before + after) and (whole != "0" or fraction) else ""
    money = sign or (unit if unit and unit != "%" else "")
    percent = "%" if unit == "%" else ""
    return f"{minus}{money}{whole}{'.' if fraction else ''}{fraction}{percent}"


def normal(text: str) -> str:
    """What is compared. Case, outer punctuation, articles, white space and number spelling do not count.

    >>> normal("  The “Eiffel  Tower”. ") == normal("eiffel tower")
    True
    """
    if "\\" in text:
        text = LATEX.sub("", text)
    # A dollar sign in front is money here, and a point may open a number: neither is stripped.
    plain = light(text).strip(NOT_MONEY).rstrip(PUNCTUATION).strip(NOT_MONEY)
    if plain.startswith("$") and plain.endswith("$") and len(plain) > 2:
        plain = plain[1:-1]  # mathematics between dollars
    plain = ARTICLES.sub("", plain).strip(NOT_MONEY)
    if not (plain.startswith(".") and plain[1:2].isdigit()):
        plain = plain.lstrip(PUNCTUATION)
    return number(plain) or plain or light(text)


def same(answer: str, accepted: Iterable[str]) -> bool:
    """True when the answer equals one of the accepted texts after normalisation."""
    ours = normal(answer)
    return any(ours == normal(text) for text in accepted)


LEFT_OUT = later(r"\b(?:a|an|the)\b")
ASCII_PUNCTUATION = dict.fromkeys(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))


def squad(text: str) -> str:
    """The normal form of SQuAD's evaluation: lower case, no ASCII punctuation, no a, an or the.

    >>> squad("The U.S., a country")
    'us country'
    """
    return " ".join(LEFT_OUT.sub(" ", text.lower().translate(ASCII_PUNCTUATION)).split())


def token_f1(answer: str, target: str) -> float:
    """Harmonic mean of precision and recall over the words of both, after SQuAD's normalisation.

    >>> round(token_f1("Barack Hussein Obama", "Barack Obama"), 3)
    0.8
    """
    ours, theirs = Counter(squad(answer).split()), Counter(squad(target).split())
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0
