"""What a 429 of Google's says about quotas: which one is used up, and whether waiting a minute can help."""

from __future__ import annotations

import re
from typing import Any

import orjson

_NOTHING = re.compile(r"limit:\s*0(?![.\d])")


def is_google(text: str) -> bool:
    """Whether a 429's body is Google's; its message speaks of plan and billing even for a limit per minute."""
    return "RESOURCE_EXHAUSTED" in text or "google.rpc.QuotaFailure" in text


def used_up(text: str) -> tuple[str, ...]:
    """The quotas that will not come back within minutes: those of a day, and those that are 0 from the start.

    >>> used_up('{"error": {"message": "limit: 20, please retry in 3s"}}')
    ()
    >>> used_up('{"error": {"message": "Quota exceeded for metric: x/requests, limit: 0"}}')
    ('a limit of 0',)
    """
    violations = _violations(text)
    named = [_name(v) for v in violations if "PerDay" in str(v.get("quotaId")) or _is_zero(v)]
    if not named and ("PerDay" in text or _NOTHING.search(text)):
        named = ["a quota per day" if "PerDay" in text else "a limit of 0"]
    return tuple(dict.fromkeys(named))


def _is_zero(violation: dict[str, Any]) -> bool:
    return str(violation.get("quotaValue")) == "0"


def _name(violation: dict[str, Any]) -> str:
    value = violation.get("quotaValue")
    return f"{violation.get('quotaId', 'a quota')}{'' if value is None else f' ({value})'}"


def _violations(text: str) -> list[dict[str, Any]]:
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        return []
    if isinstance(record, list) and record:  # some of Google's endpoints wrap the error in a list
        record = record[0]
    error = record.get("error") if isinstance(record, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    return [
        violation
        for detail in (details if isinstance(details, list) else [])
        if isinstance(detail, dict) and isinstance(detail.get("violations"), list)
        for violation in detail["violations"]
        if isinstance(violation, dict)
    ]
