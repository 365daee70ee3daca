"""Dates in running text, in the spellings of a dozen languages; what two readings would make different days stays two.

Days are of the proleptic Gregorian calendar, as in ISO 8601. Everything takes time linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from calendar import monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from proctor.grading.patterns import later

Order = Literal["dmy", "mdy"]


@dataclass(frozen=True, slots=True, order=True)
class Day:
    """A date as far as it is said: a year, a month of a year, a day, a day of no year. The year 0 is 1 BC."""

    year: int | None = None
    month: int | None = None
    day: int | None = None

    def __str__(self) -> str:
        """As ISO 8601 writes it, with dashes for what is not said.

        >>> str(Day(1968, 11, 8)), str(Day(1968)), str(Day(None, 11, 8))
        ('1968-11-08', '1968', '---11-08')
        """
        year = "--" if self.year is None else f"{self.year:04d}"
        return year + "".join(f"-{part:02d}" for part in (self.month, self.day) if part is not None)

    def covers(self, other: Day) -> bool:
        """Whether this says all that the other says, and the same."""
        pairs = zip((self.year, self.month, self.day), (other.year, other.month, other.day), strict=True)
        return all(theirs is None or ours == theirs for ours, theirs in pairs)


@dataclass(frozen=True, slots=True)
class Dated:
    """A date in a text: what it may mean (two days for "03/04/2025"), as it was written from `start`."""

    readings: tuple[Day, ...]
    written: str
    start: int


# Month by month, without accents, in twelve languages; a name may stand for one month only.
NAMES = """
january jan januar janvier enero ene gennaio gen januari janeiro ledna leden stycznia styczen sty gener
    январь января
february feb februar fevrier fevr febrero febbraio februari fevereiro fev unora unor lutego luty lut febrer
    февраль февраля
march mar marz maerz mars marzo maart marco brezna brezen marca marzec
    март марта
april apr avril avr abril aprile abr dubna duben kwietnia kwiecien kwi
    апрель апреля
may mai mayo maggio mag mei maio kvetna kveten maja maj maig
    май мая
june jun juni juin junio giugno giu junho cervna cerven czerwca czerwiec cze juny
    июнь июня
july jul juli juillet juil julio luglio lug julho cervence cervenec lipca lipiec lip juliol
    июль июля
august aug aout agosto ago augustus srpna srpen sierpnia sierpien sie agost
    август августа
september sep sept septembre septiembre settembre set setembro zari wrzesnia wrzesien wrz setembre
    сентябрь сентября
october oct oktober okt octobre octubre ottobre ott outubro out rijna rijen pazdziernika pazdziernik paz
    октябрь октября
november nov novembre noviembre novembro listopadu listopad listopada lis
    ноябрь ноября
december dec dezember dez decembre diciembre dic dicembre dezembro prosince prosinec grudnia grudzien gru desembre
    декабрь декабря
