"""Several pairs that are looked at side by side: which are decided, at which look, and at what level."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from proctor.findings.looks import PathEnd

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PairLook:
    """What decisions need of a look; `p_value` None: no level in use would have decided it by now."""

    p_value: float | None
    futile: bool


class Staged(Protocol):
    """A pair and its looks, counted from 1. A p-value only ever falls from look to look."""

    @property
    def planned(self) -> int: ...

    @property
    def looks(self) -> int: ...

    def items(self, looks: int) -> int: ...

    def stage(self, looks: int) -> PairLook: ...


@dataclass(slots=True)
class End:
    """How a pair stands: after how many of its looks, how it ended, and the level that it has, or had, to reach."""

    looks: int = 0
    ended: PathEnd = "open"
    alpha: float = 0.0
    p_value: float = 1.0


def ends(pairs: Mapping[K, Staged], alpha: float) -> dict[K, End]:
    """Where each pair ends, with Holm's correction over all of them at every stage of the items.

    A stage is a number of items: each pair brings the p-value of its last look up to there, and those that Holm's
    procedure rejects are decided. A sequential p-value only ever falls, so who is decided stays so, and with more rows
    no pair is decided later. Futile pairs stay in the family with the p-value that they ended with. So it depends on
    the pairs' own rows alone, whichever run was ahead.
    """
    found = {pair: End() for pair in pairs}
    stages = {each.items(looks) for each in pairs.values() for looks in range(1, each.looks + 1)}
    for items in sorted(stages):
        looked = [pair for pair in pairs if _looked(pairs[pair], found[pair], items)]
        _decide(found, alpha)
        for pair in looked:
            end = found[pair]
            if end.ended == "open" and pairs[pair].stage(end.looks).futile:
                end.ended, end.alpha = "futile", alpha / _family(found)
        if all(end.ended != "open" for end in found.values()):
            break
    for pair, end in found.items():
        if end.ended == "open":
            end.alpha = alpha / _family(found)
            if pairs[pair].items(end.looks) == pairs[pair].planned:
                end.ended = "whole"
    return found


def _looked(pair: Staged, end: End, items: int) -> bool:
    """Take in an open pair's look at so many items; whether it has one."""
    if end.ended != "open" or end.looks == pair.looks or pair.items(end.looks + 1) != items:
        return False
    end.looks += 1
    p = pair.stage(end.looks).p_value
    end.p_value = end.p_value if p is None else min(end.p_value, p)
    return True


def _family(found: Mapping[K, End]) -> int:
    """How many pairs are not decided: what alpha is divided by for the next of them (Holm 1979)."""
    return sum(1 for end in found.values() if end.ended != "decided")


def _decide(found: Mapping[K, End], alpha: float) -> None:
    while (left := _family(found)) and (
        now := next((e for e in found.values() if e.ended == "open" and e.p_value <= alpha / left), None)
    ):
        now.ended, now.alpha = "decided", alpha / left
