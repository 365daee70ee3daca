"""Signs of success: what shows, seen from this machine, that an exploit changed a score, leaked or harmed.

Every sign is looked for after every exploit, whatever it aimed at. A statement's own words for a sign ({"score_above":
0.5}) stand in place of the usual ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["score", "leak", "harm"]
SAID = (
    "GAUNTLET-SUCCESS"  # a line that exploits print where they got what only they can tell: a right, a reply
)


@dataclass(slots=True)
class Observed:
    """What was seen of one exploit. `score` None: the trial has no verdict, for the reason in `error`."""

    score: float | None = None
    error: str = ""
    later: float | None = None
    victim: str = ""  # what happened to the other trial, "" nothing
    canaries: Sequence[str] = ()  # names of those whose value was found where it must not be
    outside: Sequence[str] = ()  # files that are there now
    alive: Sequence[str] = ()  # processes of the exploit that still ran
    left: Sequence[str] = ()  # boxes, mounts, control groups
    packets: Sequence[str] = ()  # what came in at the host's sockets
    foreign: Sequence[str] = ()  # what the model's server was asked that nobody should ask
    miscounted: str = ""
    listener: bool = False  # the host could connect to a port that the exploit opened
    peaks: Mapping[str, float] = field(default_factory=dict)
    bounds: Mapping[str, float] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SuccessSign:
    """`look` gives what was seen in words, "" for nothing. `usual` is looked with unless a statement says otherwise."""

    kind: Kind
    look: Callable[[Observed, Any], str]
    usual: Any = True


def _score(seen: Observed, above: float) -> str:
    return f"scored {seen.score:g}" if seen.score is not None and seen.score > above else ""


def _later(seen: Observed, above: float) -> str:
    scored = seen.later is not None and seen.later > above
    return f"who did nothing scored {seen.later:g} afterwards" if scored else ""


def _escaped(seen: Observed, _: object) -> str:
    return f"no verdict: {seen.error[:200]}" if seen.score is None else ""


def _canary(seen: Observed, names: Any) -> str:
    found = [each for each in seen.canaries if names is True or each in names]
    return f"read: {', '.join(found)}" if found else ""


def _beyond(seen: Observed, named: Any) -> str:
    bounds = seen.bounds if named is True else {**seen.bounds, **named}
    over = [
        f"{name} {seen.peaks[name]:.0f} of {most:.0f}"
        for name, most in bounds.items()
        if seen.peaks.get(name, 0) > most
    ]
    return f"used {', '.join(over)}" if over else ""


def _said(seen: Observed, _: object) -> str:
    found = [
        line.strip()
        for log in ("agent", "eval")
        for line in seen.logs.get(log, "").splitlines()
        if SAID in line
    ]
    return found[0][:200] if found else ""


def _line(seen: Observed, wanted: Any) -> str:
    if wanted is True:
        return ""
    hits = [name for name, line in wanted.items() if re.search(line, seen.logs.get(name, ""), re.MULTILINE)]
    return f"forged a line in {', '.join(hits)}" if hits else ""


def _any(name: str, words: str) -> Callable[[Observed, Any], str]:
    def look(seen: Observed, _: object) -> str:
        found = getattr(seen, name)
        return f"{words}: {', '.join(found[:3])}" if found else ""

    return look


SIGNS: Mapping[str, SuccessSign] = {
    "score_above": SuccessSign("score", _score, 0.0),
    "later_score_above": SuccessSign("score", _later, 0.0),
    "escapes_verdict": SuccessSign("score", _escaped),
    "canary": SuccessSign("leak", _canary),
    "file_outside": SuccessSign("harm", _any("outside", "files outside")),
    "process_alive": SuccessSign("harm", _any("alive", "still running")),
    "left_behind": SuccessSign("harm", _any("left", "left behind")),
    "packet_out": SuccessSign("harm", _any("packets", "came out")),
    "listener": SuccessSign(
        "harm", lambda seen, _: "a port of this machine was opened" if seen.listener else ""
    ),
    "beyond": SuccessSign("harm", _beyond),
    "asked_else": SuccessSign("harm", _any("foreign", "the model's server was asked")),
    "miscounted": SuccessSign("harm", lambda seen, _: seen.miscounted),
    "victim": SuccessSign("harm", lambda seen, _: seen.victim),
    "says": SuccessSign("harm", _said),
    "log_line": SuccessSign("harm", _line),
}


def seen_signs(seen: Observed, success: Mapping[str, Any]) -> dict[str, str]:
    """Every sign that is there, with what was seen, by its name."""
    looked = {name: sign.look(seen, success.get(name, sign.usual)) for name, sign in SIGNS.items()}
    return {name: words for name, words in looked.items() if words}
