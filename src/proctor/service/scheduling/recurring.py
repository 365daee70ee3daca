"""When a schedule comes, as people say it: hourly, daily, on weekdays, weekly, monthly; and the same as cron and back.

All times are in UTC, as `schedules.next_time` reads them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from proctor.errors import ConfigError
from proctor.figures import listed
from proctor.service.runs.schedules import next_time

Every = Literal["hourly", "daily", "weekdays", "weekly", "monthly", "cron"]
CHOICES: Sequence[tuple[Every, str]] = (
    ("hourly", "Every hour"),
    ("daily", "Every day"),
    ("weekdays", "Weekdays"),
    ("weekly", "Weekly"),
    ("monthly", "Monthly"),
    ("cron", "Cron expression"),
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")  # cron's 1 to 7
LAST = 0  # the day of a month that is its last
MOST_DAY = 28  # which every month has
_TIMED = re.compile(r"(\d{1,2}) (\d{1,2}) (\*|\d{1,2}|L) \* (\*|1-5|[0-7](?:,[0-7])*)", re.IGNORECASE)
_HOURLY = re.compile(r"(\d{1,2}) \* \* \* \*")
_ALIASES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
}


@dataclass(frozen=True, slots=True)
class Recurring:
    """When something comes again. `days` are weekdays, 1 is Monday and 7 Sunday; `day` is a month's, 0 its last.

    `cron` is the expression where `every` is "cron", and "" else. What a kind does not need stays as it is.
    """

    every: Every = "daily"
    hour: int = 2
    minute: int = 0
    days: tuple[int, ...] = (1,)
    day: int = 1
    cron: str = ""

    @property
    def at(self) -> str:
        """The time of day, as inputs of forms write it."""
        return f"{self.hour:02}:{self.minute:02}"


def cron_of(of: Recurring) -> str:
    """The same as a cron expression.

    >>> cron_of(Recurring()), cron_of(Recurring("weekly", 6, 30, days=(1, 4)))
    ('0 2 * * *', '30 6 * * 1,4')
    >>> cron_of(Recurring("monthly", day=LAST)), cron_of(Recurring("hourly", minute=15))
    ('0 2 L * *', '15 * * * *')
    """
    match of.every:
        case "hourly":
            return f"{of.minute} * * * *"
        case "daily":
            return f"{of.minute} {of.hour} * * *"
        case "weekdays":
            return f"{of.minute} {of.hour} * * 1-5"
        case "weekly":
            return f"{of.minute} {of.hour} * * {','.join(map(str, of.days))}"
        case "monthly":
            return f"{of.minute} {of.hour} {of.day or 'L'} * *"
        case "cron":
            return of.cron


def recurring_of(cron: str) -> Recurring:
    """What an expression means, where there is a word for it; else the expression itself.

    >>> recurring_of("0 2 * * *"), recurring_of("@weekly").days
    (Recurring(every='daily', hour=2, minute=0, days=(1,), day=1, cron=''), (7,))
    >>> recurring_of("*/15 * * * *").every, recurring_of("0 2 13 * 5").every, recurring_of("0 2 31 * *").every
    ('cron', 'cron', 'cron')
    """
    plain = Recurring("cron", cron=cron)
    text = " ".join(_ALIASES.get(cron.strip().lower(), cron).split())
    if found := _HOURLY.fullmatch(text):
        return replace(plain, every="hourly", minute=int(found[1]), cron="") if int(found[1]) < 60 else plain
    found = _TIMED.fullmatch(text)
    if found is None or int(found[1]) > 59 or int(found[2]) > 23:
        return plain
    timed = Recurring("daily", int(found[2]), int(found[1]))
    day, days = found[3].upper(), found[4]
    if day != "*":
        number = LAST if day == "L" else int(day)
        whole = days == "*" and number <= MOST_DAY and (number or day == "L")
        return replace(timed, every="monthly", day=number) if whole else plain
    if days == "*":
        return timed
    if days == "1-5":
        return replace(timed, every="weekdays")
    named = tuple(sorted({int(each) or 7 for each in days.split(",")}))
    return replace(timed, every="weekly", days=named)


def in_words(cron: str) -> str:
    """When it comes, for people; the expression itself where there is no short way to say it.

    >>> in_words("0 2 * * *"), in_words("30 6 * * 1-5"), in_words("15 * * * *")
    ('every day at 02:00', 'Monday to Friday at 06:30', 'every hour at 15 minutes past')
    >>> in_words("0 2 * * 1,5"), in_words("0 2 1 * *"), in_words("0 2 L * *")
    ('every Monday and Friday at 02:00', 'on day 1 of each month at 02:00', 'on the last day of each month at 02:00')
    >>> in_words("*/15 * * * *"), in_words("@hourly")
    ('cron */15 * * * *', 'every hour on the hour')
    """
    of = recurring_of(cron)
    match of.every:
        case "hourly":
            return f"every hour at {of.minute} minutes past" if of.minute else "every hour on the hour"
        case "daily":
            return f"every day at {of.at}"
        case "weekdays":
            return f"Monday to Friday at {of.at}"
        case "weekly":
            return f"every {listed([DAYS[day - 1] for day in of.days])} at {of.at}"
        case "monthly":
            which = f"day {of.day}" if of.day else "the last day"
            return f"on {which} of each month at {of.at}"
        case "cron":
            return f"cron {cron}"


def read(form: Mapping[str, str], days: Sequence[str] = ()) -> Recurring:
    """What a form says: `every`, `at`, `minute`, `day`, `cron`; a form with `cron` alone is an expression.

    Raises: ConfigError naming what cannot be meant.

    >>> cron_of(read({"every": "weekly", "at": "06:30"}, ["1", "4"]))
    '30 6 * * 1,4'
    """
    every = form.get("every") or ("cron" if form.get("cron") else "daily")
    known = {name: name for name, _ in CHOICES}
    if every not in known:
        raise ConfigError(f"When {every[:20]!r}: choose from {', '.join(known)}")
    if every == "cron":
        return Recurring("cron", cron=form.get("cron", "").strip())
    hour, minute = (0, _number(form.get("minute"), "Minute", 0, 59)) if every == "hourly" else _time(form)
    if every == "weekly" and not days:
        raise ConfigError("Weekly: tick at least one day of the week")
    chosen = sorted({_number(day, "Day of the week", 1, 7) for day in days}) if every == "weekly" else [1]
    told = form.get("day", "1")
    day = LAST if told == "last" or every != "monthly" else _number(told, "Day of the month", 1, MOST_DAY)
    return Recurring(known[every], hour, minute, tuple(chosen), day if every == "monthly" else 1)


def _time(form: Mapping[str, str]) -> tuple[int, int]:
    at = form.get("at", "02:00")
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)(?::\d\d)?", at, re.ASCII)
    if found is None:
        raise ConfigError(f"At {at[:20]!r}: give a time of day in UTC, such as 02:00")
    return int(found[1]), int(found[2])


def _number(text: str | None, what: str, low: int, high: int) -> int:
    text = (text or "").strip() or str(low)
    if not (text.isascii() and text.isdecimal() and len(text) < 4 and low <= int(text) <= high):
        raise ConfigError(f"{what} {text[:20]!r}: give {low} to {high}")
    return int(text)


def next_times(cron: str, after: float, count: int = 3) -> list[float]:
    """The next times (Unix seconds) that the expression names. Raises: ConfigError, as `next_time`.

    >>> next_times("0 2 * * *", 0.0)
    [7200.0, 93600.0, 180000.0]
    """
    found: list[float] = []
    for _ in range(count):
        found.append(next_time(cron, found[-1] if found else after))
    return found
