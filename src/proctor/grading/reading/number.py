"""Reading one value as a number from 0 to 5."""

# ruff: noqa: RUF001 - the dashes that models write are data here
from __future__ import annotations

from proctor.grading.patterns import later
from proctor.grading.texts import LATEX, MARKUP, PUNCTUATION, light
from proctor.grading.vocabulary import UNCLEAR, Found
from proctor.grading.worth import HIGHEST

# What names the scale or a sentence and is no answer: "4 out of 5", "on a scale of 0-5", "sentence 2".
OF_FIVE = later(
    r"(?<=\d)\s{0,3}(?:/|out of|of|von|sur|de|su|из)\s{0,3}(?:a (?:possible"
    r"|maximum)(?: of)? )?5(?:[.,]0+)?(?![\w/%]|[.,]\d)"
)
SCALE = later(
    r"\b(?:scale|range) (?:of |from |between )?0(?:\.0)?\s?(?:to|and|-|–|—|\.\.)\s?5(?:\.0)?\b"
    r"|\(0(?:\.0)?\s?[-–—]\s?5(?:\.0)?\)"
)
SENTENCE = later(r"\bsentences? [12](?:(?: and |, | & |/)(?:sentence )?[12])?\b")
FIGURE = later(r"[\w.,+%/-]*\d[\w.,+%/-]*")
PLAIN = later(r"[+-]?(?:\d{1,9}(?:[.,]\d{1,15})?|\.\d{1,15})")
# "more than 3" and "not 4" name a number without giving it.
BOUND = later(r"(?:\b(?:not|than|over|under|above|below|least|most|between)|n't|[<>≤≥~±])\s{0,3}$")
# A dash apart from its figure is a minus, unless it stands between words: "score - 4".
APART = later(r"(?:^|[:=(])\s{0,3}[-–]\s{1,3}$")
COUNTER = later(r"\s?(?:점|分|点|點|points?|punkte?|puntos|points|pontos|punti|балл\w*)(?![^\W\d_])")


ABOUT = later(r"\A(?:about|around|approximately|roughly|i(?:'d| would) say) ")


def read_number(value: str, *, strict: bool = False) -> Found:
    """The one number from 0 to 5 that a value gives, in its shortest spelling.

    With `strict` the value may hold nothing else.

    >>> read_number("**4 out of 5**"), read_number("3.80"), read_number("about 3.5."), read_number("similar")
    ('4', '3.8', '3.5', None)
    """
    # A point may open a number, so only the end loses its punctuation.
    plain = light(LATEX.sub("", value[:400])).strip(MARKUP).rstrip(PUNCTUATION + MARKUP)
    for words in (OF_FIVE, SCALE, SENTENCE, COUNTER):
        plain = words.sub(" ", plain)
    figures = {figure[0].rstrip(".,"): figure.start() for figure in FIGURE.finditer(plain)}
    if not figures or (strict and ABOUT.sub("", plain.strip(MARKUP), count=1) not in figures):
        return None
    if any(PLAIN.fullmatch(figure) is None for figure in figures):
        return UNCLEAR
    before = [plain[max(0, place - 12) : place] for place in figures.values()]
    if any(BOUND.search(text) or APART.search(text) for text in before):
        return UNCLEAR
    numbers = {float(figure.replace(",", ".")) for figure in figures}
    number = numbers.pop()
    return spelled(number) if not numbers and 0.0 <= number <= HIGHEST else UNCLEAR


def spelled(number: float) -> str:
    """At most three decimals, no zeros at the end.

    >>> spelled(3.80), spelled(5.0), spelled(0.0), spelled(2.3333333)
    ('3.8', '5', '0', '2.333')
    """
    return f"{abs(number):.3f}".rstrip("0").rstrip(".")
