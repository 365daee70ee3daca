"""`exact` and `normalized`: whole texts, character by character or but for what carries no meaning."""

from __future__ import annotations

from proctor.grading.comparators.contract import ComparatorEntry, Likeness
from proctor.grading.contract import NoSettings
from proctor.grading.texts import normal


def exact(one: str, two: str, _options: NoSettings) -> Likeness:
    return Likeness(one == two)


def normalized(one: str, two: str, _options: NoSettings) -> Likeness:
    """
    >>> normalized("The  answer: *Paris*.", "answer: paris", NoSettings()).alike
    False
    >>> normalized("**Paris**.", "paris", NoSettings()).alike
    True
    """
    return Likeness(one == two or normal(one) == normal(two))


EXACT = ComparatorEntry("exact", "texts are the same, character by character", NoSettings, exact)
NORMALIZED = ComparatorEntry(
    "normalized",
    "texts are the same but for case, white space, articles, marks around them and the spelling of a number",
    NoSettings,
    normalized,
)
