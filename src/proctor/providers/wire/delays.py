"""How long a server asks us to wait: Retry-After in its many forms, reset headers, and delays in the body."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime

from proctor.grading.patterns import later

_DURATION = later(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
# Of the whole text, in time that grows with its length.
_DURATIONS = later(r"(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+")
MOST_S = 1e9  # nobody means longer, and no clock of ours waits longer
_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# "Please retry in 53.2s", "try again in 1m2s", and the field `"retryDelay": "53s"`.
_IN_BODY = later(r'(?:(?:retry|again) in |"retryDelay"\s*:\s*")((?:\d+(?:\.\d+)?(?:ms|s|m|h))+)')


def retry_after_s(headers: Mapping[str, str], body: str = "", *, now: float | None = None) -> float | None:
    """Seconds the server asks to wait, or None if it does not say.

    Looked for in this order: `retry-after-ms`, `Retry-After` (seconds, a duration, an HTTP date), the
    body's own words, the largest `x-ratelimit-reset-*`. `now` is Unix time, for dates.

    >>> retry_after_s({"Retry-After": "2"}), retry_after_s({}, "Please retry in 1m0.5s."), retry_after_s({})
    (2.0, 60.5, None)
    """
    if (text := headers.get("retry-after-ms")) and (number := _number(text)) is not None:
        return number / 1000
    if text := headers.get("Retry-After", headers.get("retry-after")):
        return parse_delay(text, now=now)
    if found := _IN_BODY.search(body):
        return parse_delay(found[1])
    resets = [
        parse_delay(value) for name, value in headers.items() if name.lower().startswith("x-ratelimit-reset")
    ]
    return max((r for r in resets if r is not None), default=None)


def parse_delay(text: str, *, now: float | None = None) -> float | None:
    """Seconds from "7", "1.5s", "6m0s", "20ms", an HTTP date or an ISO one with its zone; None if it is none of them.

    >>> parse_delay("6m0s"), parse_delay("20ms"), parse_delay("soon")
    (360.0, 0.02, None)
    """
    text = text.strip()
    if (number := _number(text)) is not None:
        return number
    if _DURATIONS.fullmatch(text):
        whole = sum(float(amount) * _UNITS_S[unit] for amount, unit in _DURATION.findall(text))
        return whole if whole < MOST_S else None
    at = _date(text)
    wait_s = None if at is None else max(0.0, at - (time.time() if now is None else now))
    return wait_s if wait_s is None or wait_s < MOST_S else None


def _date(text: str) -> float | None:
    """Unix time; None also for dates beyond what it counts."""
    try:
        when = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        try:
            when = datetime.fromisoformat(text)
        except ValueError:
            return None
        if not when.tzinfo:
            return None
    try:
        return when.timestamp()
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < MOST_S else None
