"""The walk of everything that is a mean of units: clusters, graded scores, repeats, weights, with signs flipped."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from proctor.findings.looks import PathPoint
from proctor.stats.sequential.search import Look, Searched
from proctor.stats.sequential.spending import Step, budget

if TYPE_CHECKING:
    from proctor.stats.metrics import Array

PATHS = 32_768
CLOSE = (
    1e-9  # sums in another order differ in their last bits: what is as close, in parts of the whole, is equal
)
ADDED = 4  # items, half of them each way


def transformed(values: Array) -> Array:
    """The Walsh-Hadamard transform: at place p the sum of values[h] (-1)^(bits that p and h share). Length 2^k.

    >>> import numpy
    >>> transformed(numpy.array([1.0, 2.0, 0.0, 0.0])).tolist()
    [3.0, -1.0, 3.0, -1.0]
    """
    found, half = values.copy(), 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        low, high = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        pairs[:, 0], pairs[:, 1] = low, high
        half *= 2
    return found


class FlipFront:
    """Which of the paths have not been cut, at several levels at once; path 0 is the observed one."""

    def __init__(self, at: Sequence[float], n: int, paths: int) -> None:
        import numpy as np

        self.n, self.at = n, np.array(at)
        self.spent = np.zeros(len(at), dtype=np.int64)
        self.alive = np.ones((len(at), paths), dtype=bool)

    def advance(self, t: int, sizes: Array) -> Array:
        """Cut at `t` items paths of such sizes: the boundaries (levels), infinite where nothing is cut."""
        import numpy as np

        paths = len(sizes)
        allowed = np.floor(budget(1.0, t, self.n) * self.at * paths).astype(np.int64)
        found = np.full(len(self.at), math.inf)
        if not allowed.max():
            return found
        most = min(paths, int(allowed.max()) + 1)
        top = np.argpartition(sizes, paths - most)[paths - most :]
        top = top[np.argsort(-sizes[top], kind="stable")]
        far = sizes[top]
        alive = self.alive[:, top]
        ranks = np.cumsum(alive, axis=1)
        left = allowed - self.spent
        for i in range(len(self.at)):
            first = int(np.searchsorted(ranks[i], left[i] + 1))  # the first that may not be cut any more
            least = far[first] * (1 + CLOSE) if first < most else -math.inf
            cut = alive[i] & (far > least)
            if cut.any():
                found[i] = far[cut].min()
                self.alive[i, top[cut]] = False
                self.spent[i] += int(cut.sum())
            elif self.spent[i]:
                found[i] = least * (1 + CLOSE)  # nothing that is left comes so far
        return found


class FlipWalk(Searched):
    """A walk of weighted differences of units, set against what it were with other signs of the units.

    If both are equally good, a unit's differences are as likely turned round. The signs of the paths make a group
    (each path turns a unit by the bits that the path's number and a hash of `key` and unit share), the observed
    path among them, so the level holds exactly with any number of paths (Hemerik and Goeman 2018, TEST 27:811). At
    every look at most budget * paths paths have been cut in all, ties together, and the observed one stops where it
    would be cut. `span` is what an item adds to the walk at most: four such items are added, two each way, to what
    the walk varies by, so that scores that hardly ever differ much are not taken for scores that never do.
    """

    test = "sign-flip walk, spending {alpha:g} (t/N)^2"

    def __init__(
        self, n: int, alpha: float = 0.05, *, paths: int = PATHS, key: str = "", span: float = 0.0
    ) -> None:
        import numpy as np

        if paths < 2 or paths & (paths - 1):
            raise ValueError(f"the paths of a sign-flip walk are a power of two, not {paths}")
        super().__init__(n, alpha)
        self.paths, self.key, self.span = paths, key, span
        self._front = FlipFront([alpha], n, paths)
        self._sums = np.zeros(paths)
        self._units: dict[Hashable, float] = {}
        self._history: list[tuple[int, list[tuple[int, float]]]] = []
        self._alone = 0
        self.walk = 0.0

    def look(self, t: int, steps: Sequence[Step]) -> PathPoint:
        """The walk after `t` items, of which `steps` are new since the last look.

        A step without a unit is one of its own. Raises ValueError where `t` does not go on.
        """
        self._ordered(t)
        added = []
        for step in steps:
            unit, difference = step if isinstance(step, tuple) else (("step", self._next()), step)
            self._units[unit] = self._units.get(unit, 0.0) + difference
            self.walk += difference
            if difference:
                added.append((self._place(unit), difference))
        self._history.append((t, added))
        spread, shrunk = self.spread, self._shrunk()
        bound = float(self._front.advance(t, self._sizes(self._sums, added))[0]) * (1 - CLOSE) / shrunk
        self.critical = bound / spread if math.isfinite(bound) and spread > 0 else None
        return self._looked(Look(t, self.walk, bound, shrunk))

    @property
    def spread(self) -> float:
        """The standard deviation of the walk over all signs, with the items added."""
        return math.sqrt(math.fsum(d * d for d in self._units.values()) + ADDED * self.span**2)

    def _shrunk(self) -> float:
        spread = self.spread
        seen = math.sqrt(math.fsum(d * d for d in self._units.values()))
        return seen / spread if seen > 0 else 1.0

    def _next(self) -> int:
        self._alone += 1
        return self._alone

    def _place(self, unit: Hashable) -> int:
        digest = hashlib.blake2b(f"{self.key}\n{unit!r}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.paths

    @staticmethod
    def _sizes(sums: Array, added: Sequence[tuple[int, float]]) -> Array:
        import numpy as np

        for place, difference in added:
            sums[place] += difference
        return np.abs(transformed(sums))

    def _stops(self, at: Sequence[float]) -> list[bool]:
        import numpy as np

        front, stopped = FlipFront(at, self.n, self.paths), np.zeros(len(at), dtype=bool)
        sums = np.zeros(self.paths)
        for (t, added), look in zip(self._history, self.looks, strict=True):
            bounds = front.advance(t, self._sizes(sums, added))
            stopped |= abs(look.walk) * look.shrunk >= bounds * (1 - CLOSE)
        found: list[bool] = stopped.tolist()
        return found
