"""Why a run does not go on just now, while it waits: requests to be sent again, by cause, and a server that is gone."""

from __future__ import annotations

import time
from pathlib import Path

from proctor.engine.attempts import Traffic, Waiting
from proctor.errors import in_one_line
from proctor.figures import duration
from proctor.store.queue import waits
from proctor.store.queue.waits import NONE, Absence, Wait, Waits

__all__ = ["NONE", "Absence", "Wait", "Waits", "told", "waits_of", "words"]

SAID_CHARACTERS = 200


def waits_of(traffic: Traffic) -> Waits:
    """What the items under way wait for at this moment."""
    away = traffic.outage and traffic.outage.away
    if not traffic.waiting and not away:
        return NONE
    now = time.monotonic()
    by_slug: dict[str, list[Waiting]] = {}
    for waiting in traffic.waiting.values():
        by_slug.setdefault(waiting.slug, []).append(waiting)
    causes = [
        Wait(
            slug,
            len(these),
            _short(these[-1].said),
            max(0.0, min(waiting.until for waiting in these) - now),
        )
        for slug, these in by_slug.items()
    ]
    causes.sort(key=lambda cause: -cause.items)
    absence = Absence(_short(away.said), now - away.began, away.most_s) if away else None
    return Waits(tuple(causes), absence, time.time())


def told(home: Path, run_id: str) -> Waits:
    """What the process of a run on this machine last said that it waits for."""
    return waits.told(home, run_id, now=time.time())


def words(of: Waits) -> list[str]:
    """A sentence for each thing that is waited for, what weighs most first.

    >>> words(Waits((Wait("rate-limited", 3, "openai at http://h answered 429: slow down", 1.84),)))
    ['3 waiting, next in 1.8 s: rate-limited, "openai at http://h answered 429: slow down"']
    >>> words(Waits((), Absence("http://h: cannot connect (Connection refused)", 34.2, 120.0)))
    ['waiting for the server, 34 s of 2 min: http://h: cannot connect (Connection refused)']
    """
    said = []
    if of.absence is not None:
        waited, most = duration(round(of.absence.waited_s)), duration(of.absence.most_s)
        said.append(f"waiting for the server, {waited} of {most}: {of.absence.said}")
    for cause in of.causes:
        when = f"next in {duration(cause.next_s)}" if cause.next_s >= 0.05 else "next at once"
        said.append(f'{cause.items:,} waiting, {when}: {cause.slug}, "{cause.said}"')
    return said


def _short(text: str) -> str:
    line = in_one_line(text)
    return line if len(line) <= SAID_CHARACTERS else f"{line[: SAID_CHARACTERS - 1]}…"