"""
MONTHS = {
    name: number
    for number, line in enumerate(NAMES.strip().replace("\n    ", " ").splitlines(), 1)
    for name in line.split()
}
MONTH = rf"(?P<month>{'|'.join(sorted(map(re.escape, MONTHS), key=len, reverse=True))})\b\.?"
DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|er|º|ª|\.)?"
OF = r"(?:\s?(?:of|de|del|di|d'|the|,)){0,2}"
COMMA = r"(?: ?, ?| {1,2})"
ERA = (
    r"(?:\s?(?P<era>b\.?\s?c\.?(?:\s?e\.?)?\b|pr\. ?n\. ?l\.|v\. ?chr\."
    r"|av\. ?j\.-?c\.|a\. ?c\.|a\.\s?d\.?\b|ad\b|ce\b))?"
)
OLD = r"\d{1,4}(?=\s?(?:b\.?\s?c|pr\. ?n|v\. ?chr|av\. ?j|a\.?\s?d\b))"
YEAR = rf"(?P<year>\d{{3,4}}(?!\d)|{OLD})(?![.,]\d|\d){ERA}"
BARE_YEAR = rf"(?P<year>[12]\d{{3}}(?!\d)|{OLD})(?![.,]\d|\d){ERA}"

FORMS = tuple(
    later(form)
    for form in (
        r"(?<![\d.,/-])(?P<year>\d{4})(?P<sign>[-/.])(?P<month>\d{1,2})(?P=sign)(?P<day>\d{1,2})(?![\d]|[.,/-]\d)",
        r"(?<!\d)(?P<year>\d{4})\s?[年년]\s?(?P<month>\d{1,2})\s?[月월](?:\s?(?P<day>\d{1,2})\s?[日일])?",
        r"(?<![\d.,/-])(?P<one>\d{1,2})(?P<sign>[./-]) ?(?P<two>\d{1,2})(?P=sign) ?"
        r"(?P<year>\d{4}|\d{2})(?![\d]|[.,/-]\d)",
        rf"(?<![\d.,/-]){DAY}{OF}[ -]?{MONTH}(?:{OF}[ ,-]{{1,2}}{YEAR})?",
        rf"(?<![\d.,/-])(?P<year>\d{{4}}),? {MONTH}(?: {DAY}(?!\d|[ ,]+\d{{4}}))",
        rf"(?<!\w){MONTH}{OF} ?{DAY}(?!\d|[.,:/-]\d)(?:{COMMA}(?:of )?{YEAR})?",
        rf"(?<!\w){MONTH}{OF}[ ,'-]{{1,2}}{YEAR}",
        rf"(?<![\d.,/-])(?P<year>\d{{4}}),? {MONTH}",
        r"(?<![\d.,/-])(?P<year>[12]\d{3})-(?P<month>0[1-9]|1[0-2])(?![\d-])",
        r"(?<![\w.,/$€£-])(?P<year>[12]\d{3})\s?[年년](?!\w)",
        rf"(?<![\w.,/$€£]){BARE_YEAR}(?![\w%])",
    )
)
BEFORE_CHRIST = later(r"b|pr|v|av|a\. ?c")


def folded(text: str) -> str:
    """Lower case without accents, of the same length wherever one sign is one letter.

    >>> folded("9. Října 1990")
    '9. rijna 1990'
    """
    text = text.replace("\u00a0", " ").replace("\u202f", " ").replace("\u2013", "-").replace("\u2019", "'")
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text).lower()
    # Й is a letter of its own; its breve stays.
    bare = re.sub(r"(?<![иИ])[\u0300-\u036f]", "", plain)
    return unicodedata.normalize("NFC", bare)


def dates(text: str, order: Order | None = None) -> Iterator[Dated]:
    """Every date of a text, in its order; of dates within dates the longest.

    `order` tells the day from the month in "03/04/2025"; without it such a date has two readings.

    >>> [str(day) for one in dates("From 9. listopadu 1990 to 03/04/2025") for day in one.readings]
    ['1990-11-09', '2025-04-03', '2025-03-04']
    """
    ready = folded(text)
    taken = bytearray(len(ready))
    found: list[Dated] = []
    for form in FORMS:
        for match in form.finditer(ready):
            if any(taken[match.start() : match.end()]):
                continue
            # What the calendar does not have is no date, and no part of it is one.
            taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
            if days := tuple(dict.fromkeys(day for day in meant(match, order) if is_day(day))):
                found.append(Dated(days, match[0].strip(" ,"), match.start()))
    return iter(sorted(found, key=lambda one: one.start))


def meant(match: re.Match[str], order: Order | None) -> Iterator[Day]:
    parts = match.groupdict()
    if "one" in parts:
        yield from in_order(match, order)
        return
    year = int(parts["year"]) if parts.get("year") else None
    if year is not None and BEFORE_CHRIST.match(parts.get("era") or ""):
        year = 1 - year  # astronomical: 1 BC is the year 0
    month = parts.get("month")
    number = None if month is None else int(month) if month.isdigit() else MONTHS[month]
    yield Day(year, number, int(parts["day"]) if parts.get("day") else None)


def in_order(match: re.Match[str], order: Order | None) -> Iterator[Day]:
    """The days that three numbers may mean: with points the day comes first."""
    one, two = int(match["one"]), int(match["two"])
    years = (
        [int(match["year"])]
        if len(match["year"]) == 4
        else [2000 + int(match["year"]), 1900 + int(match["year"])]
    )
    for year in years:
        if order != "mdy" or match["sign"] == ".":
            yield Day(year, two, one)
        if order != "dmy" and match["sign"] != ".":
            yield Day(year, one, two)


def is_day(day: Day) -> bool:
    """Whether the calendar has it."""
    if day.month is None:
        return True
    if not 1 <= day.month <= 12:
        return False
    year = (
        day.year if day.year is not None and day.year >= 1 else 4
    )  # a leap year, where the year is not said
    return day.day is None or 1 <= day.day <= monthrange(year, day.month)[1]


def whole_date(text: str, order: Order | None = None) -> Dated | None:
    """The date that a text is, with words like "on" or "circa" at most; None for other texts.

    >>> str(whole_date("on July 4, 1776").readings[0]), whole_date("1776 steps")
    ('1776-07-04', None)
    """
    if len(text) > 60:
        return None
    found = list(dates(text, order))
    if len(found) != 1:
        return None
    ready = folded(text)
    rest = ready[: found[0].start] + " " + ready[found[0].start + len(found[0].written) :]
    return found[0] if all(word in BESIDE for word in re.findall(r"\w+", rest)) else None


BESIDE_WORDS = """
on in at the since by circa c ca around about early late mid approximately year am im le el en du il dia day dne roku v
r ad bc bce года monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun
"""
BESIDE = frozenset(BESIDE_WORDS.split())
