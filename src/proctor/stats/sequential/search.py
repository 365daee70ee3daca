"""What all walks have in common: their looks, and the smallest level at which they would have stopped."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from proctor.findings.looks import PathPoint
from proctor.stats.sequential.spending import Step, levels

AT_ONCE = 48  # levels
COARSE = 20


@dataclass(frozen=True, slots=True)
class Look:
    """After `t` items: where the walk was, and from where on it stopped (infinite: nothing could stop it).

    `shrunk` is what the walk is multiplied with before it is set against paths of other signs.
    """

    t: int
    walk: float
    bound: float
    shrunk: float = 1.0


class Walk(Protocol):
    """A sequential test of a pair, look by look."""

    n: int
    alpha: float
    test: str
    points: list[PathPoint]
    crossed: bool
    critical: float | None
    spread: float

    def look(self, t: int, steps: Sequence[Step]) -> PathPoint:
        """The walk after `t` items, of which `steps` are new since the last look."""

    @property
    def p_value(self) -> float:
        """The smallest level from which on, up to alpha, every level would have stopped by now."""


class Searched(ABC):
    """A walk's looks, and its p-value."""

    test: str

    def __init__(self, n: int, alpha: float) -> None:
        self.n = n
        self.alpha = alpha
        self.test = type(self).test.format(alpha=alpha)
        self.looks: list[Look] = []
        self.points: list[PathPoint] = []
        self.crossed = False
        self.critical: float | None = None
        self._levels = levels(alpha)
        self._known: tuple[int, float] | None = None

    @abstractmethod
    def _stops(self, at: Sequence[float]) -> list[bool]:
        """Whether the walk would have been stopped by now at each of these levels."""

    def _ordered(self, t: int) -> None:
        last = self.looks[-1].t if self.looks else 0
        if not last < t <= self.n:
            raise ValueError(
                f"a look at {t} items does not go on from {last}, or beyond the {self.n} planned"
            )

    def _looked(self, look: Look) -> PathPoint:
        self.looks.append(look)
        self.crossed = self.crossed or abs(look.walk) >= look.bound
        self.points.append(PathPoint(look.t, look.walk, look.bound if math.isfinite(look.bound) else None))
        return self.points[-1]

    @property
    def p_value(self) -> float:
        """The smallest level from which on, up to alpha, every level would have stopped by now.

        Of a walk that has not crossed: the smallest from which on every level up to 1 would have. Levels are a
        fixed grid, so P(p <= a) <= a for every a up to alpha, however often is looked.
        """
        if self._known is None or self._known[0] != len(self.looks):
            self._known = len(self.looks), self._searched()
        return self._known[1]

    def _searched(self) -> float:
        every = self._levels
        if not self.crossed:
            below = every.index(self.alpha)
            coarse = list(range(0, below, COARSE))
            last = self._unstopped(coarse)
            if last is None:
                last = coarse[-1]
                after = below
            else:
                after, last = coarse[last], coarse[max(0, last - 1)]
            fine = list(range(last, after + 1))
            found = self._unstopped(fine)
            return every[max(0, (after if found is None else fine[found]) - 1)]
        for first in range(every.index(self.alpha), len(every), AT_ONCE):
            at = list(range(first, min(len(every), first + AT_ONCE)))
            if (found := self._unstopped(at)) is not None:
                return every[at[found] - 1]
        return every[-1]

    def _unstopped(self, at: Sequence[int]) -> int | None:
        """Which of these levels is the first at which the walk goes on."""
        stopped = self._stops([self._levels[i] for i in at])
        return None if all(stopped) else stopped.index(False)
