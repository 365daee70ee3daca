"""The walk of everything that is a mean of units: clusters, graded scores, repeats, weights, with signs flipped."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

from proctor.findings.looks import PathPoint
from proctor.stats.sequential.search import CLOSE, Front, Levelled, LookTaken
from proctor.stats.sequential.spending import Step, budget

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

    Places = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

PATHS = 32_768
FEWER = 8_192  # of them, where nothing is decided
ADDED = 4  # items, half of them each way


def transformed(values: Array) -> Array:
    """The Walsh-Hadamard transform: at place p the sum of values[h] (-1)^(bits that p and h share). Length 2^k.

    >>> import numpy
    >>> transformed(numpy.array([1.0, 2.0, 0.0, 0.0])).tolist()
    [3.0, -1.0, 3.0, -1.0]
    """
    import numpy as np

    for _ in range(len(values).bit_length() - 1):
        even, odd = values[::2], values[1::2]
        values = np.concatenate([even + odd, even - odd])
    return values


class FlipFront:
    """Which of the paths have not been cut, at several falling levels at once; path 0 is the observed one."""

    def __init__(self, at: Sequence[float], n: int, paths: int) -> None:
        import numpy as np

        self.n, self.paths, self.at = n, paths, np.array(at)
        self.spent = np.zeros(len(at), dtype=np.int64)
        self.alive = np.ones((len(at), paths), dtype=bool)

    def allowed(self, t: int) -> Places:
        """How many paths may have been cut by `t` items (levels)."""
        import numpy as np

        return np.floor(budget(1.0, t, self.n) * self.at * self.paths).astype(np.int64)

    def advance(self, t: int, top: Places, sizes: Array) -> Array:
        """Cut at `t` items, ties together: the boundaries (levels), infinite where nothing could be cut.

        `top` are the paths that are furthest from 0, one more than may have been cut by now at the first level, or
        all; `sizes` is how far each of them is, furthest first.
        """
        import numpy as np

        allowed = self.allowed(t)
        if not allowed[0]:
            return np.full(len(allowed), math.inf)
        most = min(len(top), int(allowed[0]) + 1)
        top, sizes = top[:most], sizes[:most]
        alive = self.alive[:, top]
        # The first that may not be cut any more: it and what is as far stay.
        stays = (np.cumsum(alive, axis=1) <= (allowed - self.spent)[:, None]).sum(axis=1)
        least = np.append(sizes, 0.0)[stays] * (1 + CLOSE)
        alive &= sizes > least[:, None]
        self.alive[:, top] ^= alive
        cut = alive.sum(axis=1)
        self.spent += cut
        nearest = sizes[most - 1 - alive[:, ::-1].argmax(axis=1)]
        found: Array = np.where(cut > 0, nearest, np.where(self.spent > 0, least * (1 + CLOSE), math.inf))
        return found


def furthest(sizes: Array, most: int) -> tuple[Places, Array]:
    """The `most` largest sizes, largest first, with their places."""
    import numpy as np

    top = np.argpartition(sizes, len(sizes) - most)[len(sizes) - most :]
    order = top[np.argsort(-sizes[top], kind="stable")]
    return order, sizes[order]


class _Followed:
    """The looks of a walk at several levels up to its own, by the furthest paths that it has kept."""

    def __init__(self, walk: FlipWalk, at: Sequence[float]) -> None:
        self.walk, self.front = walk, FlipFront(at, walk.n, walk.paths)

    def passed(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        look = self.walk.looks[number]
        return look.stopped(self.front.advance(look.t, *self.walk.tops[number]))


class _Fewer:
    """The looks of a walk at several levels above its own, by a group of fewer paths, which are made again."""

    def __init__(self, walk: FlipWalk, at: Sequence[float]) -> None:
        import numpy as np

        self.walk, self.front = walk, FlipFront(at, walk.n, min(walk.paths, FEWER))
        self.sums = np.zeros(self.front.paths)

    def passed(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        import numpy as np

        look, (places, differences) = self.walk.looks[number], self.walk.new[number]
        # The paths of the lower numbers are a group too: they do not see the higher bits of a unit.
        np.add.at(self.sums, places % self.front.paths, differences)
        most = min(self.front.paths, int(self.front.allowed(look.t)[0]) + 1)
        return look.stopped(self.front.advance(look.t, *furthest(np.abs(transformed(self.sums)), most)))


class FlipWalk(Levelled):
    """A walk of weighted differences of units, set against what it were with other signs of the units.

    If both are equally good, a unit's differences are as likely turned round. The signs of the paths make a group:
    a path turns a unit if its number and a hash of `key` and unit share an odd number of bits. The observed path,
    number 0, is among them, so the level holds exactly with any number of paths (Hemerik and Goeman 2018, TEST
    27:811). At every look at most budget * paths paths have been cut in all, ties together, and the observed one
    stops where it would be cut.

    `span` is what an item adds to the walk at most; it may be set anew before a look. Four such items, two each
    way, are added to what the walk varies by: the observed walk is taken so much smaller, which costs no level.
    Else scores that hardly ever differ much are taken for scores that never do.
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
        self.tops: list[tuple[Places, Array]] = []
        self.new: list[tuple[Places, Array]] = []
        self._own = FlipFront([alpha], n, paths)
        self._sums = np.zeros(paths)
        self._units: dict[Hashable, float] = {}
        self._squares = 0.0
        self._alone = 0

    def look(self, t: int, steps: Sequence[Step]) -> PathPoint:
        """The walk after `t` items, of which `steps` are new since the last look.

        A step without a unit is one of its own. Raises ValueError where `t` does not go on.
        """
        import numpy as np

        self._ordered(t)
        taken = [self._taken(step) for step in steps]
        self.new.append((np.array([p for p, _ in taken], dtype=np.int64), np.array([d for _, d in taken])))
        np.add.at(self._sums, *self.new[-1])
        sizes = np.abs(transformed(self._sums))
        top = furthest(sizes, min(self.paths, int(self._own.allowed(t)[0]) + 1))
        self.tops.append(top)
        spread = self.spread
        shrunk = math.sqrt(self._squares) / spread if spread > 0 else 1.0
        bound = float(self._own.advance(t, *top)[0]) * (1 - CLOSE) / shrunk if shrunk else math.inf
        self.critical = bound / spread if math.isfinite(bound) and spread > 0 else None
        tail = float((sizes >= abs(self.walk) * shrunk * (1 - CLOSE)).mean())
        return self._looked(LookTaken(t, self.walk, bound, shrunk), tail, 2 / self.paths)

    @property
    def spread(self) -> float:
        """The standard deviation of the walk over all signs, with the items added."""
        return math.sqrt(self._squares + ADDED * self.span**2)

    def _taken(self, step: Step) -> tuple[int, float]:
        self._alone += 1
        unit, difference = step if isinstance(step, tuple) else (("step", self._alone), step)
        before = self._units.get(unit, 0.0)
        self._units[unit] = before + difference
        self._squares = max(0.0, self._squares + (2 * before + difference) * difference)
        self.walk += difference
        return self.place(unit), difference

    def place(self, unit: Hashable) -> int:
        """A unit's hash: path p turns it if p and this share an odd number of bits."""
        digest = hashlib.blake2b(f"{self.key}\n{unit!r}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big") % self.paths

    def _front(self, at: Sequence[float]) -> Front:
        return (_Followed if at[0] <= self.alpha else _Fewer)(self, at)
