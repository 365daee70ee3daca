"""The walk of right and wrong: one step for each item that only one of two models got right, and its exact boundary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from proctor.findings.looks import PathPoint
from proctor.stats.paired import mcnemar_exact
from proctor.stats.permute import halves
from proctor.stats.sequential.search import Front, Levelled, LookTaken
from proctor.stats.sequential.spending import Step, budget

if TYPE_CHECKING:
    import numpy as np

    from proctor.stats.metrics import Array

FEW = 64  # coins whose chances are divided out in whole numbers
LARGE = 1 << 13  # places times places: from here on steps are spread by Fourier's transform


class SignFront:
    """How far a walk of fair signs may have come without having been stopped, at several levels at once.

    `mass` (levels, places) holds the probability of |S| at place 2 i + parity and of not having been stopped before;
    it ends where the boundary cut it. `spent` (levels) is the probability of having been stopped.
    """

    def __init__(self, at: Sequence[float], n: int) -> None:
        import numpy as np

        self.n = n
        self.at = np.array(at)
        self.spent = np.zeros(len(at))
        self.mass = np.ones((len(at), 1))
        self.made = 0

    def advance(self, t: int, made: int) -> Array:
        """Spread by `made` steps and cut at `t` items: the boundaries (levels), infinite where no walk comes so far.

        A boundary is the smallest c so that what is left of the probability at |S| >= c is within the budget.
        """
        import numpy as np

        if made:
            self._spread(made)
        tails = np.cumsum(self.mass[:, ::-1], axis=1)[:, ::-1]
        left = budget(1.0, t, self.n) * self.at - self.spent
        beyond = tails > left[:, None]
        kept = beyond.sum(axis=1)  # tails fall, so these are the first places
        self.spent += np.append(tails, np.zeros((len(tails), 1)), axis=1)[np.arange(len(tails)), kept]
        self.mass = np.where(beyond, self.mass, 0.0)[:, : max(1, int(kept.max()))]
        bounds: Array = 2.0 * kept + self.made % 2
        return np.where(bounds <= self.made, bounds, math.inf)

    def _spread(self, made: int) -> None:
        full, coins = _both_sides(self.mass, self.made % 2), _coins(made)
        self.made += made
        self.mass = (_transformed if full.shape[1] * made > LARGE else _summed)(full, coins)


@lru_cache(maxsize=512)
def _coins(made: int) -> Array:
    """The probabilities of 0 to `made` heads."""
    import numpy as np

    if made > FEW:
        return halves(made)
    return np.array([math.comb(made, heads) / 2**made for heads in range(made + 1)])


def _both_sides(mass: Array, parity: int) -> Array:
    """The distribution of S from that of |S|, lowest first (levels, places)."""
    import numpy as np

    half = mass / 2
    if parity:
        return np.concatenate([half[:, ::-1], half], axis=1)
    return np.concatenate([half[:, :0:-1], mass[:, :1], half[:, 1:]], axis=1)


def _folded(upper: Array, places: int) -> Array:
    """The distribution of |S| from the upper half of that of S, which has so many places."""
    found = 2 * upper
    if places % 2:
        found[:, 0] /= 2
    return found


def _summed(full: Array, coins: Array) -> Array:
    """The distribution of |S| after as many more steps as there are coins."""
    import numpy as np

    padded = np.pad(full, ((0, 0), (len(coins) - 1, len(coins) - 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, len(coins), axis=1)
    places = windows.shape[1]
    return _folded(windows[:, places // 2 :] @ coins, places)


def _transformed(full: Array, coins: Array) -> Array:
    """The same where there are many; right to about 1e-16 of the whole, not of each place."""
    import numpy as np

    places = full.shape[1] + len(coins) - 1
    size = 1 << (places - 1).bit_length()
    turned = np.fft.rfft(full, size, axis=1) * np.fft.rfft(coins, size)
    upper = np.fft.irfft(turned, size, axis=1)[:, places // 2 : places]
    return _folded(np.maximum(upper, 0.0), places)


class _Followed:
    """The looks of a sign walk at several levels."""

    def __init__(self, walk: SignWalk, at: Sequence[float]) -> None:
        self.walk, self.front = walk, SignFront(at, walk.n)

    def passed(self, number: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        look = self.walk.looks[number]
        return look.stopped(self.front.advance(look.t, self.walk.new[number]))


class SignWalk(Levelled):
    """A walk of +1 (only the first is right) and -1 (only the second), with a boundary that holds `alpha` exactly.

    If both are equally good, each item on which they disagree is for either of them with probability 1/2, whatever
    the others did. So the distribution of the walk is known, and the boundary with it.
    """

    test = "sign walk, spending {alpha:g} (t/N)^2"

    def __init__(self, n: int, alpha: float = 0.05) -> None:
        super().__init__(n, alpha)
        self._own = SignFront([alpha], n)
        self.new: list[int] = []
        self.made = 0

    def look(self, t: int, steps: Sequence[Step]) -> PathPoint:
        """The walk after `t` items, of which `steps` are new since the last look; zeros say nothing and are left out.

        Raises ValueError where a step is not -1, 0 or 1, or `t` does not go on.
        """
        self._ordered(t)
        signs = [step[1] if isinstance(step, tuple) else step for step in steps]
        if odd := [sign for sign in signs if sign not in (-1, 0, 1)]:
            raise ValueError(f"a sign walk takes steps of -1, 0 and 1, not {odd[0]!r}")
        new = sum(1 for sign in signs if sign)
        self.walk += sum(signs)
        self.made += new
        self.new.append(new)
        bound = float(self._own.advance(t, new)[0])
        self.critical = bound / math.sqrt(self.made) if math.isfinite(bound) else None
        ahead = (self.made + round(self.walk)) // 2
        return self._looked(LookTaken(t, self.walk, bound), mcnemar_exact(ahead, self.made - ahead))

    @property
    def spread(self) -> float:
        """The standard deviation of the walk if both are equally good, given how often they disagreed."""
        return math.sqrt(self.made)

    @property
    def spent(self) -> float:
        """How much of alpha is spent by now: the probability of having been stopped if both are equally good."""
        return float(self._own.spent[0])

    def _front(self, at: Sequence[float]) -> Front:
        return _Followed(self, at)
