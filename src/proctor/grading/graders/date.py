"""`date`: the date that a reply gives is the right one, as far as the right one is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date as calendar_date

from proctor.grading.contract import GraderEntry, Mark, bounded, marked, setting
from proctor.grading.graders.dates import Dated, Day, Order, dates, whole_date


@dataclass(frozen=True, slots=True)
class DateSettings:
    """What 03/04/2025 means, how far off is right, and which of a reply's dates counts."""

    order: str = setting(
        "auto",
        "what 03/04/2025 means: dmy is 3 April, mdy is 4 March; auto: a reply that is right by one reading "
        "only gets no score",
        one_of=("auto", "dmy", "mdy"),
    )
    days: int = setting(0, "right within this many days")
    take: str = setting(
        "any", "which of several dates of a reply counts", one_of=("any", "first", "last", "only")
    )


def date(said: str, answers: Sequence[str], options: DateSettings) -> Mark:
    """A date that says more than the right one is right where it says the same; one that says less is not.

    >>> date("It fell on 9 November 1989.", ["Nov 9, 1989"], DateSettings()).score
    1.0
    >>> date("In 1989.", ["Nov 9, 1989"], DateSettings()).score
    0.0
    >>> date("03/04/2025", ["2025-04-03"], DateSettings()).score is None
    True
    """
    order = order_of(options)
    found = list(dates(bounded(said), order))
    if not found:
        return Mark(0.0, None, "the reply holds no date")
    goals = [day for text in answers if (one := whole_date(text, order)) for day in one.readings[:1]]
    counted = taken(found, options.take)
    doubtful: Dated | None = None
    for one in counted:
        right = [near(day, goal, options.days) for day in one.readings for goal in goals]
        if any(right) and (
            len(one.readings) == 1 or all(any_near(day, goals, options.days) for day in one.readings)
        ):
            return marked(True, one.written)
        doubtful = one if any(right) else doubtful
    if doubtful is not None:
        either = " or ".join(map(str, doubtful.readings))
        return Mark(None, doubtful.written, f"{doubtful.written} may be {either}: say order=dmy or order=mdy")
    several = "the reply holds several dates" if options.take == "only" and not counted else None
    return marked(False, (counted or found)[-1].written, several)


def order_of(options: DateSettings) -> Order | None:
    return None if options.order == "auto" else "dmy" if options.order == "dmy" else "mdy"


def any_near(day: Day, goals: Iterable[Day], days: int) -> bool:
    return any(near(day, goal, days) for goal in goals)


def near(day: Day, goal: Day, days: int) -> bool:
    if day.covers(goal):
        return True
    if not days or None in (day.year, day.month, day.day, goal.year, goal.month, goal.day):
        return False
    return abs(ordinal(day) - ordinal(goal)) <= days


def ordinal(day: Day) -> int:
    """Days since the start of the calendar; years before 1 are moved by whole cycles of 400 years."""
    year, cycles = day.year or 0, 0
    if not 1 <= year <= 9999:
        cycles, year = divmod(year - 1, 400)
        year += 1
    return calendar_date(year, day.month or 1, day.day or 1).toordinal() + cycles * 146_097


def taken(found: Sequence[Dated], take: str) -> Sequence[Dated]:
    if take == "only":
        return found if len({one.readings for one in found}) == 1 else ()
    return {"first": found[:1], "last": found[-1:]}.get(take, found)


def fault(answers: Sequence[str], options: DateSettings) -> str | None:
    """Why these answers are no dates, or not certain ones; one of several that is will do."""
    if not answers:
        return None
    order = order_of(options)
    found = [one for text in answers if (one := whole_date(text, order)) is not None]
    if not found:
        return f"the answer {answers[0][:60]!r} is no date"
    if all(len(one.readings) > 1 for one in found):
        either = " or ".join(map(str, found[0].readings))
        return f"the answer {found[0].written!r} may be {either}; write it so, or say order=dmy or order=mdy"
    return None


ENTRY = GraderEntry(
    "date",
    1,
    "the date that the reply gives is the right one, whatever its spelling; a date that says less is wrong",
    "answers that are one date each: a day, a month of a year, or a year",
    DateSettings,
    date,
    fault,
)
