"""What all walks have in common: their looks, and the smallest level at which they would have stopped."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from proctor.findings.looks import PathPoint
from proctor.stats.sequential.spending import Step, levels

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

AT_ONCE = 48  # levels
COARSE = 16
CLOSE = (
    1e-9  # sums in another order differ in their last bits: what is as close, in parts of the whole, is equal
)


@dataclass(frozen=True, slots=True)
class LookTaken:
    """After `t` items: where the walk was, and from where on it stopped (infinite: nothing could stop it).

    `shrunk` is what the walk is multiplied with before it is set against paths of other signs.
    """

    t: int
    walk: float
    bound: float
    shrunk: float = 1.0

    def stopped(self, bounds: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether it would have stopped where these are the boundaries, those of the walk as it is shrunk."""
        found: np.ndarray[tuple[int], np.dtype[np.bool_]] = abs(self.walk) * self.shrunk >= bounds * (
            1 - CLOSE
        )
        return found


class SequentialWalk(Protocol):
    """A sequential test of a pair, look by look.

    `span` is what a single item adds to the walk at most, as far as is known; a sign walk has no use for it.
    """

    n: int
    alpha: float
    test: str
    walk: float
    span: float
    points: list[PathPoint]
    crossed: bool
    critical: float | None

    @property
    def spread(self) -> float:
        """The standard deviation of the walk if both are equally good."""

    @property
    def p_value(self) -> float:
        """The smallest level from which on, up to alpha, every level would have stopped by now."""

    def look(self, t: int, steps: Sequence[Step]) -> PathPoint:
        """The walk after `t` items, of which `steps` are new since the last look."""


class Front(Protocol):
    """How a walk's looks came out at several levels at once."""

    def passed(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Whether the look of this number, counted from 0, stopped (levels); looks are passed in their order."""


@dataclass(slots=True)
class _Block:
    """Neighbouring levels, how far they were followed, and at which of them the walk was stopped."""

    first: int
    front: Front
    stopped: np.ndarray[tuple[int], np.dtype[np.bool_]]
    looks: int = 0

    def follow(self, looks: int) -> int | None:
        """The first level at which the walk goes on after so many looks; None where it goes on at none."""
        for number in range(self.looks, looks):
            self.stopped |= self.front.passed(number)
        self.looks = looks
        return None if self.stopped.all() else self.first + int(self.stopped.argmin())


class Levelled(ABC):
    """A walk's looks, and its p-value."""

    test: str

    def __init__(self, n: int, alpha: float) -> None:
        if n < 1 or not 0 < alpha < 1:
            raise ValueError(
                f"a walk needs an item and a level between 0 and 1, not n = {n}, alpha = {alpha:g}"
            )
        self.n = n
        self.alpha = alpha
        self.test = type(self).test.format(alpha=alpha)
        self.walk = 0.0
        self.span = 0.0
        self.looks: list[LookTaken] = []
        self.points: list[PathPoint] = []
        self.crossed = False
        self.critical: float | None = None
        self._levels = levels(alpha)  # falling
        self._least = self._most = math.inf
        self._block: _Block | None = None
        self._known: tuple[int, float] | None = None

    @abstractmethod
    def _front(self, at: Sequence[float]) -> Front:
        """A front at these levels, before the first look."""

    def _ordered(self, t: int) -> None:
        last = self.looks[-1].t if self.looks else 0
        if not last < t <= self.n:
            raise ValueError(
                f"a look at {t} items does not go on from {last}, or beyond the {self.n} planned"
            )

    def _looked(self, look: LookTaken, tail: float, grain: float = 0.0) -> PathPoint:
        """Take a look down; `tail` is the probability of coming as far at this look, known to `grain`."""
        share, before = (look.t / self.n) ** 2, (self.looks[-1].t / self.n) ** 2 if self.looks else 0.0
        # At least what is spent up to here, at most what is spent between these two looks, must pay for the tail.
        self._least = min(self._least, (tail - grain) / share)
        self._most = min(self._most, (tail + grain) / (share - before))
        self.looks.append(look)
        self.crossed = self.crossed or abs(look.walk) >= look.bound
        self.points.append(PathPoint(look.t, look.walk, look.bound if math.isfinite(look.bound) else None))
        return self.points[-1]

    @property
    def p_value(self) -> float:
        """The smallest level from which on, up to alpha, every level would have stopped by now; 1 before any look.

        Levels are a fixed grid, so P(p <= a) <= a for every a up to alpha, however often is looked. A walk that has
        not crossed has a p-value above alpha, which decides nothing and is found by halving.
        """
        if self._known is None or self._known[0] != len(self.looks):
            self._known = len(self.looks), self._followed() if self.crossed else self._halved()
        return self._known[1]

    def _followed(self) -> float:
        """Level by level down from alpha, or from where all are sure to have stopped."""
        every, start = self._levels, self._levels.index(self.alpha)
        if self._block is None:
            self._block = self._begun(start)
        while (first := self._block.follow(len(self.looks))) is None:
            start = self._block.first + AT_ONCE
            if start >= len(every):
                return every[-1]
            self._block = self._begun(start)
        return every[max(first - 1, self._levels.index(self.alpha))]

    def _begun(self, start: int) -> _Block:
        import numpy as np

        sure = bisect_right(self._levels, -self._most, key=lambda level: -level)
        start = max(start, min(sure - 1, len(self._levels) - 1))
        at = self._levels[start : start + AT_ONCE]
        return _Block(start, self._front(at), np.zeros(len(at), dtype=bool))

    def _halved(self) -> float:
        every = self._levels
        stops, goes = 0, every.index(self.alpha)
        # Below the least level that could have stopped it none has.
        goes = min(goes, bisect_left(every, -self._least, key=lambda level: -level) + 1)
        while goes - stops > 1:
            width = max(1, (goes - stops) // COARSE)
            places = list(range(stops + 1, goes, width))
            stopped = self._at([every[place] for place in places])
            here = len(places) if all(stopped) else stopped.index(False)
            stops, goes = (
                places[here - 1] if here else stops,
                places[here] if here < len(places) else goes,
            )
        return every[stops]

    def _at(self, at: Sequence[float]) -> list[bool]:
        import numpy as np

        block = _Block(0, self._front(at), np.zeros(len(at), dtype=bool))
        block.follow(len(self.looks))
        found: list[bool] = block.stopped.tolist()
        return found
