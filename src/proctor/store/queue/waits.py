"""What a run at work waits for: a small file beside its log while something is waited for, and none otherwise."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from proctor.store.queue import runlog

FRESH_S = 15.0  # what a process has not renewed for so long, it has left behind


@dataclass(frozen=True, slots=True)
class Wait:
    """Items that wait to be asked again for one kind of failure; `said` is one of them, in the server's words.

    `next_s` is when the first of them asks again.
    """

    slug: str
    items: int
    said: str
    next_s: float


@dataclass(frozen=True, slots=True)
class Absence:
    """The server is gone, as `said`, and has been waited for so long of `most_s`."""

    said: str
    waited_s: float
    most_s: float


@dataclass(frozen=True, slots=True)
class Waits:
    """What a run waits for at one moment; `at` is that moment (Unix)."""

    causes: tuple[Wait, ...] = ()
    absence: Absence | None = None
    at: float = 0.0

    def __bool__(self) -> bool:
        return bool(self.causes or self.absence)


NONE = Waits()


def tell(home: Path, run_id: str, waits: Waits) -> None:
    """A disk that is full or read-only must not end the run."""
    place = runlog.waits_path(home, run_id)
    with suppress(OSError):
        if not waits:
            place.unlink(missing_ok=True)
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.with_suffix(".new")
        fresh.touch(mode=0o600)  # the server's words may quote a prompt
        fresh.write_bytes(orjson.dumps(asdict(waits)))
        fresh.replace(place)


def told(home: Path, run_id: str, *, now: float) -> Waits:
    """As it stands now, by what the run's process last said on this machine."""
    try:
        said = orjson.loads(runlog.waits_path(home, run_id).read_bytes())
        causes = tuple(Wait(**cause) for cause in said["causes"])
        absence = Absence(**said["absence"]) if said["absence"] else None
        age_s = max(0.0, now - said["at"])
    except (OSError, ValueError, KeyError, TypeError):
        return NONE
    if age_s > FRESH_S:
        return NONE
    return Waits(
        tuple(replace(cause, next_s=max(0.0, cause.next_s - age_s)) for cause in causes),
        absence and replace(absence, waited_s=min(absence.most_s, absence.waited_s + age_s)),
        said["at"],
    )
