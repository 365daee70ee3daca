"""Which grader fits a file's answers where nobody named one, told by the answers and by how replies end.

What is chosen is said in one sentence with its reason. Thresholds rest on files with people's grades
(docs/graders.md): where most answers are whole sentences, words in common tell hardly anything of what
people find right, so that no comparison is made at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proctor.grading.graders.dates import dates, whole_date
from proctor.grading.graders.json import Missing, parsed
from proctor.grading.graders.number import whole_number
from proctor.grading.graders.tokens import UNSPACED
from proctor.grading.patterns import later
from proctor.grading.spec import OpenGrader, parse_grader

PROSE_ROWS = 0.25  # from this share of rows on whose answers are sentences, no words are compared
LEAST_YEARS = 5  # so many rows whose answers all look like years are years


@dataclass(frozen=True, slots=True)
class GraderChoice:
    """The grader that was taken, and why, in a sentence for a person."""

    grader: OpenGrader
    why: str


Answers = Sequence[str]  # of one row, the target first


def choose(rows: Sequence[Answers], *, asks_for_line: bool) -> GraderChoice:
    """The grader for rows with these right answers; `asks_for_line` where the prompt asks for "Answer: ..." at the end.

    >>> choose([["Canberra"], ["Paris"]], asks_for_line=False).grader.words
    'contains/1'
    >>> choose([["42"], ["1,000 km"]], asks_for_line=True).grader.words
    'number/1'
    """
    for words, why in fitting(rows):
        return GraderChoice(parse_grader(words), f"Grader {words.partition(':')[0]}: {why}.")
    if asks_for_line:
        why = (
            "answers are short texts and the prompt asks for a last line; that line has to equal an answer, and a "
            "reply without one is searched for it"
        )
        return GraderChoice(parse_grader("contains:line=equal"), f"Grader contains: {why}.")
    why = "answers are short texts, and nothing tells the replies to end in a line with the answer alone"
    return GraderChoice(parse_grader("contains"), f"Grader contains: {why}.")


def fitting(rows: Sequence[Answers]) -> Iterator[tuple[str, str]]:
    """The graders that fit all answers better than a comparison of texts, with the reason."""
    if not rows:
        return
    if all(all(is_json(text) for text in row) for row in rows):
        yield "json", "every answer is JSON"
    if all(any(is_quantity(text) for text in row) for row in rows) and not years(rows):
        yield "number", "every answer is a number"
    if all(any(whole_date(text) for text in row) for row in rows):
        if order := order_of(rows):
            how = "the day" if order == "dmy" else "the month"
            yield f"date:order={order}", f"every answer is a date, and {how} comes first in them"
        elif not any(ambiguous(row) for row in rows):
            yield "date", "every answer is a date"
    prose = sum(is_prose(row) for row in rows)
    if prose >= PROSE_ROWS * len(rows):
        yield (
            "none",
            f"in {prose:,} of {len(rows):,} rows the answers are whole sentences, which only a person or a judge model "
            "can compare; no score is given (to compare words nevertheless, name a grader)",
        )


def is_json(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[") and not isinstance(parsed(text), Missing)


LETTERS = later(r"[^\W\d_]+")


def is_quantity(text: str) -> bool:
    """A number with a unit or a sign of currency at most: "5 km", not "5 people" and not "Area 51"."""
    found = whole_number(text, "auto")
    if found is None:
        return False
    at = text.find(found.written)
    rest = text.replace(found.written, "", 1) if at >= 0 else ""
    return not LETTERS.search(rest)


YEAR = later(r"\s*(?:1\d{3}|20\d\d)\s*")


def years(rows: Sequence[Answers]) -> bool:
    return len(rows) >= LEAST_YEARS and all(any(YEAR.fullmatch(text) for text in row) for row in rows)


def order_of(rows: Sequence[Answers]) -> str | None:
    """What the numbers in dates like 25/12/2024 mean, where some of them can be read in one way only."""
    fits = {"dmy": 0, "mdy": 0}
    for text in (text for row in rows for text in row):
        for one in dates(text):
            found = re.fullmatch(r"(\d{1,2})[/-](\d{1,2})[/-]\d{2,4}", one.written)
            if found and (int(found[1]) > 12) != (int(found[2]) > 12):
                fits["dmy" if int(found[1]) > 12 else "mdy"] += 1
    told = [order for order, count in fits.items() if count]
    return told[0] if len(told) == 1 else None


def ambiguous(row: Answers) -> bool:
    found = [one for text in row if (one := whole_date(text))]
    return bool(found) and all(len(one.readings) > 1 for one in found)


ENDS = later(r"[.!?。！？]['\"»”’)]*\s*$")  # noqa: RUF001 - full-width signs are data here
UNSPACED_SIGN = later(f"[{UNSPACED}]")


def is_prose(row: Answers) -> bool:
    """Whether more than half of a row's answers are sentences."""
    return 2 * sum(is_sentence(text) for text in row) > len(row)


def is_sentence(text: str) -> bool:
    """Eight words or more, or four that end as a sentence does and are no title.

    >>> is_sentence("It depends on the country."), is_sentence("The Lord of the Rings")
    (True, False)
    """
    words = text.split()
    lower = sum(word[:1].islower() for word in words)
    if len(UNSPACED_SIGN.findall(text)) >= 16:
        return True
    if len(words) >= 8:
        return lower >= 4
    return len(words) >= 4 and lower >= 2 and ENDS.search(text) is not None
